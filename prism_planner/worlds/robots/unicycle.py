"""A differential-drive ground robot: regulated pure pursuit of a polyline, no physics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from prism_planner.worlds.robots.path import FollowedPath
from prism_planner.worlds.robots.robot import RobotState, approach, check_positive, substeps, wrap

_LOOKAHEAD_M = 0.5
_TURN_IN_PLACE_RAD = math.radians(45)


@dataclass(frozen=True, slots=True)
class UnicycleLimits:
    """Of a Clearpath Jackal (top speed 2 m/s) at a careful cruise.

    cruise, max_turn: m/s, rad/s. acceleration: m/s², also to slow down on the way. brake: m/s², for
    `stop()`; from cruise the robot stands after cruise / brake = 0.17 s. turn_acceleration: rad/s².
    tolerance: metres from the end of the path that count as arrived.
    """

    cruise: float = 1.0
    max_turn: float = 1.5
    acceleration: float = 1.5
    brake: float = 6.0
    turn_acceleration: float = 9.0
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        check_positive(asdict(self))


class UnicycleRobot:
    """A `Robot` that drives forward and turns."""

    def __init__(
        self, *, x: float = 0.0, y: float = 0.0, yaw: float = 0.0, limits: UnicycleLimits | None = None
    ) -> None:
        """x, y: metres in `map`; yaw: radians."""
        self.limits = limits or UnicycleLimits()
        self._x, self._y, self._yaw = x, y, yaw
        self._v = self._w = 0.0
        self._path: FollowedPath | None = None
        self._arrived = True
        self._turning = False

    @property
    def state(self) -> RobotState:
        return RobotState(x=self._x, y=self._y, yaw=self._yaw, vx=self._v, wz=self._w)

    @property
    def arrived(self) -> bool:
        return self._arrived

    def follow(self, path: Sequence[tuple[float, float]]) -> None:
        self._path = FollowedPath((self._x, self._y), path)
        self._arrived = False

    def stop(self) -> None:
        self._path = None

    def tick(self, dt: float) -> RobotState:
        for step in substeps(dt):
            self._control(step)
            # Half-way heading: second-order accurate along an arc.
            heading = self._yaw + self._w * step / 2
            self._x += self._v * math.cos(heading) * step
            self._y += self._v * math.sin(heading) * step
            self._yaw = wrap(self._yaw + self._w * step)
        return self.state

    def _control(self, step: float) -> None:
        limits = self.limits
        if self._path is None:
            self._v = approach(self._v, 0.0, limits.brake * step)
            self._w = approach(self._w, 0.0, limits.turn_acceleration * step)
            return
        v, w = self._command(self._path)
        self._v = approach(self._v, v, limits.acceleration * step)
        self._w = approach(self._w, w, limits.turn_acceleration * step)

    def _command(self, path: FollowedPath) -> tuple[float, float]:
        """The speed and turn rate to aim for."""
        limits = self.limits
        path.advance(self._x, self._y, _LOOKAHEAD_M)
        to_end = math.dist((self._x, self._y), path.end)
        if path.remaining <= limits.tolerance and to_end <= limits.tolerance:
            if self._v == 0.0 and self._w == 0.0:
                self._path, self._arrived = None, True
            return 0.0, 0.0
        target_x, target_y = path.point(path.progress + _LOOKAHEAD_M)
        distance = math.dist((self._x, self._y), (target_x, target_y))
        error = wrap(math.atan2(target_y - self._y, target_x - self._x) - self._yaw)
        # Once turning in place, finish: alternating between driving and turning makes no headway.
        self._turning = abs(error) > (_TURN_IN_PLACE_RAD / 4 if self._turning else _TURN_IN_PLACE_RAD)
        if self._turning:
            rate = min(limits.max_turn, math.sqrt(limits.turn_acceleration * abs(error)))
            return 0.0, math.copysign(rate, error)
        curvature = 2 * math.sin(error) / max(distance, limits.tolerance)
        # Even when carried past the end of the path, the robot creeps back to it.
        speed = max(path.speed_limit(limits.cruise, limits.acceleration), 0.05 * limits.cruise)
        speed = min(speed, limits.max_turn / max(abs(curvature), 1e-9))
        return speed, speed * curvature
