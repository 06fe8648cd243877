"""The scenarios of the tables: balanced, held out, the same every time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from prism_distill.report.scenario_sets import default_sets, given_set, held_out
from prism_planner.cli.errors import CommandError
from prism_planner.evaluation.metrics import CELLS
from prism_planner.worlds.scenario import ScenarioError, load_scenario


def test_the_default_fills_every_cell_and_is_held_out(tmp_path: Path) -> None:
    generated, shipped = default_sets("spine", tmp_path)
    assert (generated.name, shipped.name) == ("held-out", "shipped")
    scenarios = [load_scenario(file) for file in generated.files]
    cells = Counter(task.cell for scenario in scenarios for task in scenario.tasks)
    assert set(cells) == set(CELLS)
    assert cells.total() >= 150
    assert min(cells.values()) >= 38
    assert max(cells.values()) < 1.5 * min(cells.values())
    assert all(scenario.name.startswith("test-") for scenario in scenarios)
    assert len(shipped.files) == 9


def test_the_same_files_every_time_and_never_stale_ones(tmp_path: Path) -> None:
    first = held_out(tmp_path, episodes=8, seed=3)
    assert held_out(tmp_path, episodes=8, seed=3) == first
    texts = [file.read_text() for file in first.files]
    assert [file.read_text() for file in held_out(tmp_path / "elsewhere", episodes=8, seed=3).files] == texts
    # What another selection left in the same directory is not taken along.
    other = held_out(tmp_path, episodes=16, seed=3)
    assert {file.parent for file in other.files}.isdisjoint(file.parent for file in first.files)


def test_given_scenarios(yard: Path, tmp_path: Path) -> None:
    assert given_set([yard, yard]).files == (yard,)
    with pytest.raises(CommandError, match="absent: there is no such scenario"):
        given_set([tmp_path / "absent"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScenarioError, match="empty"):
        given_set([tmp_path / "empty"])


def test_a_domain_without_scenarios(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"domain cooking.*--scenarios"):
        default_sets("cooking", tmp_path)
