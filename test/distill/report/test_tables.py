"""From episodes to tables: what is counted where, and how it is written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from prism_distill.report.contenders import contender
from prism_distill.report.plots import draw_latencies, draw_table
from prism_distill.report.tables import table1, table2, table3
from prism_planner.evaluation.metrics import wilson

OUTCOMES = {
    "source": {
        "held-out": {"mapping/full": (10, 10), "exploration/under": (8, 10)},
        "shipped": {"mapping/full": (4, 4)},
    },
    "prism": {
        "held-out": {"mapping/full": (9, 10), "exploration/under": (6, 10)},
        "shipped": {"mapping/full": (4, 4)},
    },
    "slm": {
        "held-out": {"mapping/full": (1, 10), "exploration/under": (0, 10)},
        "shipped": {"mapping/full": (0, 4)},
    },
}


def text(table) -> str:
    with io.StringIO() as file:
        Console(width=160, file=file).print(table.as_rich())
        return file.getvalue()


def test_table1(results, three, setting) -> None:
    figures = table1(results(OUTCOMES), three, setting).as_json()
    assert set(figures) == {"slm", "prism", "source"}
    low, high = wilson(19, 24)
    assert figures["prism"]["spine"] == {
        "episodes": 24,
        "success": 19 / 24,
        "ci_low": low,
        "ci_high": high,
        "model": "planner",
        "paper": 0.92,
    }
    assert figures["prism"]["spine/held-out"]["success"] == 15 / 20
    assert figures["slm"]["spine/shipped"]["episodes"] == 4


def test_table2(results, three, setting) -> None:
    table = table2(results(OUTCOMES), three, setting)
    figures = table.as_json()
    json.dumps(figures, allow_nan=False)
    prism = figures["prism"]
    assert (prism["mapping/full"]["episodes"], prism["mapping/full"]["success"]) == (14, 13 / 14)
    assert prism["held-out/exploration/under"]["success"] == 0.6
    assert prism["exploration/under"]["ratio"]["value"] == pytest.approx(0.75)
    assert prism["exploration/under"]["paper"] == 0.75
    assert prism["all"]["ratio"]["ci_low"] < 19 / 22 < prism["all"]["ratio"]["ci_high"]
    assert "mapping/under" not in prism
    assert "shipped/exploration/under" not in prism
    assert "ratio" not in figures["slm"]["all"]
    shown = text(table)
    assert "0.75" in shown
    assert "paper 87.5%" not in shown  # of a cell without episodes
    assert "paper 0.90" in shown  # the paper's own ratio, 75 to 83.3
    assert "Koopman" in shown


def test_a_source_that_never_succeeds(results, three, setting) -> None:
    outcomes = {row: {"held-out": {"mapping/full": (0, 3)}, "shipped": {}} for row in ("source", "slm")}
    outcomes["prism"] = {"held-out": {"mapping/full": (2, 3)}, "shipped": {}}
    table = table2(results(outcomes), three, setting)
    assert table.as_json()["prism"]["mapping/full"]["ratio"]["value"] is None
    assert "∞" in text(table)


def test_table3(results, setting) -> None:
    contenders = [contender(row, row) for row in ("full", "without masking", "without validation")]
    outcomes = {c.row: OUTCOMES["prism"] for c in contenders}
    table = table3(results(outcomes), contenders, setting)
    assert table.as_json()["without validation"]["spine"]["paper"] == 0.455
    assert "paper 63.6%" in table.as_markdown()
    assert "equal budget" in text(table)


def test_markdown_has_the_same_lines(results, three, setting) -> None:
    lines = table1(results(OUTCOMES), three, setting).as_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 5
    assert len({row.count("|") for row in rows}) == 1
    assert "79.2%  60% to 91%<br>19 of 24<br>paper 92.0%" in rows[3]


def test_pictures(results, three, setting, tmp_path: Path) -> None:
    draw_table(tmp_path / "a.png", table2(results(OUTCOMES), three, setting))
    draw_latencies(tmp_path / "b.png", {"on board": [0.1, 0.2], "far": [1.0, 1.5]}, title="latency")
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
