"""Whether what is trained on overlaps with what planners are evaluated on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_distill.scenarios.reserved import layout_digest, normalised
from prism_planner.cli.choices import shipped_scenarios
from prism_planner.worlds.scenario import load_scenario, scenario_files
from prism_planner.worlds.spine_scenario import SpineScenario


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Scenarios that must not be trained on: their files, also by sentence (normalised) and layout digest."""

    files: tuple[Path, ...]
    sentences: dict[str, Path]
    layouts: dict[str, Path]

    @classmethod
    def of(cls, domain: str, given: Sequence[Path] = ()) -> Evaluation:
        """The scenarios of a domain that come with prism, and those `given` as files or directories.

        Raises ScenarioError.
        """
        shipped = shipped_scenarios() / domain
        files = scenario_files([*([shipped] if shipped.is_dir() else []), *given])
        sentences: dict[str, Path] = {}
        layouts: dict[str, Path] = {}
        for file in files:
            scenario = load_scenario(file)
            for task in scenario.tasks:
                sentences.setdefault(normalised(task.instruction), file)
            if isinstance(scenario, SpineScenario):
                layouts.setdefault(layout_of(scenario), file)
        return cls(files, sentences, layouts)

    def offence(self, row: dict[str, Any]) -> str:
        """What a row of traces shares with an evaluation scenario; empty when nothing."""
        found = []
        if file := self.sentences.get(normalised(row["instruction"])):
            found.append(f"the sentence {row['instruction']!r} of {file}")
        # Behind the sign stands where the robot starts.
        if file := self.layouts.get(row["world"].partition("@")[0]):
            found.append(f"the world of {file}")
        return f"{row['scenario']}, task {row['task'] + 1}: {' and '.join(found)}" if found else ""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Sentences and worlds of the validation and test splits."""

    phrasings: frozenset[str]
    worlds: frozenset[str]

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]]) -> HeldOut:
        phrasings, worlds = set(), set()
        for row in rows:
            phrasings.add(row["phrasing"])
            worlds.add(row["world"].partition("@")[0])
        return cls(frozenset(phrasings), frozenset(worlds))

    def shares(self, row: dict[str, Any]) -> bool:
        """Whether a row for training has one of these sentences or worlds."""
        return row["phrasing"] in self.phrasings or row["world"].partition("@")[0] in self.worlds


def layout_of(scenario: SpineScenario) -> str:
    """The layout digest of a scenario's world."""
    return layout_digest((region.name for region in scenario.world.regions), scenario.world.edges)
