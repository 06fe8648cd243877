"""Placing labels in a plot so that they cover neither each other nor what is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

Point = tuple[float, float]
Array = npt.NDArray[np.float64]

# Where a label may stand around its point, best first; then the same further away.
_DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_DISTANCES_PT = (9.0, 15.0, 24.0, 36.0)

# Between the centres of two moved markers, and of a moved marker and a fixed one.
_MARKER_GAP_PT = 13.0
_REGION_GAP_PT = 14.0
_SPREAD_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Label:
    """text at the data point `at`; extra keyword arguments go to matplotlib's annotate."""

    text: str
    at: Point
    style: dict[str, Any]


def spread(axes: Axes, points: Mapping[str, Point], *, around: Mapping[str, Point]) -> dict[str, Point]:
    """The points, moved aside a little where their markers would overlap each other or those `around`.

    Data coordinates in and out; the distances to keep are in points (1/72 inch). The axes' limits
    must be final.
    """
    if not points:
        return {}
    scale = axes.figure.dpi / 72.0
    moved = axes.transData.transform(np.array(list(points.values()), dtype=float))
    fixed = axes.transData.transform(np.array(list(around.values()), dtype=float).reshape(-1, 2))
    # Points in the same place part in directions of their own.
    turn = np.arange(len(moved)) * 2.4
    moved += 0.01 * np.column_stack((np.cos(turn), np.sin(turn)))
    for _ in range(_SPREAD_ROUNDS):
        moved += 0.5 * _push(moved, moved, _MARKER_GAP_PT * scale) + _push(
            moved, fixed, _REGION_GAP_PT * scale
        )
    return {
        name: (float(x), float(y))
        for name, (x, y) in zip(points, axes.transData.inverted().transform(moved), strict=True)
    }


def _push(points: Array, others: Array, gap: float) -> Array:
    """For each point, the sum of the shifts that would part it from each other point by `gap`."""
    between = points[:, None, :] - others[None, :, :]
    distance = np.linalg.norm(between, axis=2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where((distance < gap) & (distance > 0), between / distance * (gap - distance), 0.0)
    total: Array = shift.sum(axis=1)
    return total


def place_labels(
    axes: Axes,
    labels: Sequence[Label],
    *,
    points: Sequence[Point],
    lines: Sequence[tuple[Point, Point]],
    radius_pt: float = 7.0,
) -> None:
    """Annotate each label where it covers least of what is there.

    points: data points with markers of `radius_pt` points. lines: segments that are better left free.
    Greedy: labels with the most neighbours choose first, when most room is left.
    """
    canvas = axes.figure.canvas
    assert isinstance(canvas, FigureCanvasBase)
    canvas.draw()  # settles the transform from data to pixels
    scale = axes.figure.dpi / 72.0

    def to_pixels(point: Point) -> Point:
        x, y = axes.transData.transform(point)
        return float(x), float(y)

    radius = radius_pt * scale
    markers = [to_pixels(point) for point in points]
    taken = [Bbox.from_bounds(x - radius, y - radius, 2 * radius, 2 * radius) for x, y in markers]
    segments = [(to_pixels(a), to_pixels(b)) for a, b in lines]

    def crowd(label: Label) -> int:
        here = to_pixels(label.at)
        return sum(math.dist(here, marker) < 80 * scale for marker in markers)

    for label in sorted(labels, key=crowd, reverse=True):
        annotation = axes.annotate(
            label.text,
            label.at,
            textcoords="offset points",
            xytext=(0, 0),
            ha="center",
            va="center",
            **label.style,
        )
        here = to_pixels(label.at)
        others = [marker for marker in markers if marker != here]
        taken.append(
            _settle(axes, annotation, origin=here, others=others, scale=scale, taken=taken, segments=segments)
        )


def _settle(
    axes: Axes,
    annotation: Annotation,
    *,
    origin: Point,
    others: Sequence[Point],
    scale: float,
    taken: Sequence[Bbox],
    segments: Sequence[tuple[Point, Point]],
) -> Bbox:
    """Move the annotation to its best place and return its box in pixels."""
    size = annotation.get_window_extent()
    best: tuple[float, Point, Bbox] | None = None
    for distance in _DISTANCES_PT:
        for rank, (dx, dy) in enumerate(_DIRECTIONS):
            norm = math.hypot(dx, dy)
            x = origin[0] + dx * (size.width / 2) + dx / norm * distance * scale
            y = origin[1] + dy * (size.height / 2) + dy / norm * distance * scale
            box = Bbox.from_bounds(x - size.width / 2, y - size.height / 2, size.width, size.height)
            cost = (
                20 * sum(_overlap(box, other) for other in taken)
                + 0.3 * box.width * box.height * sum(_crosses(box, a, b) for a, b in segments)
                + 40 * _outside(box, axes.bbox)
                + 250 * sum(_gap(box, other) <= _gap(box, origin) for other in others)
                + distance * 3
                + rank * 2
            )
            if best is None or cost < best[0]:
                best = cost, ((x - origin[0]) / scale, (y - origin[1]) / scale), box
    assert best is not None
    annotation.set_position(best[1])
    return best[2]


def _overlap(a: Bbox, b: Bbox) -> float:
    """The common area, pixels squared."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return width * height if width > 0 and height > 0 else 0.0


def _outside(box: Bbox, frame: Bbox) -> float:
    """The area of `box` outside `frame`."""
    return box.width * box.height - _overlap(box, frame)


def _gap(box: Bbox, point: Point) -> float:
    """The distance from the point to the box; 0 inside."""
    dx = max(box.x0 - point[0], 0.0, point[0] - box.x1)
    dy = max(box.y0 - point[1], 0.0, point[1] - box.y1)
    return math.hypot(dx, dy)


def _crosses(box: Bbox, a: Point, b: Point) -> bool:
    """Whether the segment a-b meets the box (clipping parameters, Liang and Barsky)."""
    enter, leave = 0.0, 1.0
    for start, step, low, high in (
        (a[0], b[0] - a[0], box.x0, box.x1),
        (a[1], b[1] - a[1], box.y0, box.y1),
    ):
        if step == 0:
            if not low <= start <= high:
                return False
            continue
        near, far = sorted(((low - start) / step, (high - start) / step))
        enter, leave = max(enter, near), min(leave, far)
    return enter <= leave
