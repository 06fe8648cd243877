"""Scenarios that were written so far: kept at once, never much alike, each in the split of its world."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prism_distill.scenarios.generator import to_document
from prism_distill.scenarios.reserved import layout_digest, layouts, normalised
from prism_distill.scenarios.similarity import Features, diversity, features, similarity
from prism_distill.scenarios.splits import SPLITS, Split, split_of_world
from prism_distill.shards import Shard
from prism_planner.worlds.spine_scenario import SpineScenario, SpineTask


class RefusedError(ValueError):
    """A scenario is not taken. fault: `duplicate`, `reserved` or `held_out`. str(): what it clashes with."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass
class Effort:
    """What a scenario cost. faults: of answers that could not be used. dropped: of tasks that could not."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Effort) -> None:
        self.requests += other.requests
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.faults.update(other.faults)
        self.dropped.update(other.dropped)

    def record(self) -> dict[str, Any]:
        """As JSON-able data, from which `of` makes it again."""
        return vars(self) | {"faults": dict(self.faults), "dropped": dict(self.dropped)}

    @classmethod
    def of(cls, record: dict[str, Any]) -> Effort:
        return cls(**record | {"faults": Counter(record["faults"]), "dropped": Counter(record["dropped"])})


class Library:
    """Accepted scenarios by split, in the order in which they were accepted. Safe for use by several threads.

    A world belongs to the split that the digest of its layout says. A sentence belongs to the split in which
    it was first, so that no other has it.
    """

    def __init__(
        self, journal: Path | None = None, *, similarity: float = 1.0, known: Iterable[SpineScenario] = ()
    ) -> None:
        """journal: keeps what is accepted, and is continued; None keeps it in memory only. similarity: two
        scenarios that are more alike than this are near-duplicates. known: others that must not be repeated.
        """
        self._lock = threading.Lock()
        self._similarity = similarity
        self._known: list[tuple[str, Features]] = [(s.name, features(s)) for s in known]
        self._accepted: dict[Split, list[SpineScenario]] = {split: [] for split in SPLITS}
        self._split_of: dict[str, Split] = {}
        self._journal = Shard(journal) if journal is not None else None
        self._records = 0
        self.effort = Effort()
        for _, record in self._journal.records() if self._journal else ():
            self._records += 1
            self.effort.add(Effort.of(record["effort"]))
            if record["scenario"] is not None:
                self._take(SpineScenario.model_validate(record["scenario"]), record["split"])
        self._numbers = itertools.count(self._records)

    def __len__(self) -> int:
        return sum(map(len, self._accepted.values()))

    def number(self) -> int:
        """A number that was not given out before."""
        return next(self._numbers)

    def get(self, split: Split, index: int) -> SpineScenario | None:
        """Scenario number `index` of a split, if so many were accepted."""
        accepted = self._accepted[split]
        return accepted[index] if index < len(accepted) else None

    def count(self, split: Split) -> int:
        return len(self._accepted[split])

    def add(self, scenario: SpineScenario, effort: Effort) -> Split:
        """Take a scenario, without the tasks whose sentences another split has; the split that it belongs to.

        Raises RefusedError, and RunError when there is no room on the disk.
        """
        found = features(scenario)
        digest = layout_digest((r.name for r in scenario.world.regions), scenario.world.edges)
        if digest in layouts():
            raise RefusedError("reserved", "the world is one that is reserved for evaluation")
        split = split_of_world(digest)
        with self._lock:
            self._refuse_duplicate(found)
            tasks = [task for task in scenario.tasks if self._split_of.get(_sentence(task), split) == split]
            if not tasks:
                raise RefusedError("held_out", f"its world is in the split {split}, its sentences in others")
            effort.dropped["held_out"] += len(scenario.tasks) - len(tasks)
            name = f"{split}-written-{self.count(split)}"
            kept = scenario.model_copy(update={"name": name, "tasks": tuple(tasks)})
            self._note(effort, split, to_document(kept))
            self._take(kept, split, found)
        return split

    def give_up(self, effort: Effort) -> None:
        """Count what was spent in vain."""
        with self._lock:
            self._note(effort, None, None)

    def report(self) -> dict[str, Any]:
        """Figures for a run's manifest: what was spent, what could not be used and why, and the diversity."""
        with self._lock:
            effort = self.effort
            return {
                "requests": effort.requests,
                "prompt_tokens": effort.prompt_tokens,
                "completion_tokens": effort.completion_tokens,
                "unusable_answers": dict(effort.faults.most_common()),
                "dropped_tasks": dict((+effort.dropped).most_common()),
                "diversity": diversity([s for split in SPLITS for s in self._accepted[split]]),
            }

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _refuse_duplicate(self, found: Features) -> None:
        alike = ((similarity(found, other), name) for name, other in self._known)
        nearest, name = max(alike, default=(0.0, ""))
        if nearest > self._similarity or nearest == 1.0:
            raise RefusedError("duplicate", f"the world and its tasks are to {nearest:.0%} those of {name}")

    def _note(self, effort: Effort, split: Split | None, scenario: dict[str, Any] | None) -> None:
        if self._journal is not None:
            record = {"effort": effort.record(), "split": split, "scenario": scenario}
            self._journal.add(f"{self._records:08}", record)
        self._records += 1
        self.effort.add(effort)

    def _take(self, scenario: SpineScenario, split: Split, found: Features | None = None) -> None:
        self._known.append((scenario.name, features(scenario) if found is None else found))
        for task in scenario.tasks:
            self._split_of.setdefault(_sentence(task), split)
        self._accepted[split].append(scenario)


def _sentence(task: SpineTask) -> str:
    return normalised(task.instruction)
