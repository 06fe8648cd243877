"""Nodes that die during a task, models that cannot load: the rest stays up, every goal ends, all rejoin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.callback_groups import ReentrantCallbackGroup
from rosgraph_msgs.msg import Clock

from prism_msgs.action import ExecuteTask
from prism_msgs.msg import PlannerStatus
from prism_msgs.srv import GetSceneGraph
from prism_planner.nodes.conversions import graph_from_msg
from prism_planner.nodes.qos import LATCHED, SENSOR
from prism_planner.nodes.supervisor import Stack, StackError, StackOptions
from prism_planner.nodes.task_client import TaskClient, TaskOutcome, TaskResult


@pytest.fixture(scope="module")
def stack(new_stack: Any) -> Iterator[Stack]:
    with new_stack(speed=10.0, parameters={"skill_server": {"planner_timeout": 2.0}}) as stack:
        stack.wait_ready(60)
        yield stack


@pytest.fixture(scope="module")
def client(stack: Stack, domain_id: int) -> Iterator[TaskClient]:  # noqa: ARG001 - it must run
    with TaskClient(domain_id=domain_id) as client:
        yield client


@pytest.mark.parametrize("victim", ["skill_server", "scene_graph_server", "slm_planner"])
def test_kill_9_during_a_task(victim: str, stack: Stack, client: TaskClient, probe: Any) -> None:
    odometry = probe.listen(Odometry, "odom", SENSOR)
    assert client.run("Map road 1", timeout_s=60).outcome is TaskOutcome.SUCCEEDED
    others = {name: state.pid for name, state in stack.nodes.items() if name != victim}
    pid = stack.nodes[victim].pid
    results: list[TaskResult] = []
    worker = threading.Thread(target=lambda: results.append(client.run("Map road 4", timeout_s=60)))
    worker.start()
    probe.wait_until(lambda: odometry and odometry[-1].twist.twist.linear.x > 0.5, 15, "a driving robot")
    os.kill(pid, signal.SIGKILL)
    worker.join(45)

    # The goal ends: with a reason, or with success when the node was back in time.
    (result,) = results
    if victim == "scene_graph_server":
        assert result.outcome is TaskOutcome.SUCCEEDED
    else:
        assert result.message
    if victim == "skill_server":
        assert result.error_code == ExecuteTask.Result.ROBOT_UNAVAILABLE
    if victim == "slm_planner":
        assert result.outcome is TaskOutcome.PLANNER_LOST
        probe.wait_until(
            lambda: abs(odometry[-1].twist.twist.linear.x) < 1e-3, 15, "the robot stopped without its planner"
        )
    # The rest is still the same processes, and the victim is back.
    assert {name: stack.nodes[name].pid for name in others} == others
    probe.wait_until(lambda: stack.nodes[victim].pid not in (None, pid), 15, "a new process")
    stack.wait_ready(30)
    # The graph is whole, and the next task succeeds.
    assert client.run("Map road 4", timeout_s=60, planner_timeout_s=20).outcome is TaskOutcome.SUCCEEDED
    graph = graph_from_msg(probe.call(GetSceneGraph, "get_scene_graph", GetSceneGraph.Request()).graph)
    assert set(graph) == {"road_1", "road_2", "road_3", "road_4", "bridge_1", "tree_1", "car_1"}
    assert graph.robot_location == "road_4"


def test_a_model_that_cannot_load_leaves_the_node_up_and_refusing(
    new_stack: Any, probe: Any, domain_id: int
) -> None:
    with new_stack(namespace="other", model="no-such-model") as stack:
        ready = stack.wait_ready(60)
        assert ready["slm_planner"].startswith("unavailable")
        assert "no-such-model" in ready["slm_planner"]
        received = probe.listen(DiagnosticArray, "other/diagnostics", 10)

        def failed() -> bool:
            return any(
                status.name.endswith(": model") and status.level == DiagnosticStatus.ERROR
                for array in received
                for status in array.status
            )

        probe.wait_until(failed, 5, "an error in the diagnostics")
        with TaskClient(namespace="other", domain_id=domain_id) as client:
            result = client.run("Map road 4", timeout_s=10)
        assert result.outcome is TaskOutcome.ABORTED
        assert result.error_code == ExecuteTask.Result.MODEL_UNAVAILABLE
        assert "no-such-model" in result.message


def test_no_planner_is_an_outcome(domain_id: int) -> None:
    with TaskClient(namespace="nobody", domain_id=domain_id) as client:
        result = client.run("Map road 4", planner_timeout_s=0.3)
    assert result.outcome is TaskOutcome.NO_PLANNER
    assert "prism up" in result.message


def test_unusable_parameters_are_told_and_not_tried_again(new_stack: Any) -> None:
    with (
        new_stack(
            namespace="bad",
            nodes=("skill_server",),
            parameters={"skill_server": {"safety.keep_out_areas": ["pond"]}},
        ) as stack,
        pytest.raises(StackError, match=r"keep_out_areas.*is not an area"),
    ):
        stack.wait_ready(30)
    assert stack.nodes["skill_server"].restarts == 0


def test_a_bad_scenario_is_told(new_stack: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("format: prism-scenario/9\n")
    with (
        new_stack(namespace="bad", nodes=("skill_server",), scenario=path) as stack,
        pytest.raises(StackError, match="prism-scenario/1"),
    ):
        stack.wait_ready(30)


_SUPERVISE = """
import sys
from pathlib import Path
from prism_planner.nodes.supervisor import StackOptions, run_stack
sys.exit(run_stack(StackOptions(scenario=Path(sys.argv[1]), run_directory=Path(sys.argv[2]),
                                domain_id=int(sys.argv[3]), namespace="alone", local_only=True)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_node_outlives_its_supervisor(number: int, road: Path, tmp_path: Path, domain_id: int) -> None:
    arguments = [sys.executable, "-c", _SUPERVISE, str(road), str(tmp_path), str(domain_id)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        waiting = {"scene_graph_server", "skill_server", "slm_planner"}
        for line in process.stdout:
            if "]: ready" in line:
                waiting.discard(line.split("]")[0].strip("["))
            if not waiting:
                break
        nodes = psutil.Process(process.pid).children(recursive=True)
        assert len(nodes) == 3
        process.send_signal(number)
        process.communicate(timeout=15)
        assert process.returncode == (0 if number != signal.SIGKILL else -signal.SIGKILL)
    _, alive = psutil.wait_procs(nodes, timeout=10)
    assert not alive


def test_a_stack_that_is_stopped_twice_or_at_once_ends(new_stack: Any) -> None:
    stack = new_stack(namespace="brief")
    stack.start()
    time.sleep(0.3)
    stack.stop()
    stack.stop()
    assert all(state.pid is None for state in stack.nodes.values())


def test_run_directories_hold_what_a_run_needs(new_stack: Any) -> None:
    stack = new_stack(namespace="kept", parameters={"slm_planner": {"max_steps": 3}})
    assert isinstance(stack.options, StackOptions)
    written = (stack.run_directory / "slm_planner.yaml").read_text()
    assert "max_steps: 3" in written
    assert str(stack.run_directory / "traces") in written


def test_ending_the_nodes_ends_the_task_with_a_result(new_stack: Any, domain_id: int, probe: Any) -> None:
    odometry = probe.listen(Odometry, "ending/odom", SENSOR)
    with (
        new_stack(namespace="ending", speed=1.0) as stack,
        TaskClient(namespace="ending", domain_id=domain_id) as client,
    ):
        stack.wait_ready(60)
        results: list[TaskResult] = []
        worker = threading.Thread(target=lambda: results.append(client.run("Map road 4", timeout_s=60)))
        worker.start()
        probe.wait_until(lambda: odometry and odometry[-1].twist.twist.linear.x > 0.5, 15, "a driving robot")
        stack.stop()
        worker.join(15)
    assert {state.exit_code for state in stack.nodes.values()} == {0}
    assert results[0].error_code == ExecuteTask.Result.CANCELLED
    assert results[0].trace_path


def test_simulated_time_drives_the_robot(new_stack: Any, domain_id: int, probe: Any) -> None:
    clock = probe.node.create_publisher(Clock, "/clock", 10)
    odometry = probe.listen(Odometry, "simulated/odom", SENSOR)
    seconds = 1.7e9
    with (
        new_stack(namespace="simulated", speed=1.0, use_sim_time=True) as stack,
        TaskClient(namespace="simulated", domain_id=domain_id) as client,
    ):
        stack.wait_ready(60)
        results: list[TaskResult] = []
        worker = threading.Thread(target=lambda: results.append(client.run("Map road 2", timeout_s=60)))
        worker.start()
        time.sleep(0.5)
        assert not odometry
        deadline = time.monotonic() + 40
        while worker.is_alive() and time.monotonic() < deadline:
            seconds += 0.1  # ten times real time
            clock.publish(Clock(clock=Time(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))))
            time.sleep(0.01)
        worker.join(1)
    assert results[0].outcome is TaskOutcome.SUCCEEDED
    assert odometry[-1].pose.pose.position.x == pytest.approx(10.0, abs=0.2)
    assert odometry[-1].header.stamp.sec >= int(1.7e9)


def test_a_goal_that_nobody_answers_is_cancelled_and_tried_again(probe: Any, domain_id: int) -> None:
    """A planner that took the first goal, but whose answer got lost."""
    taken: list[bytes] = []
    cancelled: list[bytes] = []
    release = threading.Event()

    def on_goal(request: Any, response: Any) -> Any:
        taken.append(bytes(request.goal_id.uuid))
        if len(taken) == 1:
            release.wait(8)  # longer than the client waits
        return response

    def on_cancel(request: Any, response: Any) -> Any:
        cancelled.append(bytes(request.goal_info.goal_id.uuid))
        return response

    node = probe.node
    node.create_publisher(PlannerStatus, "mute/planner_status", LATCHED).publish(PlannerStatus())
    group = ReentrantCallbackGroup()
    action = "mute/execute_task/_action/"
    kind = ExecuteTask.Impl
    node.create_service(kind.SendGoalService, action + "send_goal", on_goal, callback_group=group)
    node.create_service(CancelGoal, action + "cancel_goal", on_cancel, callback_group=group)
    node.create_service(kind.GetResultService, action + "get_result", lambda _, response: response)
    node.create_publisher(kind.FeedbackMessage, action + "feedback", 10)
    node.create_publisher(GoalStatusArray, action + "status", LATCHED)
    with TaskClient(namespace="mute", domain_id=domain_id) as client:
        result = client.run("Map road 4", timeout_s=20)
    release.set()
    assert result.outcome is TaskOutcome.BUSY  # the second answer: not accepted
    probe.wait_until(lambda: cancelled, 5, "the cancel")
    assert cancelled[0] == taken[0]
    assert len(set(taken)) == len(taken) >= 2


def test_a_second_stack_for_the_same_robot_is_refused(new_stack: Any, domain_id: int) -> None:
    with new_stack(namespace="twin") as stack:
        said = rf"already runs .*'/twin' of ROS domain {domain_id}.*--namespace"
        with pytest.raises(StackError, match=said), new_stack(namespace="twin"):
            pass
        with new_stack(namespace="other") as other:
            assert set(other.wait_ready(60)) == set(stack.wait_ready(60))
    with new_stack(namespace="twin") as again:
        again.wait_ready(60)


def test_a_keep_out_region_that_does_not_exist_is_reported(new_stack: Any, probe: Any) -> None:
    heard = probe.listen(DiagnosticArray, "/misspelt/diagnostics", 10)
    keep_out = {"safety.keep_out_regions": ["brigde_1", "road_2"]}
    with new_stack(namespace="misspelt", parameters={"skill_server": keep_out}) as stack:
        stack.wait_ready(60)

        def warned() -> bool:
            statuses = [status for array in heard for status in array.status if "keep_out" in status.name]
            return any("without effect: brigde_1" in status.message for status in statuses)

        probe.wait_until(warned, 10, "a warning about brigde_1")
