"""What every simulated robot can do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_TICK_S = 10.0
_SUBSTEP_S = 0.01


@dataclass(frozen=True, slots=True)
class RobotState:
    """Pose in `map` (metres, radians counter-clockwise from east) and twist in `base_link` (m/s, rad/s;
    x forward, y left, z up), as in nav_msgs/Odometry."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw: float = 0.0
    vx: float = 0.0
    vy: float = 0.0
    vz: float = 0.0
    wz: float = 0.0

    @property
    def speed(self) -> float:
        """Speed over ground, m/s."""
        return math.hypot(self.vx, self.vy)


class Robot(Protocol):
    """A robot that follows polylines. Deterministic: the same calls give the same states."""

    @property
    def state(self) -> RobotState:
        """Where the robot is and how it moves."""

    @property
    def arrived(self) -> bool:
        """Whether the robot has come to rest at the end of its path."""

    def follow(self, path: Sequence[tuple[float, float]]) -> None:
        """Drive from here through the points (x, y metres in `map`) and stop at the last one. Replaces
        a path being followed; an empty one stops the robot where it is. Raises ValueError for
        coordinates that are not finite."""

    def stop(self) -> None:
        """Brake as hard as possible and stay; the path is forgotten."""

    def tick(self, dt: float) -> RobotState:
        """Let `dt` seconds pass, at most MAX_TICK_S. Raises ValueError for any other `dt`."""


def check_positive(limits: Mapping[str, float]) -> None:
    """Raise ValueError, which names the limit, unless all are finite and above 0."""
    for name, value in limits.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a finite number above 0, not {value}")


def substeps(dt: float) -> Iterator[float]:
    """`dt` in equal pieces short enough to integrate. Raises ValueError outside (0, MAX_TICK_S]."""
    if not 0 < dt <= MAX_TICK_S:
        raise ValueError(f"a tick lasts more than 0 and at most {MAX_TICK_S:g} s, not {dt}")
    count = max(1, math.ceil(dt / _SUBSTEP_S - 1e-9))
    for _ in range(count):
        yield dt / count


def approach(value: float, target: float, step: float) -> float:
    """`value` moved towards `target` by at most `step`."""
    return target if abs(target - value) <= step else value + math.copysign(step, target - value)


def wrap(angle: float) -> float:
    """The same angle in [-pi, pi]."""
    return math.remainder(angle, 2 * math.pi)
