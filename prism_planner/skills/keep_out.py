"""Keep-out areas in the plane of the `map` frame, and how far a straight movement stays from them."""

from __future__ import annotations

import math
from itertools import pairwise

from pydantic import BaseModel, ConfigDict, Field, field_validator

Point = tuple[float, float]


class _Zone(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str = ""


class Circle(_Zone):
    """A disc around `center` (x, y metres) with a radius in metres."""

    center: Point
    radius: float = Field(ge=0)

    @property
    def label(self) -> str:
        return self.name or f"around ({self.center[0]:g}, {self.center[1]:g})"

    def distance(self, start: Point, end: Point) -> float:
        """Metres between the segment from `start` to `end` and this area; 0 when they touch."""
        return max(0.0, _point_to_segment(self.center, start, end) - self.radius)


class Polygon(_Zone):
    """The inside of a closed outline of at least three vertices (x, y metres), in either direction."""

    vertices: tuple[Point, ...] = Field(min_length=3)

    @field_validator("vertices")
    @classmethod
    def _has_area(cls, value: tuple[Point, ...]) -> tuple[Point, ...]:
        x0, y0 = value[0]
        if all(
            abs((ax - x0) * (by - y0) - (bx - x0) * (ay - y0)) < 1e-9
            for (ax, ay), (bx, by) in pairwise(value)
        ):
            raise ValueError(f"the polygon has no area: {list(value)}; give at least three corners")
        return value

    @property
    def label(self) -> str:
        return self.name or f"with a corner at ({self.vertices[0][0]:g}, {self.vertices[0][1]:g})"

    def distance(self, start: Point, end: Point) -> float:
        """Metres between the segment from `start` to `end` and this area; 0 when they touch."""
        if self._contains(start):
            return 0.0
        outline = pairwise((*self.vertices, self.vertices[0]))
        return min(_segment_to_segment(start, end, a, b) for a, b in outline)

    def _contains(self, point: Point) -> bool:
        """Even-odd rule."""
        x, y = point
        inside = False
        for (ax, ay), (bx, by) in pairwise((*self.vertices, self.vertices[0])):
            if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
                inside = not inside
        return inside


Zone = Circle | Polygon


def _point_to_segment(p: Point, a: Point, b: Point) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    squared = dx * dx + dy * dy
    t = 0.0 if squared == 0 else max(0.0, min(1.0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / squared))
    return math.dist(p, (a[0] + t * dx, a[1] + t * dy))


def _segment_to_segment(a: Point, b: Point, c: Point, d: Point) -> float:
    def side(p: Point, q: Point, r: Point) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
        return 0.0
    return min(
        _point_to_segment(a, c, d),
        _point_to_segment(b, c, d),
        _point_to_segment(c, a, b),
        _point_to_segment(d, a, b),
    )
