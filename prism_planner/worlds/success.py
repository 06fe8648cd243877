"""Whether an episode on a scene graph did what its task asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from prism_planner.worlds.answers import mentions, polarity
from prism_planner.worlds.envelope import StrictModel, Task

Deed = Literal["visited", "mapped", "explored", "inspected"]
OrderedDeed = Literal["visited", "mapped", "explored", "inspected", "ended_at"]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
"""One name, or a list of which any will do."""


class OrderItem(StrictModel):
    """One deed of an `order`; written `inspected table_1`, or `{inspected: [a, b]}` for any of."""

    deed: OrderedDeed
    names: Names

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        expected = (
            f"expected a deed ({', '.join(get_args(OrderedDeed))}) and a name, as in `inspected table_1`"
        )
        if isinstance(value, str):
            deed, _, name = value.strip().partition(" ")
            value = {deed: name.strip()}
        if isinstance(value, dict) and len(value) == 1:
            deed, names = next(iter(value.items()))
            if deed in get_args(OrderedDeed) and names:
                return {"deed": deed, "names": names}
        raise ValueError(f"{expected}, got {value!r}")

    def __str__(self) -> str:
        return f"{self.deed} {_any_of(self.names)}"


class SpineCriterion(StrictModel):
    """One condition on a finished episode; exactly one key is given."""

    visited: Names | None = None
    mapped: Names | None = None
    inspected: Names | None = None
    ended_at: Names | None = None
    order: tuple[OrderItem, ...] | None = Field(default=None, min_length=2)
    answer_mentions: Names | None = None
    answer_says: Literal["yes", "no"] | None = None
    answer_matches: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_key(cls, value: object) -> object:
        if isinstance(value, dict):
            keys = [key for key in value if value[key] is not None]
            if len(value) != 1 or len(keys) != 1:
                raise ValueError(
                    "a criterion has exactly one key with a value, as in `visited: road_1`; "
                    f"this one has {', '.join(map(str, value)) or 'none'}: make each an item of its own"
                )
        return value

    @field_validator("answer_says", mode="before")
    @classmethod
    def _unquoted(cls, value: object) -> object:
        """YAML reads an unquoted yes or no as a truth value."""
        return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value

    @field_validator("answer_matches")
    @classmethod
    def _regex(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{value!r} is not a regular expression: {error}") from None
        return value

    def names(self) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
        """Every name used: the deed it belongs to, the name, and where it stands in the criterion."""
        for deed in ("visited", "mapped", "inspected", "ended_at", "answer_mentions"):
            for i, name in enumerate(getattr(self, deed) or ()):
                yield deed, name, (deed, i)
        for i, item in enumerate(self.order or ()):
            for name in item.names:
                yield item.deed, name, ("order", i)


@dataclass
class EpisodeRecord:
    """What the robot did in one episode, in order, and what it answered.

    start: the region it started in, which counts as visited. deeds: what was done to which node;
    `visited` for every region the robot stood in or passed through. categories: the category word
    of each node of the world, for judging answers. finished: whether the planner ended the task.
    """

    start: str
    deeds: list[tuple[Deed, str]] = field(default_factory=list)
    answer: str = ""
    finished: bool = False
    categories: Mapping[str, str] = field(default_factory=dict)

    def add(self, deed: Deed, name: str) -> None:
        self.deeds.append((deed, name))

    def finish(self, answer: str) -> None:
        """The planner ended the task with a message to the user."""
        self.answer, self.finished = answer, True

    @property
    def visited(self) -> list[str]:
        return [self.start, *self._names("visited")]

    @property
    def mapped(self) -> list[str]:
        """Regions whose objects were looked for, by map_region or by explore_region there."""
        return self._names("mapped", "explored")

    @property
    def explored(self) -> list[str]:
        return self._names("explored")

    @property
    def inspected(self) -> list[str]:
        return self._names("inspected")

    @property
    def final_location(self) -> str:
        return self.visited[-1]

    def _names(self, *deeds: Deed) -> list[str]:
        return [name for deed, name in self.deeds if deed in deeds]


@dataclass(frozen=True, slots=True)
class Verdict:
    """success, and in plain words why not: the first criterion that was not met."""

    success: bool
    reason: str = ""


def judge(task: Task, record: EpisodeRecord) -> Verdict:
    """All of `success` must hold, and one list of `any_success` if there are any."""
    if not record.finished:
        return Verdict(False, "the episode ended without an answer")
    unmet = _first_unmet(task.success, task, record)
    if unmet is None and task.any_success:
        alternatives = [_first_unmet(criteria, task, record) for criteria in task.any_success]
        if None not in alternatives:
            unmet = "no alternative holds: " + "; or ".join(dict.fromkeys(map(str, alternatives)))
    return Verdict(True) if unmet is None else Verdict(False, unmet)


def _first_unmet(criteria: Iterable[SpineCriterion], task: Task, record: EpisodeRecord) -> str | None:
    return next((reason for c in criteria for reason in _unmet(c, task, record)), None)


def _unmet(criterion: SpineCriterion, task: Task, record: EpisodeRecord) -> Iterator[str]:
    """Why a criterion does not hold; nothing when it does."""
    for deed in ("visited", "mapped", "inspected"):
        names = getattr(criterion, deed)
        if names is not None and not set(names) & set(getattr(record, deed)):
            yield f"never {deed} {_any_of(names)}"
    if criterion.ended_at is not None and record.final_location not in criterion.ended_at:
        yield f"ended at {record.final_location}, not at {_any_of(criterion.ended_at)}"
    if criterion.order is not None and (missing := _out_of_order(criterion.order, record)):
        yield missing
    wanted = criterion.answer_mentions
    if wanted is not None and not any(
        mentions(record.answer, name, record.categories.get(name)) for name in wanted
    ):
        yield f"the answer does not mention {_any_of(wanted)}"
    if criterion.answer_says is not None:
        said = polarity(record.answer, task.instruction)
        if said != criterion.answer_says:
            yield f"the answer says {said or 'neither yes nor no'}; expected {criterion.answer_says}"
    if criterion.answer_matches is not None and not re.search(criterion.answer_matches, record.answer):
        yield f"the answer does not match {criterion.answer_matches!r}"


def _out_of_order(order: Sequence[OrderItem], record: EpisodeRecord) -> str | None:
    """The first item of `order` that did not happen after the ones before it; None when all did."""
    deeds: list[tuple[str, str]] = [("visited", record.start), *record.deeds]
    position = 0
    previous: OrderItem | None = None
    for item in order:
        found = _find(item, deeds, position)
        if found is None:
            return f"never {item}" + (f" after {previous}" if previous else "")
        position, previous = found, item
    return None


def _find(item: OrderItem, deeds: Sequence[tuple[str, str]], start: int) -> int | None:
    """Where to go on looking after the first match of `item` at or after `start`."""
    if item.deed == "ended_at":
        here = next(name for deed, name in reversed(deeds) if deed == "visited")
        return len(deeds) if here in item.names else None
    if item.deed == "visited" and start:
        # The robot need not leave a place in order to be there after another deed.
        here = next(name for deed, name in reversed(deeds[:start]) if deed == "visited")
        if here in item.names:
            return start
    kinds = {"mapped", "explored"} if item.deed == "mapped" else {item.deed}
    for i in range(start, len(deeds)):
        if deeds[i][0] in kinds and deeds[i][1] in item.names:
            return i + 1
    return None


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(names)
