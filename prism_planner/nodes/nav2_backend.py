"""A real robot that Nav2 drives: skills as trips, with detections arriving meanwhile."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from nav_msgs.msg import Odometry
from pydantic import Field
from rclpy.node import Node

from prism_planner.cancellation import CancelToken
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.frames import Frames, PlanarPose, UnknownFrameError
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.navigation import (
    ActionNavigator,
    Navigator,
    TopicNavigator,
    Trip,
    navigate_to_pose,
)
from prism_planner.nodes.parameters import NodeParameters, ParameterError
from prism_planner.nodes.qos import SENSOR
from prism_planner.nodes.skill_backend import RobotProgress, SkillResult
from prism_planner.skills.monitor import Refusal, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode

_POLL_S = 0.02
_STANDING = 0.02
_STOP_TIMEOUT_S = 3.0
_GRAPH_TIMEOUT_S = 2.0
_LOCATION_TIMEOUT_S = 2.0


class Nav2Parameters(NodeParameters):
    """Parameters of a robot that Nav2 drives, `nav2.*`."""

    interface: Literal["auto", "action", "topic"] = Field(
        "auto",
        description="How Nav2 is told: action navigate_to_pose, or topic goal_pose with arrival judged from "
        "odometry; auto takes the action where nav2_msgs is installed.",
    )
    goal_tolerance: float = Field(
        0.5,
        gt=0.0,
        le=10.0,
        description="A goal on the topic counts as reached within this distance, metres.",
    )
    stuck_timeout: float = Field(
        20.0,
        gt=0.0,
        le=600.0,
        description="A robot that comes no nearer to its goal for this long is stuck, seconds.",
    )
    odom_timeout: float = Field(
        2.0, gt=0.0, le=60.0, description="Older odometry than this counts as none, seconds."
    )
    dwell: float = Field(
        3.0, ge=0.0, le=120.0, description="How long map_region looks for detections in a region, seconds."
    )
    explore_points: int = Field(
        6, ge=1, le=64, description="Points of the tour that explore_region drives around its region."
    )
    inspect_timeout: float = Field(
        10.0,
        gt=0.0,
        le=300.0,
        description="How long inspect waits for news of its object, seconds.",
    )
    odom_frame: str = Field("odom", description="Frame of the odometry; counts as map where tf2 is missing.")
    base_frame: str = Field("base_link", description="Frame of the robot.")


class Nav2Backend:
    """Turns skills into trips along allowed regions, and reports what the scene graph gained on them."""

    def __init__(
        self, node: Node, *, parameters: Nav2Parameters, monitor: SafetyMonitor, graph: SceneGraphClient
    ) -> None:
        """Raises ParameterError when the action is asked for and nav2_msgs is missing."""
        self._node = node
        self._parameters = parameters
        self._monitor = monitor
        self._graph = graph
        self._frames = Frames(node, base_frame=parameters.base_frame, odom_frame=parameters.odom_frame)
        self._lock = threading.Lock()
        self._pose: PlanarPose | None = None
        self._pose_time = 0.0
        self._speed = 0.0
        self._remaining = 0.0
        self._navigator = self._make_navigator()
        node.create_subscription(Odometry, "odom", self._on_odometry, SENSOR)

    def prepare(self, cancel: CancelToken) -> str:
        if self._graph.wait_for_graph(_GRAPH_TIMEOUT_S, cancel) is None:
            return "no scene graph server answers; start scene_graph_server"
        if self._here() is None:
            return f"no odometry on {self._node.resolve_topic_name('odom')}"
        return self._navigator.problem()

    def execute(self, skill: Skill, cancel: CancelToken) -> SkillResult:
        before = self._graph.snapshot()
        location = None if before is None else before.robot_location
        if before is None or location is None:
            return SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, "it is not known where the robot is")
        if skill.name == "inspect":
            way = self._monitor.route_to_view(before, location, skill.target)
        else:
            way = self._monitor.route(before, location, skill.target)
        if isinstance(way, Refusal):
            return SkillResult.failed(way.code, way.message)
        points = [before.node(name).coords for name in way]
        facing = before.node(skill.target).coords if skill.name == "inspect" else None
        trip = self._drive(points, cancel, facing=facing)
        if trip is not Trip.ARRIVED:
            return self._failed_trip(skill, way[-1], trip)
        return self._look(skill, way[-1], before, cancel)

    @property
    def progress(self) -> RobotProgress | None:
        pose = self._here()
        return None if pose is None else RobotProgress(pose.x, pose.y, 0.0, pose.yaw, self._remaining)

    def stop(self) -> None:
        with self._lock:
            pose = self._pose
        self._navigator.stop(pose)

    def close(self) -> None:
        self._navigator.close()

    # Driving

    def _make_navigator(self) -> Navigator:
        wanted = self._parameters.interface
        action = navigate_to_pose() if wanted != "topic" else None
        if action is not None:
            return ActionNavigator(self._node, action)
        if wanted == "action":
            raise ParameterError(
                "parameter 'nav2.interface' is action, but nav2_msgs is not installed: "
                "apt install ros-jazzy-nav2-msgs, or set it to topic"
            )
        return TopicNavigator(self._node, tolerance_m=self._parameters.goal_tolerance)

    def _drive(
        self,
        points: Sequence[tuple[float, float]],
        cancel: CancelToken,
        *,
        facing: tuple[float, float] | None = None,
    ) -> Trip:
        """Through the points, each a navigation goal that faces the next one, or `facing` at the last."""
        for number, point in enumerate(points):
            ahead = points[number + 1] if number + 1 < len(points) else facing
            rest = [point, *points[number + 1 :]]
            later = sum(math.dist(a, b) for a, b in pairwise(rest))
            trip = self._go(point, ahead, later, cancel)
            if trip is not Trip.ARRIVED:
                return trip
        return Trip.ARRIVED

    def _go(
        self,
        point: tuple[float, float],
        ahead: tuple[float, float] | None,
        later_m: float,
        cancel: CancelToken,
    ) -> Trip:
        here = self._here()
        if here is None:
            return Trip.LOST
        towards = ahead or point
        origin = point if ahead else (here.x, here.y)
        yaw = math.atan2(towards[1] - origin[1], towards[0] - origin[0])
        self._navigator.go(PlanarPose(point[0], point[1], yaw))
        nearest, progress_time = math.inf, time.monotonic()
        while True:
            if cancel.wait(_POLL_S):
                self._stand()
                return Trip.CANCELLED
            here = self._here()
            if here is None:
                self.stop()
                return Trip.LOST
            left = math.dist((here.x, here.y), point)
            self._remaining = left + later_m
            trip = self._navigator.ended(here)
            if trip is not None:
                return trip
            if left < nearest - 0.05:
                nearest, progress_time = left, time.monotonic()
            elif time.monotonic() - progress_time > self._parameters.stuck_timeout:
                self._stand()
                return Trip.STUCK

    def _stand(self) -> None:
        """Stop and wait, for a bounded time, until odometry says that the robot stands."""
        self.stop()
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while time.monotonic() < deadline:
            with self._lock:
                if self._speed < _STANDING:
                    return
            time.sleep(_POLL_S)

    def _failed_trip(self, skill: Skill, region: str, trip: Trip) -> SkillResult:
        said = {
            Trip.STUCK: (SkillCode.STUCK, f"got stuck on the way to {region}"),
            Trip.LOST: (SkillCode.ROBOT_UNAVAILABLE, "odometry stopped; the robot was told to stand"),
            Trip.REFUSED: (SkillCode.UNREACHABLE, f"the navigation cannot reach {region}"),
        }
        code, message = said.get(trip, (SkillCode.CANCELLED, f"{skill} was cancelled on the way to {region}"))
        return SkillResult(code, message, (message,), self._graph.revision)

    # Looking

    def _look(self, skill: Skill, region: str, before: SceneGraph, cancel: CancelToken) -> SkillResult:
        """At the destination: what the skill is for."""
        if skill.name == "goto":
            self._await_location(region, cancel)
            return SkillResult(SkillCode.SUCCEEDED, "", (f"arrived at {region}",), self._graph.revision)
        if skill.name == "inspect":
            return self._inspect(skill.target, region, before, cancel)
        said = f"mapped {region}"
        if skill.name == "explore_region":
            said = f"explored {region} within {skill.radius:g} m"
            trip = self._tour(before.node(region).coords, skill.radius, cancel)
            if trip not in (Trip.ARRIVED, Trip.STUCK, Trip.REFUSED):  # an obstructed corner is no failure
                return self._failed_trip(skill, region, trip)
        if cancel.wait(self._parameters.dwell):
            return self._failed_trip(skill, region, Trip.CANCELLED)
        after = self._graph.snapshot() or before
        found = [name for name in after if name not in before]
        said += f": found {', '.join(found)}" if found else ": nothing new"
        return SkillResult(SkillCode.SUCCEEDED, "", (said,), after.revision)

    def _tour(self, centre: tuple[float, float], radius: float, cancel: CancelToken) -> Trip:
        """Around the centre at half the radius, where the monitor allows it, and back."""
        count = self._parameters.explore_points
        ring = [
            (
                centre[0] + radius / 2 * math.cos(2 * math.pi * k / count),
                centre[1] + radius / 2 * math.sin(2 * math.pi * k / count),
            )
            for k in range(count)
        ]
        graph = self._graph.snapshot()
        last, trip = centre, Trip.ARRIVED
        for point in ring:
            if self._monitor.check_segment(last, point, graph) is not None:
                continue
            trip = self._drive([point], cancel)
            if trip in (Trip.CANCELLED, Trip.LOST):
                return trip
            last = point
        if self._monitor.check_segment(last, centre, graph) is None:
            trip = self._drive([centre], cancel)
        return trip

    def _inspect(self, name: str, region: str, before: SceneGraph, cancel: CancelToken) -> SkillResult:
        known = before.node(name).attributes
        deadline = time.monotonic() + self._parameters.inspect_timeout
        while True:
            graph = self._graph.snapshot() or before
            now = graph.node(name).attributes if name in graph else known
            news = {key: value for key, value in now.items() if known.get(key) != value}
            if news:
                said = "; ".join(f"{key}: {value}" for key, value in news.items())
                return SkillResult(SkillCode.SUCCEEDED, "", (f"inspected {name}: {said}",), graph.revision)
            if cancel.wait(_POLL_S * 5):
                return self._failed_trip(Skill(name="inspect", target=name), region, Trip.CANCELLED)
            if time.monotonic() > deadline:
                message = f"nothing more could be seen of {name} from {region}"
                return SkillResult(SkillCode.SENSOR_FAILED, message, (message,), graph.revision)

    def _await_location(self, region: str, cancel: CancelToken) -> None:
        """The server follows odometry; wait until its graph says that the robot has arrived."""
        deadline = time.monotonic() + _LOCATION_TIMEOUT_S
        while time.monotonic() < deadline and not cancel.wait(_POLL_S):
            graph = self._graph.snapshot()
            if graph is not None and graph.robot_location == region:
                return

    # Odometry

    def _here(self) -> PlanarPose | None:
        """The robot's pose, unless odometry is old."""
        with self._lock:
            fresh = time.monotonic() - self._pose_time < self._parameters.odom_timeout
            return self._pose if fresh else None

    def _on_odometry(self, message: Odometry) -> None:
        try:
            pose = self._frames.on_odometry(message)
        except UnknownFrameError as error:
            self._node.get_logger().warning(f"odometry ignored: {error}", throttle_duration_sec=5.0)
            return
        twist = message.twist.twist
        with self._lock:
            self._pose, self._pose_time = pose, time.monotonic()
            self._speed = max(math.hypot(twist.linear.x, twist.linear.y), abs(twist.angular.z))
