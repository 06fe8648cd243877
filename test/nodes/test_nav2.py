"""The Nav2 backend against a robot that only knows `goal_pose` and `odom`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from geometry_msgs.msg import Point, PoseStamped, Twist
from nav_msgs.msg import Odometry

from prism_msgs.action import ExecuteSkill
from prism_msgs.msg import Attribute, Detection, DetectionArray
from prism_msgs.srv import GetSceneGraph
from prism_planner.nodes.conversions import graph_from_msg, pose_to_msg
from prism_planner.nodes.qos import SENSOR

_RATE_HZ = 50.0
_SPEED = 8.0
_Result = ExecuteSkill.Result

GRAPH = {
    "regions": [
        {"name": "r_1", "coords": [0, 0]},
        {"name": "r_2", "coords": [6, 0]},
        {"name": "r_3", "coords": [12, 0]},
        {"name": "pit_1", "coords": [6, 6]},
    ],
    "objects": [{"name": "door_1", "coords": [12, 3], "category": "door"}],
    "region_connections": [["r_1", "r_2"], ["r_2", "r_3"], ["r_2", "pit_1"]],
    "object_connections": [["door_1", "r_3"]],
    "robot_location": "r_1",
}


class GoalRobot:
    """Moves straight to the last goal; detects what it is told to."""

    def __init__(self, probe: Any) -> None:
        self.x = self.y = 0.0
        self.goal: tuple[float, float] | None = None
        self.blocked = False
        self.silent = False
        self.speed = 0.0
        self.stops = 0
        self.visited: list[tuple[float, float]] = []
        self.sees: list[Detection] = []
        self._probe = probe
        self._odometry = probe.node.create_publisher(Odometry, "odom", SENSOR)
        self._detections = probe.node.create_publisher(DetectionArray, "detections", SENSOR)
        probe.node.create_subscription(PoseStamped, "goal_pose", self._on_goal, 10)
        probe.node.create_subscription(Twist, "cmd_vel", self._on_velocity, 10)
        probe.node.create_timer(1 / _RATE_HZ, self._tick)

    def _on_goal(self, message: PoseStamped) -> None:
        assert message.header.frame_id == "map"
        self.goal = (message.pose.position.x, message.pose.position.y)
        self.visited.append(self.goal)

    def _on_velocity(self, message: Twist) -> None:
        assert message == Twist()
        self.stops += 1

    def _tick(self) -> None:
        self.speed = 0.0
        if self.goal is not None and not self.blocked:
            left = math.dist((self.x, self.y), self.goal)
            step = min(left, _SPEED / _RATE_HZ)
            if left > 1e-6:
                self.x += (self.goal[0] - self.x) / left * step
                self.y += (self.goal[1] - self.y) / left * step
                self.speed = step * _RATE_HZ
        if self.silent:
            return
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        message.pose.pose = pose_to_msg(self.x, self.y, 0.0, 0.0)
        message.twist.twist.linear.x = self.speed
        self._odometry.publish(message)
        if self.sees:
            seen = DetectionArray(detections=self.sees)
            seen.header.frame_id = "map"
            self._detections.publish(seen)


@pytest.fixture(scope="module")
def robot(probe: Any) -> GoalRobot:
    return GoalRobot(probe)


@pytest.fixture(scope="module")
def skills(
    new_stack: Any, robot: GoalRobot, probe: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    assert robot.goal is None
    path: Path = tmp_path_factory.mktemp("nav2") / "graph.json"
    path.write_text(json.dumps(GRAPH))
    parameters = {
        "scene_graph_server": {"initial_graph": str(path)},
        "skill_server": {
            "nav2.interface": "topic",
            "nav2.dwell": 0.3,
            "nav2.stuck_timeout": 0.7,
            "nav2.inspect_timeout": 1.5,
            "nav2.odom_timeout": 0.5,
            "nav2.explore_points": 4,
            "safety.keep_out_regions": ["pit_1"],
        },
    }
    nodes = ("scene_graph_server", "skill_server")
    with new_stack(scenario=None, nodes=nodes, parameters=parameters) as stack:
        stack.wait_ready(60)
        yield probe.action(ExecuteSkill, "execute_skill")


def execute(probe: Any, skills: Any, **goal: Any) -> Any:
    handle = probe.send(skills, ExecuteSkill.Goal(**goal))
    assert handle.accepted
    return probe.result(handle).result


def test_goto_drives_region_by_region(probe: Any, skills: Any, robot: GoalRobot) -> None:
    robot.visited.clear()
    result = execute(probe, skills, skill="goto", target="r_3")
    assert (result.code, list(result.feedback)) == (_Result.SUCCEEDED, ["arrived at r_3"])
    assert robot.visited == [(0, 0), (6, 0), (12, 0)]
    assert result.distance == pytest.approx(12.0, abs=1.5)
    graph = graph_from_msg(probe.call(GetSceneGraph, "get_scene_graph", GetSceneGraph.Request()).graph)
    assert graph.robot_location == "r_3"
    assert graph.revision >= result.graph_revision


def test_mapping_reports_what_detections_added(probe: Any, skills: Any, robot: GoalRobot) -> None:
    robot.sees = [Detection(category="bench", position=Point(x=11.0, y=-2.0), score=0.8)]
    result = execute(probe, skills, skill="map_region", target="r_3")
    robot.sees = []
    assert (result.code, list(result.feedback)) == (_Result.SUCCEEDED, ["mapped r_3: found bench_1"])
    graph = graph_from_msg(probe.call(GetSceneGraph, "get_scene_graph", GetSceneGraph.Request()).graph)
    assert "bench_1" in graph


def test_inspection_waits_for_news_of_its_object(probe: Any, skills: Any, robot: GoalRobot) -> None:
    nothing = execute(probe, skills, skill="inspect", target="door_1", query="is it open?")
    assert nothing.code == _Result.SENSOR_FAILED
    assert "door_1" in nothing.message
    state = [Attribute(key="state", value="open")]
    door = Detection(category="door", position=Point(x=12.1, y=3.1), score=0.8, attributes=state)
    robot.sees = [door]
    result = execute(probe, skills, skill="inspect", target="door_1", query="is it open?")
    robot.sees = []
    assert (result.code, list(result.feedback)) == (_Result.SUCCEEDED, ["inspected door_1: state: open"])


def test_exploring_tours_and_comes_back(probe: Any, skills: Any, robot: GoalRobot) -> None:
    robot.visited.clear()
    result = execute(probe, skills, skill="explore_region", target="r_3", radius=3.0)
    assert result.code == _Result.SUCCEEDED
    assert result.feedback[0].startswith("explored r_3 within 3 m")
    assert len(robot.visited) == 1 + 4 + 1
    assert robot.visited[-1] == (12, 0)
    assert all(math.dist(point, (12, 0)) <= 3.0 for point in robot.visited)


def test_a_keep_out_region_is_refused(probe: Any, skills: Any, robot: GoalRobot) -> None:
    robot.visited.clear()
    result = execute(probe, skills, skill="goto", target="pit_1")
    assert result.code == _Result.REFUSED_BY_SAFETY
    assert robot.visited == []


def test_a_robot_that_leaves_its_path_into_a_keep_out_region_is_stopped(
    probe: Any, skills: Any, robot: GoalRobot
) -> None:
    execute(probe, skills, skill="goto", target="r_3")
    handle = probe.send(skills, ExecuteSkill.Goal(skill="goto", target="r_1"))
    probe.wait_until(lambda: robot.speed > 0 and robot.x < 9.0, 5, "a driving robot")
    robot.x, robot.y = 6.0, 5.5
    result = probe.result(handle).result
    assert result.code == _Result.REFUSED_BY_SAFETY
    assert "stopped" in result.message
    assert robot.speed == 0.0
    robot.x, robot.y = 6.0, 0.0
    robot.goal = None


def test_cancel_stands_the_robot(probe: Any, skills: Any, robot: GoalRobot) -> None:
    execute(probe, skills, skill="goto", target="r_1")
    stops = robot.stops
    handle = probe.send(skills, ExecuteSkill.Goal(skill="goto", target="r_3"))
    probe.wait_until(lambda: robot.speed > 0 and robot.x > 2.0, 5, "a driving robot")
    probe.cancel(handle)
    result = probe.result(handle).result
    assert result.code == _Result.CANCELLED
    probe.wait_until(lambda: robot.speed == 0.0, 2, "a standing robot")
    assert robot.stops > stops
    assert robot.x < 11.0


def test_a_blocked_robot_is_stuck(probe: Any, skills: Any, robot: GoalRobot) -> None:
    execute(probe, skills, skill="goto", target="r_1")
    robot.blocked = True
    result = execute(probe, skills, skill="goto", target="r_3")
    robot.blocked = False
    assert result.code == _Result.STUCK
    assert "stuck" in result.message


def test_a_robot_without_odometry_is_unavailable(probe: Any, skills: Any, robot: GoalRobot) -> None:
    robot.silent = True
    result = execute(probe, skills, skill="goto", target="r_3")
    robot.silent = False
    assert result.code == _Result.ROBOT_UNAVAILABLE
    assert "odometry" in result.message
