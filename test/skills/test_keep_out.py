"""Distances between straight movements and keep-out areas."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from prism_planner.skills.keep_out import Circle, Point, Polygon, Zone

SQUARE = Polygon(vertices=((0, 0), (4, 0), (4, 4), (0, 4)))
# A "U": its bounding box and hull contain points that it does not.
CHANNEL = Polygon(vertices=((0, 0), (6, 0), (6, 6), (4, 6), (4, 2), (2, 2), (2, 6), (0, 6)))
DISC = Circle(center=(0, 0), radius=2)


@pytest.mark.parametrize(
    ("zone", "start", "end", "expected"),
    [
        (DISC, (5, 0), (5, 0), 3),
        (DISC, (-5, 3), (5, 3), 1),
        (DISC, (-5, 0), (5, 0), 0),
        (DISC, (1, 0), (1, 0), 0),
        (DISC, (3, 4), (6, 8), 3),
        (SQUARE, (2, 2), (2, 2), 0),
        (SQUARE, (-3, 2), (-3, 2), 3),
        (SQUARE, (7, 8), (7, 8), 5),
        (SQUARE, (-2, 2), (6, 2), 0),
        (SQUARE, (-2, 6), (6, 6), 2),
        (SQUARE, (1, 1), (2, 2), 0),
        (SQUARE, (4, 4), (9, 9), 0),
        (CHANNEL, (3, 5), (3, 5), 1),
        (CHANNEL, (3, 9), (3, 3), 1),
        (CHANNEL, (3, 9), (3, 1), 0),
        (CHANNEL, (-1, 5), (7, 5), 0),
    ],
)
def test_distance(zone: Zone, start: Point, end: Point, expected: float) -> None:
    assert zone.distance(start, end) == pytest.approx(expected)
    assert zone.distance(end, start) == pytest.approx(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Circle(center=(0, math.nan), radius=1),
        lambda: Circle(center=(0, 0), radius=-1),
        lambda: Circle(center=(0, 0), radius=math.inf),
        lambda: Polygon(vertices=((0, 0), (1, 1))),
        lambda: Polygon(vertices=((0, 0), (1, 1), (2, 2))),
        lambda: Polygon(vertices=((0, 0), (1, math.nan), (2, 0))),
    ],
)
def test_areas_that_are_none(make: type) -> None:
    with pytest.raises(ValidationError):
        make()


@settings(deadline=None)
@given(
    zone=st.sampled_from([DISC, SQUARE, CHANNEL]),
    start=st.tuples(st.floats(-9, 9), st.floats(-9, 9)),
    end=st.tuples(st.floats(-9, 9), st.floats(-9, 9)),
)
def test_the_distance_of_a_movement_is_that_of_its_nearest_point(
    zone: Zone, start: Point, end: Point
) -> None:
    samples = 200
    points = [
        (start[0] + (end[0] - start[0]) * k / samples, start[1] + (end[1] - start[1]) * k / samples)
        for k in range(samples + 1)
    ]
    nearest = min(zone.distance(point, point) for point in points)
    assert zone.distance(start, end) <= nearest + 1e-9
    assert nearest - zone.distance(start, end) <= math.dist(start, end) / samples
