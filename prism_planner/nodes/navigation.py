"""One navigation goal at a time, through Nav2's action or its goal topic."""

from __future__ import annotations

import math
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.action import ActionClient
from rclpy.node import Node

from prism_planner.nodes.conversions import MAP_FRAME, pose_to_msg
from prism_planner.nodes.frames import PlanarPose


class Trip(Enum):
    """How a drive to a point ended. LOST: odometry stopped. REFUSED: the navigation gave up."""

    ARRIVED = "arrived"
    STUCK = "stuck"
    REFUSED = "refused"
    LOST = "lost"
    CANCELLED = "cancelled"


class Navigator(Protocol):
    """Sends the robot somewhere. `go` and `ended` are called in the worker thread, `stop` in any."""

    def problem(self) -> str:
        """Why the navigation cannot be used now; empty when it can."""

    def go(self, goal: PlanarPose) -> None:
        """Start for a pose in `map`; replaces the goal before."""

    def ended(self, here: PlanarPose) -> Trip | None:
        """How the trip ended, None while it lasts. here: where the robot is."""

    def stop(self, here: PlanarPose | None) -> None:
        """Give the goal up and stand."""

    def close(self) -> None: ...


def navigate_to_pose() -> Any:
    """The action type `nav2_msgs/action/NavigateToPose`; None where nav2_msgs is not installed."""
    return import_module("nav2_msgs.action").NavigateToPose if find_spec("nav2_msgs") is not None else None


class ActionNavigator:
    """Through the action `navigate_to_pose`: results and cancellation come from Nav2 itself."""

    def __init__(self, node: Node, action_type: Any) -> None:
        self._node = node
        self._action_type = action_type
        self._client = ActionClient(node, action_type, "navigate_to_pose")
        self._trip = 0
        self._end: Trip | None = None
        self._handle: Any = None

    def problem(self) -> str:
        if self._client.server_is_ready():
            return ""
        return f"no action server {self._node.resolve_service_name('navigate_to_pose')}; start Nav2"

    def go(self, goal: PlanarPose) -> None:
        self._trip += 1
        trip = self._trip
        self._end = self._handle = None
        request = self._action_type.Goal()
        request.pose = _stamped(self._node, goal)
        if not self._client.server_is_ready():
            self._end = Trip.REFUSED
            return
        self._client.send_goal_async(request).add_done_callback(lambda sent: self._on_accepted(trip, sent))

    def ended(self, here: PlanarPose) -> Trip | None:  # noqa: ARG002 - Nav2 judges arrival
        return self._end

    def stop(self, here: PlanarPose | None) -> None:  # noqa: ARG002 - Nav2 brakes
        self._trip += 1  # a goal that is still to be accepted is cancelled then
        if self._handle is not None:
            self._handle.cancel_goal_async()

    def close(self) -> None:
        self._client.destroy()

    def _on_accepted(self, trip: int, sent: Any) -> None:
        handle = sent.result()
        if not handle.accepted:
            if trip == self._trip:
                self._end = Trip.REFUSED
        elif trip != self._trip:
            handle.cancel_goal_async()
        else:
            self._handle = handle
            handle.get_result_async().add_done_callback(lambda result: self._on_result(trip, result))

    def _on_result(self, trip: int, result: Any) -> None:
        if trip == self._trip:
            succeeded = result.result().status == GoalStatus.STATUS_SUCCEEDED
            self._end = Trip.ARRIVED if succeeded else Trip.REFUSED


class TopicNavigator:
    """Through the topic `goal_pose`: nothing comes back, so odometry tells of arrival.

    To stop, the robot's own place is made the goal, and zero velocity is sent on `cmd_vel`.
    """

    def __init__(self, node: Node, *, tolerance_m: float) -> None:
        self._node = node
        self._tolerance = tolerance_m
        self._goals = node.create_publisher(PoseStamped, "goal_pose", 10)
        self._velocities = node.create_publisher(Twist, "cmd_vel", 10)
        self._goal: PlanarPose | None = None

    def problem(self) -> str:
        if self._goals.get_subscription_count():
            return ""
        return f"nobody listens on {self._node.resolve_topic_name('goal_pose')}; start Nav2"

    def go(self, goal: PlanarPose) -> None:
        self._goal = goal
        self._goals.publish(_stamped(self._node, goal))

    def ended(self, here: PlanarPose) -> Trip | None:
        goal = self._goal
        if goal is None:
            return Trip.CANCELLED
        arrived = math.dist((here.x, here.y), (goal.x, goal.y)) <= self._tolerance
        return Trip.ARRIVED if arrived else None

    def stop(self, here: PlanarPose | None) -> None:
        if self._goal is None:
            return
        self._goal = None
        if here is not None:
            self._goals.publish(_stamped(self._node, here))
        self._velocities.publish(Twist())

    def close(self) -> None:
        """The node destroys its publishers."""


def _stamped(node: Node, pose: PlanarPose) -> PoseStamped:
    message = PoseStamped(pose=pose_to_msg(pose.x, pose.y, 0.0, pose.yaw))
    message.header.frame_id = MAP_FRAME
    message.header.stamp = node.get_clock().now().to_msg()
    return message
