"""In which region a robot is, given its pose."""

from __future__ import annotations

import math

from prism_planner.graph.scene_graph import SceneGraph


def region_at(graph: SceneGraph, x: float, y: float, *, hysteresis_m: float) -> str | None:
    """The nearest region, but the present one until another is nearer by `hysteresis_m`, so that a
    robot between two regions does not flicker. None in a graph without regions."""
    nearest = graph.nearest_region(x, y)
    present = graph.robot_location
    if nearest is None or present is None or nearest == present:
        return nearest
    gain = math.dist((x, y), graph.node(present).coords) - math.dist((x, y), graph.node(nearest).coords)
    return nearest if gain > hysteresis_m else present
