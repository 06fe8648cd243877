"""The whole stack with the expert: tasks, cancellation, refusals, models; real processes and DDS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry

from prism_msgs.action import ExecuteSkill, ExecuteTask
from prism_msgs.msg import Plan, PlannerStatus
from prism_msgs.srv import GetSceneGraph, MakePlan, SetModel
from prism_planner.domains.trace import PlanTrace
from prism_planner.nodes.conversions import graph_from_msg
from prism_planner.nodes.qos import LATCHED, SENSOR
from prism_planner.nodes.supervisor import Stack
from prism_planner.nodes.task_client import TaskClient, TaskOutcome, TaskProgress

_STANDING = 1e-3
REFUSED = ExecuteSkill.Result.REFUSED_BY_SAFETY
INVALID = ExecuteSkill.Result.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def stack(new_stack: Any) -> Iterator[Stack]:
    keep_out = {"safety.keep_out_regions": ["bridge_1"], "safety.clearance": 0.1}
    with new_stack(speed=10.0, parameters={"skill_server": keep_out}) as stack:
        assert stack.wait_ready(60) == dict.fromkeys(stack.nodes, "ready")
        yield stack


@pytest.fixture(scope="module")
def client(stack: Stack, domain_id: int) -> Iterator[TaskClient]:  # noqa: ARG001 - it must run
    with TaskClient(domain_id=domain_id) as client:
        yield client


@pytest.fixture(scope="module")
def odometry(stack: Stack, probe: Any) -> list[Odometry]:  # noqa: ARG001 - it must run
    received: list[Odometry] = probe.listen(Odometry, "odom", SENSOR)
    probe.wait_until(lambda: received, 10, "odometry")
    return received


def speed(odometry: list[Odometry]) -> float:
    return abs(odometry[-1].twist.twist.linear.x) if odometry else 0.0


def test_a_task_is_solved_and_told_step_by_step(client: TaskClient, probe: Any) -> None:
    plans = probe.listen(Plan, "plan", LATCHED)
    steps: list[TaskProgress] = []
    result = client.run("Map road 4", on_progress=steps.append, timeout_s=60)
    assert result.outcome is TaskOutcome.SUCCEEDED
    assert "car" in result.answer
    assert [step.kind for step in steps[:3]] == ["plan", "skill_started", "skill_ended"]
    assert steps[-1].kind == "plan"
    assert any("map_region(road_4)" in step.actions for step in steps)
    ended = next(step for step in steps if step.kind == "skill_ended")
    assert "found car_1" in " ".join(ended.observation)
    trace = PlanTrace.read(Path(result.trace_path))
    assert trace.outcome is not None
    assert trace.outcome.answer == result.answer
    assert len(trace.turns) == result.steps
    probe.wait_until(lambda: plans and plans[-1].step == result.steps, 5, "the last plan on the topic")
    assert plans[-1].actions[0].message == result.answer
    graph = graph_from_msg(probe.call(GetSceneGraph, "get_scene_graph", GetSceneGraph.Request()).graph)
    assert graph.robot_location == "road_4"
    assert graph.seen_from("car_1") == ["road_4"]


@pytest.mark.parametrize(
    ("task", "said"),
    [("", "empty"), (" \n\t", "empty"), ("drive " * 2000, "characters"), ("xyzzy plugh", "")],
)
def test_a_task_that_is_none_ends_with_the_reason(client: TaskClient, task: str, said: str) -> None:
    result = client.run(task, timeout_s=30)
    assert result.outcome is TaskOutcome.ABORTED
    assert result.error_code == ExecuteTask.Result.INVALID_TASK
    assert result.message
    assert said in result.message


def test_cancel_stops_the_robot_and_ends_the_task(
    client: TaskClient, odometry: list[Odometry], probe: Any
) -> None:
    client.run("Go to road 1", timeout_s=60)
    results: list[Any] = []
    worker = threading.Thread(target=lambda: results.append(client.run("Go to road 4", timeout_s=60)))
    worker.start()
    probe.wait_until(lambda: speed(odometry) > 0.5, 15, "a driving robot")
    client.cancel()
    worker.join(10)
    assert results[0].outcome is TaskOutcome.CANCELLED
    assert results[0].error_code == ExecuteTask.Result.CANCELLED
    seen = len(odometry)
    probe.wait_until(lambda: len(odometry) > seen + 3, 5, "odometry after the cancel")
    assert speed(odometry) < _STANDING
    place = odometry[-1].pose.pose.position.x
    assert place < 29.0
    seen = len(odometry)
    probe.wait_until(lambda: len(odometry) > seen + 10, 5, "more odometry")
    assert odometry[-1].pose.pose.position.x == pytest.approx(place)


def test_the_robot_goes_on_from_where_it_was_stopped(client: TaskClient) -> None:
    assert client.run("Go to road 2", timeout_s=60).outcome is TaskOutcome.SUCCEEDED


def test_time_that_is_up_cancels(client: TaskClient, odometry: list[Odometry], probe: Any) -> None:
    client.run("Go to road 1", timeout_s=60)
    result = client.run("Go to road 4", timeout_s=0.5)
    assert result.outcome is TaskOutcome.TIMED_OUT
    probe.wait_until(lambda: speed(odometry) < _STANDING, 5, "a standing robot")


def test_a_second_task_is_rejected_while_one_runs(new_stack: Any, domain_id: int, probe: Any) -> None:
    statuses = probe.listen(PlannerStatus, "slow/planner_status", LATCHED)
    robot = {"domain_id": domain_id, "namespace": "slow"}
    with new_stack(speed=1.0, namespace="slow") as stack, TaskClient(**robot) as client:
        stack.wait_ready(60)
        worker = threading.Thread(target=lambda: client.run("Go to road 4", timeout_s=60))
        worker.start()
        executing = PlannerStatus.EXECUTING
        probe.wait_until(lambda: statuses and statuses[-1].state == executing, 20, "an executing planner")
        with TaskClient(**robot) as other:
            assert other.run("Go to road 2", timeout_s=10).outcome is TaskOutcome.BUSY
        answer = probe.call(MakePlan, "slow/make_plan", MakePlan.Request(task="Go to road 2"))
        assert answer.code == MakePlan.Response.BUSY
        answer = probe.call(SetModel, "slow/set_model", SetModel.Request(model="expert"))
        assert answer.code == SetModel.Response.BUSY
        skills = probe.action(ExecuteSkill, "slow/execute_skill")
        handle = probe.send(skills, ExecuteSkill.Goal(skill="goto", target="road_1"))
        assert not handle.accepted
        client.cancel()
        worker.join(10)
        probe.wait_until(lambda: statuses[-1].state == PlannerStatus.IDLE, 5, "an idle planner")
        assert statuses[-1].last_error_code == ExecuteTask.Result.CANCELLED


def test_a_safety_refusal_reaches_planner_and_user(client: TaskClient, probe: Any) -> None:
    received = probe.listen(DiagnosticArray, "diagnostics", 10)
    steps: list[TaskProgress] = []
    result = client.run("Go to bridge 1", max_steps=2, on_progress=steps.append, timeout_s=60)
    refused = [step for step in steps if step.kind == "skill_ended"]
    assert refused[0].code == REFUSED
    assert "keep-out" in " ".join(refused[0].observation)
    assert result.outcome in (TaskOutcome.SUCCEEDED, TaskOutcome.ABORTED)
    assert result.answer or result.message
    trace = PlanTrace.read(Path(result.trace_path))
    assert "keep-out" in " ".join(trace.turns[1].feedback)

    def warned() -> bool:
        return any(
            status.name.endswith(": safety") and status.level == DiagnosticStatus.WARN
            for array in received
            for status in array.status
        )

    probe.wait_until(warned, 5, "a warning in the diagnostics")


@pytest.mark.parametrize(
    ("goal", "code"),
    [
        ({"skill": "goto", "target": "bridge_1"}, REFUSED),
        (
            {"skill": "explore_region", "target": "road_3", "radius": 30.0},
            REFUSED,
        ),
        (
            {"skill": "explore_region", "target": "road_1", "radius": 99.0},
            REFUSED,
        ),
        ({"skill": "goto", "target": "atlantis"}, ExecuteSkill.Result.UNKNOWN_TARGET),
        ({"skill": "dance", "target": "road_1"}, INVALID),
        (
            {"skill": "explore_region", "target": "road_1", "radius": -1.0},
            INVALID,
        ),
    ],
)
def test_a_skill_that_may_not_or_cannot_be_is_refused_and_nothing_moves(
    client: TaskClient,  # noqa: ARG001 - the stack must run
    odometry: list[Odometry],
    probe: Any,
    goal: dict[str, Any],
    code: int,
) -> None:
    probe.wait_until(lambda: speed(odometry) < _STANDING, 10, "a standing robot")
    place = odometry[-1].pose.pose.position
    skills = probe.action(ExecuteSkill, "execute_skill")
    handle = probe.send(skills, ExecuteSkill.Goal(**goal))
    assert handle.accepted
    answer = probe.result(handle).result
    assert answer.code == code
    assert answer.message
    assert list(answer.feedback) == [answer.message]
    after = odometry[-1].pose.pose.position
    assert (after.x, after.y) == pytest.approx((place.x, place.y), abs=1e-6)


def test_make_plan_plans_and_moves_nothing(client: TaskClient, odometry: list[Odometry], probe: Any) -> None:
    client.run("Go to road 1", timeout_s=60)
    place = odometry[-1].pose.pose.position.x
    answer = probe.call(MakePlan, "make_plan", MakePlan.Request(task="Map road 4"))
    assert answer.code == 0
    assert (answer.plan.actions[0].action, answer.plan.actions[0].target) == ("map_region", "road_4")
    empty = probe.call(MakePlan, "make_plan", MakePlan.Request(task=""))
    assert empty.code == ExecuteTask.Result.INVALID_TASK
    time.sleep(0.2)
    assert odometry[-1].pose.pose.position.x == pytest.approx(place)


def test_a_bad_model_is_refused_and_the_present_one_stays(
    client: TaskClient, probe: Any, tmp_path: Path
) -> None:
    truncated = tmp_path / "broken.gguf"
    truncated.write_bytes(b"GGUF\x03\x00\x00\x00")
    for name in ("no-such-model", str(truncated), str(tmp_path / "missing.gguf"), ""):
        answer = probe.call(SetModel, "set_model", SetModel.Request(model=name), 30.0)
        assert answer.code == SetModel.Response.MODEL_UNAVAILABLE
        assert answer.message
        assert answer.model == "expert"
    assert client.run("Go to road 1", timeout_s=60).outcome is TaskOutcome.SUCCEEDED


class SlowHandle:
    """rclpy's action client, held up between sending a request and noting it."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._handle, name)
        if not name.endswith("_request"):
            return attribute

        def send(*arguments: Any) -> Any:
            sent = attribute(*arguments)
            time.sleep(0.3)
            return sent

        return send

    def __enter__(self) -> Any:
        return self._handle.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._handle.__exit__(*error)


def test_an_answer_faster_than_the_client_is_not_lost(
    stack: Stack,  # noqa: ARG001 - it must run
    domain_id: int,
) -> None:
    with TaskClient(domain_id=domain_id) as client:
        assert client.wait_for_planner(10)
        client._client._client_handle = SlowHandle(client._client._client_handle)
        result = client.run("Map road 1", timeout_s=60)
    assert result.outcome is TaskOutcome.SUCCEEDED
