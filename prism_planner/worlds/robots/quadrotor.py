"""A quadrotor: a velocity-limited point mass that holds its altitude and faces where it flies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from prism_planner.worlds.robots.path import FollowedPath
from prism_planner.worlds.robots.robot import RobotState, approach, check_positive, substeps, wrap

_LOOKAHEAD_M = 1.5
_AT_ALTITUDE_M = 1.0
_ALTITUDE_DEADBAND_M = 0.1


@dataclass(frozen=True, slots=True)
class QuadrotorLimits:
    """Of a Falcon 4 at a careful cruise.

    altitude: metres above ground, held while flying. cruise, climb: m/s over ground and vertical.
    acceleration: m/s². brake: m/s², for `stop()`; from cruise it hovers after cruise / brake = 0.5 s.
    max_turn: rad/s. tolerance: metres from the end of the path that count as arrived.
    """

    altitude: float = 20.0
    cruise: float = 4.0
    climb: float = 2.0
    acceleration: float = 2.5
    brake: float = 8.0
    max_turn: float = 1.5
    tolerance: float = 0.3

    def __post_init__(self) -> None:
        check_positive(asdict(self))


class QuadrotorRobot:
    """A `Robot` that takes off where it stands, flies its path at one altitude and hovers at its end."""

    def __init__(
        self,
        *,
        x: float = 0.0,
        y: float = 0.0,
        z: float = 0.0,
        yaw: float = 0.0,
        limits: QuadrotorLimits | None = None,
    ) -> None:
        """x, y, z: metres in `map`; yaw: radians."""
        self.limits = limits or QuadrotorLimits()
        self._x, self._y, self._z, self._yaw = x, y, z, yaw
        self._vx = self._vy = self._vz = self._w = 0.0  # in map
        self._path: FollowedPath | None = None
        self._arrived = True

    @property
    def state(self) -> RobotState:
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        return RobotState(
            x=self._x,
            y=self._y,
            z=self._z,
            yaw=self._yaw,
            vx=cos * self._vx + sin * self._vy,
            vy=cos * self._vy - sin * self._vx,
            vz=self._vz,
            wz=self._w,
        )

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
            self._x += self._vx * step
            self._y += self._vy * step
            self._z = max(0.0, self._z + self._vz * step)
            self._yaw = wrap(self._yaw + self._w * step)
        return self.state

    def _control(self, step: float) -> None:
        limits = self.limits
        flying = self._path is not None
        vx, vy = self._command(self._path) if self._path is not None else (0.0, 0.0)
        self._accelerate(vx, vy, (limits.acceleration if flying else limits.brake) * step)

        below = limits.altitude - self._z if flying else 0.0
        climb = 0.0 if abs(below) < _ALTITUDE_DEADBAND_M else max(-limits.climb, min(limits.climb, below))
        self._vz = approach(self._vz, climb, (limits.acceleration if flying else limits.brake) * step)

        self._w = 0.0
        if math.hypot(vx, vy) > 0.1 * limits.cruise:
            error = wrap(math.atan2(vy, vx) - self._yaw)
            self._w = max(-limits.max_turn, min(limits.max_turn, error / step))

    def _accelerate(self, vx: float, vy: float, most: float) -> None:
        """Change the horizontal velocity towards (vx, vy) by at most `most`, in a straight line."""
        dx, dy = vx - self._vx, vy - self._vy
        change = math.hypot(dx, dy)
        scale = 1.0 if change <= most else most / change
        self._vx += dx * scale
        self._vy += dy * scale

    def _command(self, path: FollowedPath) -> tuple[float, float]:
        """The velocity to aim for, in `map`."""
        limits = self.limits
        path.advance(self._x, self._y, _LOOKAHEAD_M)
        to_end = math.dist((self._x, self._y), path.end)
        if path.remaining <= limits.tolerance and to_end <= limits.tolerance:
            if self._vx == self._vy == self._vz == 0.0 and abs(limits.altitude - self._z) <= _AT_ALTITUDE_M:
                self._path, self._arrived = None, True
            return 0.0, 0.0
        if abs(limits.altitude - self._z) > _AT_ALTITUDE_M:
            return 0.0, 0.0
        target_x, target_y = path.point(path.progress + _LOOKAHEAD_M)
        dx, dy = target_x - self._x, target_y - self._y
        distance = max(math.hypot(dx, dy), 1e-9)
        speed = max(path.speed_limit(limits.cruise, limits.acceleration), 0.05 * limits.cruise)
        return speed * dx / distance, speed * dy / distance
