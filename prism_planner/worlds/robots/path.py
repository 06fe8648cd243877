"""A polyline being followed: progress along it, and the speed its corners and its end allow."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]

_SAME_POINT_M = 1e-6
_SLOWEST_CORNER = 0.1


class FollowedPath:
    """The polyline from where the robot stands through the given points. Lengths in metres."""

    def __init__(self, start: Point, points: Sequence[Point]) -> None:
        """Raises ValueError for coordinates that are not finite."""
        if not all(math.isfinite(value) for point in points for value in point):
            raise ValueError("a path needs finite coordinates in metres")
        self._points: list[Point] = [start]
        for x, y in points:
            if math.dist(self._points[-1], (x, y)) > _SAME_POINT_M:
                self._points.append((x, y))
        self._at = [0.0]
        for a, b in pairwise(self._points):
            self._at.append(self._at[-1] + math.dist(a, b))
        self._sharpness = [self._turn(i) for i in range(1, len(self._points) - 1)]
        self.progress = 0.0

    @property
    def end(self) -> Point:
        return self._points[-1]

    @property
    def remaining(self) -> float:
        return self._at[-1] - self.progress

    def advance(self, x: float, y: float, reach: float) -> None:
        """Move the progress to the nearest point not more than `reach` ahead; it never goes back."""
        best, best_distance = self.progress, math.dist(self.point(self.progress), (x, y))
        i = self._segment(self.progress)
        while i < len(self._points) - 1 and self._at[i] <= self.progress + reach:
            (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
            length = self._at[i + 1] - self._at[i]
            along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length
            s = min(max(self._at[i] + max(0.0, min(length, along)), self.progress), self.progress + reach)
            distance = math.dist(self.point(s), (x, y))
            if distance < best_distance:
                best, best_distance = s, distance
            i += 1
        self.progress = best

    def point(self, s: float) -> Point:
        """The point `s` metres along the path; its end from there on."""
        if s >= self._at[-1]:
            return self._points[-1]
        i = self._segment(s)
        (ax, ay), (bx, by) = self._points[i], self._points[i + 1]
        t = (s - self._at[i]) / (self._at[i + 1] - self._at[i])
        return ax + t * (bx - ax), ay + t * (by - ay)

    def speed_limit(self, cruise: float, deceleration: float) -> float:
        """The speed from which corners ahead can be taken slowly and the end be reached at rest."""
        limit = min(cruise, math.sqrt(2 * deceleration * max(0.0, self.remaining)))
        for i in range(self._segment(self.progress) + 1, len(self._points) - 1):
            ahead = self._at[i] - self.progress
            if ahead > cruise * cruise / (2 * deceleration):
                break
            corner = cruise * max(_SLOWEST_CORNER, 1 - self._sharpness[i - 1])
            limit = min(limit, math.sqrt(corner * corner + 2 * deceleration * ahead))
        return limit

    def _segment(self, s: float) -> int:
        return max(0, min(bisect_right(self._at, s) - 1, len(self._points) - 2))

    def _turn(self, i: int) -> float:
        """0 where the path goes straight on at vertex `i`, 1 where it turns by 90 degrees or more."""
        (ax, ay), (bx, by), (cx, cy) = self._points[i - 1 : i + 2]
        turn = math.atan2(cy - by, cx - bx) - math.atan2(by - ay, bx - ax)
        return min(1.0, abs(math.remainder(turn, 2 * math.pi)) / (math.pi / 2))
