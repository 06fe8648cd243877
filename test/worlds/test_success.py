"""Judging episodes: every criterion met and unmet."""

from __future__ import annotations

from typing import Any

import pytest

from prism_planner.worlds.spine_scenario import SpineTask
from prism_planner.worlds.success import EpisodeRecord, judge


def _record(*deeds: str, answer: str = "done", start: str = "road_1") -> EpisodeRecord:
    record = EpisodeRecord(start=start, categories={"car_1": "vehicle"})
    for deed in deeds:
        verb, name = deed.split()
        record.add(verb, name)  # type: ignore[arg-type]
    record.finish(answer)
    return record


def _task(*success: dict[str, Any], any_success: list[list[dict[str, Any]]] | None = None) -> SpineTask:
    return SpineTask.model_validate(
        {"instruction": "Is the car damaged?", "success": success, "any_success": any_success or []}
    )


@pytest.mark.parametrize(
    ("criterion", "met", "unmet", "reason"),
    [
        ({"visited": "b"}, ["visited b", "visited c"], ["visited c"], "never visited b"),
        ({"visited": ["a", "b"]}, ["visited b"], ["mapped b"], "never visited a or b"),
        ({"mapped": "a"}, ["mapped a"], ["visited a"], "never mapped a"),
        ({"mapped": "a"}, ["explored a"], ["inspected a"], "never mapped a"),
        ({"inspected": "a"}, ["inspected a"], ["mapped a"], "never inspected a"),
        ({"ended_at": "b"}, ["visited a", "visited b"], ["visited b", "visited a"], "ended at a, not at b"),
        ({"ended_at": ["road_1", "b"]}, [], ["visited a"], "ended at a, not at road_1 or b"),
        (
            {"order": ["inspected a", "inspected b"]},
            ["inspected a", "visited c", "inspected b"],
            ["inspected b", "inspected a"],
            "never inspected b after inspected a",
        ),
        (
            {"order": ["mapped a", {"inspected": ["b", "c"]}]},
            ["explored a", "inspected c"],
            ["inspected c"],
            "never mapped a",
        ),
        (
            {"order": ["inspected a", "visited road_1"]},
            ["visited b", "inspected a", "visited road_1"],
            ["visited b", "inspected a"],
            "never visited road_1 after inspected a",
        ),
        # The robot was still where it started when it had inspected: no need to leave and come back.
        ({"order": ["inspected a", "visited road_1"]}, ["inspected a"], ["visited b", "inspected a"], ""),
        (
            {"order": ["inspected a", "ended_at road_1"]},
            ["visited b", "inspected a", "visited road_1"],
            ["inspected a", "visited b"],
            "never ended_at road_1 after inspected a",
        ),
        ({"order": ["inspected a", "inspected a"]}, ["inspected a"] * 2, ["inspected a"], "never"),
    ],
)  # fmt: skip
def test_deeds(criterion: dict[str, Any], met: list[str], unmet: list[str], reason: str) -> None:
    task = _task(criterion)
    assert judge(task, _record(*met)).success
    verdict = judge(task, _record(*unmet))
    assert not verdict.success
    assert verdict.reason.startswith(reason)


@pytest.mark.parametrize(
    ("criterion", "right", "wrong"),
    [
        ({"answer_says": "yes"}, "Yes, it has a dent.", "No, it is intact."),
        ({"answer_says": "no"}, "The car is not damaged.", "The car is damaged."),
        ({"answer_says": "no"}, "The car is not damaged.", "I looked at the car."),
        ({"answer_says": True}, "yes", "no"),
        ({"answer_mentions": "car_1"}, "Look at car_1", "Look at car_2"),
        ({"answer_mentions": ["car_1"]}, "Two vehicles", "Two cars"),
        ({"answer_mentions": ["bench_1", "chair_1"]}, "a chair", "a sofa"),
        ({"answer_matches": "(?i)under .* oak"}, "UNDER the big oak", "near the oak"),
    ],
)
def test_answers(criterion: dict[str, Any], right: str, wrong: str) -> None:
    assert judge(_task(criterion), _record(answer=right)).success
    assert not judge(_task(criterion), _record(answer=wrong)).success


def test_every_criterion_and_one_alternative_must_hold() -> None:
    task = _task({"visited": "a"}, any_success=[[{"inspected": "b"}], [{"mapped": "a"}, {"ended_at": "a"}]])
    assert judge(task, _record("visited a", "inspected b", "visited c")).success
    assert judge(task, _record("visited a", "mapped a")).success
    assert judge(task, _record("inspected b")).reason == "never visited a"
    assert (
        judge(task, _record("visited a", "mapped a", "visited c")).reason
        == "no alternative holds: never inspected b; or ended at c, not at a"
    )


def test_an_episode_without_an_answer_fails() -> None:
    record = EpisodeRecord(start="a")
    assert judge(_task({"visited": "a"}), record).reason == "the episode ended without an answer"
    record.finish("")
    assert judge(_task({"visited": "a"}), record).success
