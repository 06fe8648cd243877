"""Putting a task into words: a phrasing of its group, filled in, sometimes with politeness around it."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal

from prism_distill.scenarios.lexicon import data, wishes
from prism_distill.scenarios.splits import Split, split_phrasings

Mood = Literal["do", "ask", "say"]
MOODS: tuple[Mood, ...] = ("do", "ask", "say")
_WRAPPED_SHARE = 0.35
_UNPUNCTUATED_SHARE = 0.6
_LOWER_SHARE = 0.1
_CHOICE = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Phrasing:
    """One way to say something. negated: asks for the opposite of the group's property."""

    mood: Mood
    text: str
    negated: bool

    def variants(self) -> list[str]:
        """All that its alternatives come to, with the slots unfilled."""
        parts = _CHOICE.split(self.text)
        options = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
        return [" ".join("".join(choice).split()) for choice in product(*options)]


def groups() -> list[str]:
    """All groups of phrasings: those of the data, and one for each activity."""
    return [*(g for g in data("phrasings") if g != "wrappers"), *(f"activity/{name}" for name in wishes())]


@cache
def phrasings(group: str, split: Split | None = None) -> tuple[Phrasing, ...]:
    """The phrasings of a group that belong to a split; all of them for None."""
    if group.startswith("activity/"):
        wish = wishes()[group.removeprefix("activity/")]
        needs = [
            _phrasing("ask" if need.endswith("?") else "say", need) for need in _part(list(wish.needs), split)
        ]
        return (*(phrasings("find_place", split) if wish.verbs else ()), *needs)
    table = data("phrasings")[group]
    found = [_phrasing(mood, text) for mood in MOODS for text in table.get(mood, ())]
    return tuple(p for p in found if split is None or p.text in _divided()[group][split])


@cache
def wrappers(mood: Mood, split: Split | None = None) -> tuple[str, ...]:
    return tuple(_part(list(data("phrasings")["wrappers"][mood]), split))


def say(group: str, slots: dict[str, str], split: Split, rng: random.Random) -> tuple[str, Phrasing]:
    """A sentence of a group, and the phrasing that it was made of."""
    phrasing = rng.choice(phrasings(group, split))
    text = _CHOICE.sub(lambda match: rng.choice(match.group(1).split("|")), phrasing.text)
    text = " ".join(text.format(**slots).split())
    text = re.sub(r" ([?,.;])", r"\1", text)
    if rng.random() < _WRAPPED_SHARE:
        text = rng.choice(wrappers(phrasing.mood, split)).format(s=text)
    text = re.sub(r"([?.])\.", r"\1", text)
    text = text[0].upper() + text[1:]
    text = re.sub(r"(?<=[.?] )[a-z]", lambda match: match.group().upper(), text)
    if text[-1] not in "?." and (phrasing.mood == "say" or rng.random() > _UNPUNCTUATED_SHARE):
        text += "."
    if rng.random() < _LOWER_SHARE:
        text = text.lower()
    return text, phrasing


@cache
def _divided() -> dict[str, dict[Split, tuple[str, ...]]]:
    """The texts of all groups by split; what two groups have in common is in the same split in both."""
    settled: dict[str, Split] = {}
    found = {}
    for group, table in data("phrasings").items():
        if group == "wrappers":
            continue
        texts = list(dict.fromkeys(text.removeprefix("~") for mood in MOODS for text in table.get(mood, ())))
        known = {t: settled[v] for t in texts for v in _phrasing("do", t).variants() if v in settled}
        found[group] = split_phrasings(texts, known)
        for split, part in found[group].items():
            settled.update((variant, split) for text in part for variant in _phrasing("do", text).variants())
    return found


def _part(texts: list[str], split: Split | None) -> list[str]:
    return texts if split is None else list(split_phrasings(texts)[split])


def _phrasing(mood: Mood, text: str) -> Phrasing:
    return Phrasing(mood, text.removeprefix("~"), text.startswith("~"))
