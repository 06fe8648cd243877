"""Positions from the frames that messages use into `map`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rclpy.node import Node
from rclpy.time import Time

from prism_planner.nodes.conversions import MAP_FRAME, yaw_of

# In every ROS 2 installation, but not among the packages of a Python-only one.
tf2_ros: Any = import_module("tf2_ros") if find_spec("tf2_ros") is not None else None


class UnknownFrameError(ValueError):
    """No transform into `map` is known for a frame; the message says which frames are."""


@dataclass(frozen=True, slots=True)
class PlanarPose:
    """A pose in `map`, seen from above: metres, radians."""

    x: float
    y: float
    yaw: float

    def apply(self, x: float, y: float) -> tuple[float, float]:
        """A position relative to this pose, in `map`."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return self.x + cos * x - sin * y, self.y + sin * x + cos * y


class Frames:
    """Transforms through tf2 where it is installed; otherwise by what odometry says.

    Without tf2, the odometry frame counts as `map` (no drift correction), and `base_frame` is where
    the last odometry was.
    """

    def __init__(self, node: Node, *, base_frame: str, odom_frame: str) -> None:
        self._base_frame = base_frame
        self._odom_frame = odom_frame
        self._robot: PlanarPose | None = None
        self._buffer: Any = None
        if tf2_ros is not None:
            self._buffer = tf2_ros.Buffer()
            self._listener = tf2_ros.TransformListener(self._buffer, node)

    @property
    def robot(self) -> PlanarPose | None:
        """Where the robot was last, in `map`."""
        return self._robot

    def on_odometry(self, message: Any) -> PlanarPose:
        """Take in a nav_msgs/Odometry; the robot's pose. Raises UnknownFrameError."""
        position = message.pose.pose.position
        values = (position.x, position.y, yaw_of(message.pose.pose.orientation))
        if not all(map(math.isfinite, values)):
            raise UnknownFrameError("odometry with a pose that is not finite")
        frame = self._transform(message.header.frame_id)
        x, y = frame.apply(values[0], values[1])
        self._robot = PlanarPose(x, y, frame.yaw + values[2])
        return self._robot

    def to_map(self, frame_id: str, x: float, y: float) -> tuple[float, float]:
        """A position in `map`, metres. Raises UnknownFrameError."""
        if not (math.isfinite(x) and math.isfinite(y)):
            raise UnknownFrameError(f"a position that is not finite: ({x}, {y})")
        return self._transform(frame_id).apply(x, y)

    def _transform(self, frame_id: str) -> PlanarPose:
        frame = frame_id.lstrip("/")
        if frame == MAP_FRAME:
            return PlanarPose(0.0, 0.0, 0.0)
        if self._buffer is not None:
            try:
                found = self._buffer.lookup_transform(MAP_FRAME, frame, Time()).transform
                return PlanarPose(found.translation.x, found.translation.y, yaw_of(found.rotation))
            except tf2_ros.TransformException as error:
                if frame not in (self._odom_frame, self._base_frame):
                    raise UnknownFrameError(f"frame {frame_id!r}: {error}") from error
        if frame == self._odom_frame:
            return PlanarPose(0.0, 0.0, 0.0)
        if frame == self._base_frame:
            if self._robot is None:
                raise UnknownFrameError(f"frame {frame_id!r}: there was no odometry yet")
            return self._robot
        known = f"use {MAP_FRAME!r}, {self._odom_frame!r} or {self._base_frame!r}"
        if self._buffer is None:
            known += "; others need tf2_ros (apt install ros-jazzy-tf2-ros-py)"
        raise UnknownFrameError(f"frame {frame_id[:80]!r} is unknown; {known}")
