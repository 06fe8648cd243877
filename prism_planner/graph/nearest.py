"""Named points in the plane: add, move, remove and ask for the nearest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


class PointIndex:
    """Points kept in one contiguous array, so that the nearest of 10,000 takes tens of microseconds.

    Adding, moving and removing a point take constant time (amortised): a removed point's row is
    filled with the last one. Coordinates are metres in the `map` frame.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._rows: dict[str, int] = {}
        self._points: NDArray[np.float64] = np.empty((2, 16))

    def __len__(self) -> int:
        return len(self._names)

    def put(self, name: str, x: float, y: float) -> None:
        """Add a point, or move it."""
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self._names)
            self._names.append(name)
            if row == self._points.shape[1]:
                self._points = np.concatenate([self._points, np.empty_like(self._points)], axis=1)
        self._points[:, row] = x, y

    def remove(self, name: str) -> None:
        row = self._rows.pop(name)
        last = self._names.pop()
        if last != name:
            self._names[row] = last
            self._rows[last] = row
            self._points[:, row] = self._points[:, len(self._names)]

    def nearest(self, x: float, y: float) -> str | None:
        """The nearest point's name, the first by name among equals; None when there is none."""
        if not (math.isfinite(x) and math.isfinite(y)):
            raise ValueError(f"a position must be finite metres, not ({x}, {y})")
        if not self._names:
            return None
        points = self._points[:, : len(self._names)]
        with np.errstate(over="ignore", under="ignore"):
            squared = (points[0] - x) ** 2 + (points[1] - y) ** 2
        nearest = np.flatnonzero(squared == squared.min())
        return min(self._names[int(row)] for row in nearest)

    def copy(self) -> PointIndex:
        other = PointIndex()
        other._names = self._names.copy()
        other._rows = self._rows.copy()
        other._points = self._points.copy()
        return other
