"""What a task is before it is put in words, and the criteria it is judged by."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from prism_distill.scenarios.english import plural, with_article
from prism_distill.scenarios.world import Place, Thing, World

Criterion = dict[str, Any]


@dataclass(slots=True)
class Draft:
    """A task without its sentence.

    slots: what its phrasings are filled with. means: the expert's intent as plain data. needs: for each
    entry, one of its places has to be reached. says: the true answer to a yes/no question, for phrasings
    that are not marked ~; None when it is no such question.
    """

    slots: dict[str, str]
    means: dict[str, Any]
    success: list[Criterion] = field(default_factory=list)
    any_success: list[list[Criterion]] = field(default_factory=list)
    needs: list[list[Place]] = field(default_factory=list)
    says: bool | None = None


Finish = Callable[[], Draft | None]
"""Called when the world is complete: the task, or None when it does not fit that world."""

Begin = Callable[[World, random.Random], Finish | None]
"""Plants what a task needs; None when the world has no place for it."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What may be asked for. group: the phrasings that say it."""

    group: str
    begin: Begin


@dataclass(frozen=True, slots=True)
class Kind:
    """Intents that differ in what they are about. weight: how often they are asked for, relative to others.
    full: whether their sentences say what to do with what (paper, table 2)."""

    weight: float
    full: bool
    intents: dict[str, Intent]


def noun_slots(words: str, slot: str = "target") -> dict[str, str]:
    return {slot: words, f"a_{slot}": with_article(words), f"{slot}s": plural(words)}


def target(words: str, **more: Any) -> dict[str, Any]:
    """The plain data of a `Target`."""
    return {"words": words, **more}


def names(nodes: Iterable[Place | Thing]) -> list[str]:
    """Names without repetition, in order."""
    return list(dict.fromkeys(node.name for node in nodes))


def views(things: Iterable[Thing]) -> list[Place]:
    return list(dict.fromkeys(thing.place for thing in things))


def named(nodes: Iterable[Place | Thing]) -> Criterion:
    """The answer contains the name of one of these nodes."""
    words = "|".join(re.escape(name).replace("_", "[ _]") for name in names(nodes))
    return {"answer_matches": rf"(?i)\b(?:{words})(?!\d)"}


def seen_one(draft: Draft, things: list[Thing]) -> None:
    """Evidence for yes: one of them was looked for, looked at, or named although it was hidden."""
    hidden = [t for t in things if t.hidden]
    draft.any_success = [[{"inspected": names(things)}], [{"mapped": names(views(things))}]]
    if hidden:
        draft.any_success.append([named(hidden)])
    draft.needs = [views(things)]


def looked_at_all(world: World, draft: Draft, places: list[Place]) -> None:
    """Evidence for no: every place was mapped, or explored from near by."""
    draft.success = [{"mapped": world.near(place)} for place in places]
    draft.needs = [[place] for place in places]
