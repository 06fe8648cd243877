"""When to publish again something that is expensive as a whole and changes in small steps."""

from __future__ import annotations

import math

# While changes flow, publications take at most this share of the time from them ...
_SHARE = 0.005
# ... and a pause counts as their end only if it is this many times longer than a publication takes.
_PAUSE_COSTS = 20.0
# One measurement on a machine that stood still must not silence the topic.
_MAX_INTERVAL_S = 60.0


class Pace:
    """Publish when the changes pause, and now and then while they flow. Times are seconds of one clock."""

    def __init__(self, period_s: float) -> None:
        """period_s: shortest time between two publications, and shortest pause that counts as one."""
        self._period = period_s
        self._pending = True
        self._cost = 0.0
        self._changed = -math.inf
        self._published = -math.inf

    def change(self, now: float) -> None:
        self._changed, self._pending = now, True

    def due(self, now: float) -> bool:
        since = now - self._published
        if not self._pending or since < self._period:
            return False
        paused = now - self._changed >= max(self._period, _PAUSE_COSTS * self._cost)
        return paused or since >= min(self._cost / _SHARE, _MAX_INTERVAL_S)

    def publish(self, started: float, ended: float) -> None:
        """It was published, with every change before `started`."""
        self._published, self._cost, self._pending = ended, ended - started, False
