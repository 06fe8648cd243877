"""Which known nodes a target of the task may mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import Target
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.view import View
from prism_planner.domains.spine.expert.words import lemma, number, singular, tokens

NAMED, SAME, KIND, WEAK, NONE = 4, 3, 2, 1, 0
"""How well a node fits: by name, same concept, of that kind, only in part, not at all."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Words of a target, resolved once. concepts: what they name; wholes: what they may be a part of."""

    phrases: tuple[str, ...]
    concepts: tuple[str, ...]
    wholes: tuple[str, ...]
    number: str | None


@lru_cache(maxsize=4096)
def wanted(target: Target) -> Wanted:
    phrases = (target.words, *target.also)
    concepts = tuple(dict.fromkeys(c for p in phrases if (c := knowledge().concept(p)) is not None))
    wholes = tuple(w for c in concepts for w in knowledge().roles.parts.get(c, ()))
    return Wanted(tuple(map(lemma, phrases)), concepts, wholes, number(target.words))


def fit(target: Target, name: str, view: View) -> int:
    """How well a node fits the target's words; conditions and relations are not looked at."""
    want = wanted(target)
    node = view.node(name)
    is_region = node.kind == "region"
    return _fit(
        want, node.name, node.category, node.attributes.get("description", ""), view.concepts(name), is_region
    )


@lru_cache(maxsize=65536)
def _fit(
    want: Wanted, name: str, category: str, description: str, concepts: tuple[str, ...], is_region: bool
) -> int:
    own = lemma(name)
    if want.number is not None:
        return NAMED if own == want.phrases[0] and number(name) == want.number else NONE
    if own in want.phrases and number(name) is None:
        return NAMED
    if own in want.phrases or lemma(category) in want.phrases or (set(concepts[:1]) & set(want.concepts)):
        return SAME
    if any(knowledge().is_a(c, w) for c in concepts for w in want.concepts):
        return KIND
    words = {singular(w) for text in (name, category, description) for w in tokens(text)}
    for phrase in want.phrases:
        parts = phrase.split()
        if not want.concepts and set(map(singular, parts)) <= words:
            return SAME
        if not is_region and singular(parts[-1]) in words and len(parts[-1]) > 2:
            return WEAK
    return NONE


def part_of(target: Target, name: str, view: View) -> bool:
    """Whether the target may be a part of this node: a roof of a building."""
    return bool(wanted(target).wholes) and view.rank(name, wanted(target).wholes) is not None


def candidates(target: Target, view: View, *, least: int = KIND) -> list[str]:
    """The nodes that fit at least so well, best first, then nearest first."""
    found = []
    for name in view.graph:
        score = fit(target, name, view)
        if score >= least:
            found.append((-score if score == NAMED else 0, view.distance(name), name))
    if any(score == -NAMED for score, _, _ in found):
        found = [entry for entry in found if entry[0] == -NAMED]
    return [name for _, _, name in sorted(found, key=lambda entry: entry[:2])]


def told(target: Target) -> str:
    """The target in words, for the user."""
    words = target.words.replace("_", " ") if number(target.words) is None else target.words
    words = " ".join([*(evidence.words_for(c) for c in target.conditions), words])
    return words if target.near is None else f"{words} near {told(target.near)}"
