"""The table for people and the JSON for scripts."""

from __future__ import annotations

import json

from rich.console import Console

from prism_planner.evaluation.episode import EpisodeResult
from prism_planner.evaluation.report import as_json, as_table


def results() -> list[EpisodeResult]:
    def episode(cell, success, reason=""):
        return EpisodeResult(
            scenario="yard",
            task=0,
            instruction="map [bold]it[/bold]",
            cell=cell,
            seed=0,
            success=success,
            reason=reason,
            status="succeeded",
            turns=3,
            invalid_actions=1,
            step_s=[0.5],
        )

    return [episode("mapping/full", True), episode("exploration/under", False, "never [visited] it")]


def test_the_stable_keys_of_the_json():
    data = json.loads(json.dumps(as_json(results(), model="expert")))
    assert {"episodes", "success", "ci_low", "ci_high", "cells", "invalid_actions", "median_step_s"} <= set(
        data
    )
    assert (data["episodes"], data["success"], data["invalid_actions"]) == (2, 0.5, 2)
    assert data["ci_low"] < 0.5 < data["ci_high"]
    assert data["cells"]["mapping/full"]["episodes"] == 1
    assert data["cells"]["mapping/full"]["success"] == 1.0
    assert data["tasks"][1]["success"] is False
    assert {"scenario", "instruction", "success", "turns", "reason"} <= set(data["tasks"][0])
    assert data["model"] == "expert"


def shown(episodes) -> str:
    console = Console(width=120, record=True, force_terminal=False, file=None)
    with console.capture() as capture:
        console.print(as_table(episodes, title="spine, expert"))
    return capture.get()


def test_the_table_has_rates_intervals_and_reasons():
    text = shown(results())
    assert "1/1  100%  21% to 100%" in text
    assert "0/1  0%  0% to 79%" in text
    assert "map [bold]it[/bold]" in text
    assert "never [visited] it" in text


def test_an_empty_table_is_a_table():
    assert "0/0" in shown([])
