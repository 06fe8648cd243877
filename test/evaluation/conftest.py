"""A small world to act in."""

from __future__ import annotations

import pytest

YARD = """\
format: prism-scenario/1
domain: spine
name: yard
world:
  robot: gate_1
  regions:
    - {name: gate_1, at: [0, 0]}
    - {name: shed_1, at: [10, 0]}
    - {name: lawn_1, at: [10, 12], hidden: true}
  objects:
    - {name: bench_1, category: bench, at: [11, 1], seen_from: [shed_1], hidden: true,
       attributes: {occupied: "no"}}
  edges: [[gate_1, shed_1], [shed_1, lawn_1]]
tasks:
  - instruction: "Map the shed"
    specification: full
    kind: mapping
    success: [{mapped: shed_1}]
  - instruction: "Qwxz vrrk plugh"
    specification: under
    kind: exploration
    success: [{visited: lawn_1}]
"""


@pytest.fixture
def yard_file(tmp_path):
    path = tmp_path / "yard.yaml"
    path.write_text(YARD)
    return path
