"""A small world that the tests of this directory share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.spine_scenario import SpineScenario

CAMPUS = """\
format: prism-scenario/1
domain: spine
name: campus
platform: ugv
world:
  robot: road_1
  regions:
    - {name: road_1, at: [0, 0]}
    - {name: road_2, at: [10, 0], attributes: {surface: gravel}}
    - {name: grove_1, at: [18, 6], hidden: true}
    - {name: lot_1, at: [10, -30], description: a car park}
    - {name: island_1, at: [40, 40]}
  objects:
    - {name: bench_1, category: bench, at: [18, 8], seen_from: [grove_1], hidden: true,
       attributes: {occupied: no, shade: under a large oak}}
    - {name: car_1, at: [11, 2], seen_from: [road_2, lot_1], description: a red car,
       attributes: {damaged: "no"}}
    - {name: sign_1, at: [1, 1], seen_from: [road_1]}
    - {name: bin_1, at: [2, 1], seen_from: [road_1], hidden: true}
  edges: [[road_1, road_2], [road_2, grove_1], [road_2, lot_1]]
tasks:
  - instruction: I want a shady place to read
    specification: under
    kind: exploration
    success:
      - {visited: grove_1}
      - {inspected: bench_1}
      - {order: [mapped grove_1, inspected bench_1]}
      - {answer_mentions: [bench_1]}
"""


@pytest.fixture
def scenario_file(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "world.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def campus(scenario_file: Callable[[str], Path]) -> SpineScenario:
    scenario = load_scenario(scenario_file(CAMPUS))
    assert isinstance(scenario, SpineScenario)
    return scenario
