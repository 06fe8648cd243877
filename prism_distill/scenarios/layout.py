"""Where regions are and how they are connected: planar, connected, on a jittered lattice."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from prism_distill.scenarios.lexicon import Setting

Cell = tuple[int, int]

SPACING_M: dict[Setting, tuple[float, float]] = {
    "indoor": (7.0, 12.0),
    "outdoor": (12.0, 16.5),
    "aerial": (52.0, 55.0),
}
"""Least and greatest distance of neighbours on the lattice. With the jitter, edges are shorter than 23 m on
the ground; in the air they are 41 m to 67 m long, so that two known regions tell of what scale a scene is."""
_JITTER: dict[Setting, float] = {"indoor": 0.17, "outdoor": 0.17, "aerial": 0.1}
_STEPS: tuple[Cell, ...] = ((1, 0), (0, 1), (-1, 0), (0, -1))


@dataclass(slots=True)
class Layout:
    """points: where regions are, metres in `map`; the first `ways` of them form the skeleton.
    edges: pairs of their indices, each shorter than 1.4 spacings."""

    points: list[tuple[float, float]]
    edges: list[tuple[int, int]]
    ways: int
    spacing: float
    cells: list[Cell] = field(default_factory=list)


def make_layout(count: int, setting: Setting, rng: random.Random) -> Layout:
    """A layout of `count` regions.

    A skeleton of ways (a line with bends, a cross or a loop), with the other regions attached to it or to
    each other. Edges join lattice neighbours only, so no two of them cross.
    """
    ways = max(1, round(count * rng.uniform(0.2, 0.45)))
    cells = _skeleton(ways, rng)
    ways = len(cells)
    edges = _chain(cells)
    taken = {cell: i for i, cell in enumerate(cells)}
    while len(cells) < count:
        # Attached to the skeleton where there is room, so that trees of rooms stay shallow.
        hosts = [i for i in range(len(cells)) if (i < ways or rng.random() < 0.3) and _free(cells[i], taken)]
        if not hosts:
            hosts = [i for i in range(len(cells)) if _free(cells[i], taken)]
        host = rng.choice(hosts)
        cell = rng.choice(_free(cells[host], taken))
        taken[cell] = len(cells)
        edges.append((host, len(cells)))
        cells.append(cell)
    joined = set(edges)
    for cell, i in list(taken.items()):
        for step in ((1, 0), (0, 1)):
            j = taken.get((cell[0] + step[0], cell[1] + step[1]))
            if j is not None and (i, j) not in joined and (j, i) not in joined and rng.random() < 0.12:
                edges.append((i, j))
                joined.add((i, j))
    spacing = rng.uniform(*SPACING_M[setting])
    return Layout(_positions(cells, spacing, _JITTER[setting], rng), edges, ways, spacing, cells)


def _skeleton(count: int, rng: random.Random) -> list[Cell]:
    shape = rng.choice(("line", "line", "bend", "cross", "loop"))
    if shape == "loop" and count >= 4:
        width = rng.randint(1, max(1, count // 2 - 1))
        height = max(1, count // 2 - width)
        ring = [(x, 0) for x in range(width)] + [(width, y) for y in range(height)]
        ring += [(x, height) for x in range(width, 0, -1)] + [(0, y) for y in range(height, 0, -1)]
        return ring
    cells: list[Cell] = [(0, 0)]
    if shape == "cross" and count >= 5:
        arms = [[(0, 0)] for _ in _STEPS]
        while len(cells) < count:
            k = rng.randrange(len(_STEPS))
            x, y = arms[k][-1]
            arms[k].append((x + _STEPS[k][0], y + _STEPS[k][1]))
            cells.append(arms[k][-1])
        return cells
    heading = 0
    while len(cells) < count:
        if shape == "bend" and rng.random() < 0.3:
            heading = 1 - heading
        x, y = cells[-1]
        cells.append((x + _STEPS[heading][0], y + _STEPS[heading][1]))
    return cells


def _chain(cells: list[Cell]) -> list[tuple[int, int]]:
    """The edges of a skeleton: each way with an earlier neighbour, and a loop closed."""
    index = {cell: i for i, cell in enumerate(cells)}
    edges = []
    for i, (x, y) in enumerate(cells):
        for dx, dy in _STEPS:
            j = index.get((x + dx, y + dy))
            if j is not None and j < i:
                edges.append((j, i))
    return edges


def _free(cell: Cell, taken: dict[Cell, int]) -> list[Cell]:
    around = [(cell[0] + dx, cell[1] + dy) for dx, dy in _STEPS]
    return [c for c in around if c not in taken]


def _positions(
    cells: list[Cell], spacing: float, jitter: float, rng: random.Random
) -> list[tuple[float, float]]:
    turn = rng.choice((0.0, 0.0, math.pi / 2, math.pi, -math.pi / 2, rng.uniform(0, 2 * math.pi)))
    cos, sin = math.cos(turn), math.sin(turn)
    shift = (rng.uniform(-30, 30), rng.uniform(-30, 30)) if rng.random() < 0.5 else (0.0, 0.0)
    points = []
    for cx, cy in cells:
        x = (cx + rng.uniform(-jitter, jitter)) * spacing
        y = (cy + rng.uniform(-jitter, jitter)) * spacing
        points.append((round(x * cos - y * sin + shift[0], 1), round(x * sin + y * cos + shift[1], 1)))
    return points
