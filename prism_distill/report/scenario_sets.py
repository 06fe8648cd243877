"""What planners are measured on: held-out generated worlds and sentences, and the shipped scenarios."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_distill.scenarios import Stream, write_scenarios
from prism_distill.scenarios.generator import to_yaml
from prism_planner.cli.choices import shipped_scenarios
from prism_planner.cli.errors import CommandError
from prism_planner.evaluation.metrics import CELLS
from prism_planner.worlds.scenario import scenario_files

HELD_OUT = "held-out"
SHIPPED = "shipped"
GIVEN = "given"

EPISODES = 150
SEED = 2025


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """Scenario files that are reported on together; their names must differ from those of all other sets."""

    name: str
    files: tuple[Path, ...]


def default_sets(domain: str, directory: Path) -> tuple[ScenarioSet, ...]:
    """The generated test split, written below `directory`, and the scenarios that come with the package.

    Raises CommandError for a domain that has neither.
    """
    sets = [held_out(directory)] if domain == "spine" else []
    shipped = shipped_scenarios() / domain
    if shipped.is_dir():
        sets.append(ScenarioSet(SHIPPED, scenario_files([shipped])))
    if not sets:
        raise CommandError(f"no scenarios of the domain {domain} come with prism: give some with --scenarios")
    return tuple(sets)


def given_set(paths: Sequence[Path]) -> ScenarioSet:
    """Raises CommandError for a path that does not exist, ScenarioError for a directory without scenarios."""
    for path in paths:
        if not path.exists():
            raise CommandError(f"{path}: there is no such scenario file or directory")
    return ScenarioSet(GIVEN, scenario_files(paths))


def held_out(directory: Path, *, episodes: int = EPISODES, seed: int = SEED) -> ScenarioSet:
    """SPINE scenarios of the generator's test split.

    Each cell of table 2 has at least `episodes` / 4 tasks. The set is always the same for the same generator.
    It is written into a folder named after its content, so that files which another version of the generator
    left are never taken for these.
    """
    stream = Stream(seed, split="test")
    chosen = list(_balanced(stream, -(-episodes // len(CELLS))))
    content = hashlib.sha256("".join(to_yaml(stream[i]) for i in chosen).encode()).hexdigest()
    folder = directory / f"{HELD_OUT}-{content[:12]}"
    files = [path for i in chosen for path in write_scenarios(folder, 1, seed, split="test", start=i)]
    return ScenarioSet(HELD_OUT, tuple(files))


def _balanced(stream: Stream, each: int) -> Iterator[int]:
    """Indices of scenarios most of whose tasks belong to cells that still have fewer than `each`."""
    count: Counter[str] = Counter()
    index = 0
    while any(count[cell] < each for cell in CELLS):
        cells = Counter(task.cell for task in stream[index].tasks)
        wanted = sum(number for cell, number in cells.items() if count[cell] < each)
        if 2 * wanted > cells.total():
            count += cells
            yield index
        index += 1
