"""Which node a detection is; pure, and fast whatever the size of the graph."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph

Cell = tuple[str, int, int]

_NOT_IN_NAMES = re.compile(r"[^\w.\-]+")
_MAX_STEM = 48


@dataclass(frozen=True, slots=True)
class Sighting:
    """An object seen: what, where (metres in `map`), and what is known of it.

    name: node to update when the detector tracks identities, otherwise empty.
    """

    category: str
    x: float
    y: float
    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class Association:
    """Matches sightings to the objects of a graph: same category within a radius is the same object.

    `follow` every delta that is applied to the graph.
    """

    def __init__(self, graph: SceneGraph, *, radius_m: float) -> None:
        self._graph = graph
        self._radius = radius_m
        self._cells: dict[Cell, dict[str, None]] = defaultdict(dict)
        self._cell_of: dict[str, Cell] = {}
        self._numbers: dict[str, int] = {}
        for name in graph.objects:
            self._put(graph.node(name))

    def follow(self, delta: GraphDelta) -> None:
        """The graph has just applied `delta`."""
        changed = {*delta.remove_nodes, *delta.update_node_attributes, *(n.name for n in delta.add_nodes)}
        for name in changed:
            if (cell := self._cell_of.pop(name, None)) is not None:
                del self._cells[cell][name]
                if not self._cells[cell]:
                    del self._cells[cell]
            if name in self._graph and (node := self._graph.node(name)).kind == "object":
                self._put(node)

    def delta(self, sightings: list[Sighting]) -> GraphDelta:
        """The change of the graph that the sightings amount to; empty when they say nothing new.

        A new object is connected to the region the robot is in, or to the nearest one. Raises
        pydantic's ValidationError for a name that no node can have.
        """
        added: dict[str, Node] = {}
        connections: dict[tuple[str, str], None] = {}
        updates: dict[str, dict[str, str]] = {}
        for sighting in sightings:
            region = self._graph.robot_location or self._graph.nearest_region(sighting.x, sighting.y)
            name = sighting.name or self._match(sighting, added)
            if name is None or (name not in self._graph and name not in added):
                node = self._new(sighting, name, added)
                added[node.name] = node
                if region is not None:
                    connections[node.name, region] = None
            elif name in self._graph:
                known = self._graph.node(name).attributes | updates.get(name, {})
                news = {k: v for k, v in sighting.attributes.items() if known.get(k) != v}
                if news:
                    updates.setdefault(name, {}).update(news)
                if region is not None and self._unseen_from(name, region):
                    connections[name, region] = None
        return GraphDelta(
            add_nodes=tuple(added.values()),
            add_connections=tuple(connections),
            update_node_attributes=updates,
        )

    def _new(self, sighting: Sighting, name: str | None, added: dict[str, Node]) -> Node:
        return Node(
            name=name or self._fresh_name(sighting.category, added),
            kind="object",
            coords=(sighting.x, sighting.y),
            attributes={"category": sighting.category, **sighting.attributes},
        )

    def _match(self, sighting: Sighting, added: dict[str, Node]) -> str | None:
        """The nearest object of the category within the radius."""
        here = (sighting.x, sighting.y)
        category, column, row = self._cell(sighting.category, *here)
        best, best_distance = None, self._radius
        for i in (column - 1, column, column + 1):
            for j in (row - 1, row, row + 1):
                for name in self._cells.get((category, i, j), ()):
                    distance = math.dist(here, self._graph.node(name).coords)
                    if distance <= best_distance:
                        best, best_distance = name, distance
        for node in added.values():
            distance = math.dist(here, node.coords)
            if node.category.casefold() == category and distance <= best_distance:
                best, best_distance = node.name, distance
        return best

    def _unseen_from(self, name: str, region: str) -> bool:
        node = self._graph.node(name)
        return node.kind == "object" and region not in self._graph.seen_from(name)

    def _fresh_name(self, category: str, added: dict[str, Node]) -> str:
        stem = _NOT_IN_NAMES.sub("_", category).strip("_.-")[:_MAX_STEM] or "object"
        number = self._numbers.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self._graph or name in added:
            number += 1
        self._numbers[stem] = number
        return name

    def _put(self, node: Node) -> None:
        cell = self._cell(node.category, *node.coords)
        self._cells[cell][node.name] = None
        self._cell_of[node.name] = cell

    def _cell(self, category: str, x: float, y: float) -> Cell:
        return category.casefold(), math.floor(x / self._radius), math.floor(y / self._radius)
