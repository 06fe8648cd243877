"""What is known now, as a planner needs it: distances from the robot, kinds of places, what is near what."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.graph.delta import Node
from prism_planner.graph.scene_graph import SceneGraph

GROUND_RADIUS_M = 25.0
"""The widest exploration on graphs of ordinary density (ground robots)."""
AERIAL_RADIUS_M = 80.0
"""The widest exploration on sparse graphs, whose regions are more than `SPARSE_M` apart (aerial robots)."""
SPARSE_M = 40.0


class View:
    """A scene graph seen from where the robot is. Costs one shortest-path search, made when first needed."""

    def __init__(self, graph: SceneGraph, avoid: Iterable[str] = (), radius: float = 0.0) -> None:
        """avoid: regions that may not be entered. radius: the usual exploration radius in metres, 0 to choose
        one that suits the graph."""
        self.graph = graph
        self.here = graph.robot_location or next(iter(graph.regions), "")
        self.radius = radius or self._fitting_radius()
        self._avoid = frozenset(avoid)

    @cached_property
    def regions(self) -> list[str]:
        return self.graph.regions

    @cached_property
    def distances(self) -> dict[str, float]:
        """Metres along paths from the robot to every region it can reach."""
        found = {}
        queue = [(0.0, self.here)] if self.here else []
        while queue:
            metres, region = heapq.heappop(queue)
            if region in found:
                continue
            found[region] = metres
            at = self.graph.node(region).coords
            for other in self.graph.neighbours(region):
                if other not in found and other not in self._avoid:
                    heapq.heappush(queue, (metres + math.dist(at, self.graph.node(other).coords), other))
        return found

    def _fitting_radius(self) -> float:
        """About two connections, in steps of 5 m."""
        lengths = sorted(self.gap(a, b) for a, b in self.graph.region_connections)
        typical = lengths[len(lengths) // 2] if lengths else self._spacing()
        widest = AERIAL_RADIUS_M if typical > SPARSE_M else GROUND_RADIUS_M
        return max(10.0, 5.0 * round(min(widest, 2 * typical) / 5))

    def _spacing(self) -> float:
        gaps = [self.gap(self.here, other) for other in self.regions if other != self.here]
        return min(gaps, default=GROUND_RADIUS_M / 2)

    def node(self, name: str) -> Node:
        return self.graph.node(name)

    def is_region(self, name: str) -> bool:
        return self.node(name).kind == "region"

    def gap(self, a: str, b: str) -> float:
        """Metres in a straight line between two nodes."""
        return math.dist(self.node(a).coords, self.node(b).coords)

    def reachable(self, region: str) -> bool:
        return region in self.distances

    def views(self, name: str) -> list[str]:
        """The regions where one is at a node: itself, or those it is seen from, nearest first."""
        if self.is_region(name):
            return [name]
        return sorted(self.graph.seen_from(name), key=self.far)

    def far(self, region: str) -> float:
        """Metres along the path to a region; infinite when it cannot be reached."""
        return self.distances.get(region, math.inf)

    def distance(self, name: str) -> float:
        """Metres along the path to where a node is seen from."""
        return min((self.far(region) for region in self.views(name)), default=math.inf)

    def place(self, name: str) -> str | None:
        """The region to be in for a node: the nearest it is seen from, else the one nearest to it."""
        views = self.views(name)
        if views:
            return views[0]
        return self.graph.nearest_region(*self.node(name).coords)

    def path(self, region: str) -> list[str]:
        """The regions on the way there, without the one the robot is in; empty when there is no way."""
        path = self.graph.shortest_path(self.here, region, self._avoid) if self.here else None
        return (path or [])[1:]

    def concepts(self, name: str) -> tuple[str, ...]:
        """What a node is, by its category or name and, for a region, by its description too."""
        node = self.node(name)
        return _concepts(
            node.name, node.category, node.attributes.get("description", ""), node.kind == "region"
        )

    def is_a(self, name: str, general: str) -> bool:
        return any(knowledge().is_a(concept, general) for concept in self.concepts(name))

    def rank(self, name: str, ranking: tuple[str, ...]) -> int | None:
        """The first place in a ranking of concepts that a node holds."""
        ranks = [r for c in self.concepts(name) if (r := knowledge().rank(c, ranking)) is not None]
        return min(ranks, default=None)

    def close(self, a: str, b: str) -> bool:
        """Whether a is at, on, under or next to b."""
        if self.is_region(b):
            return b in self.views(a) if not self.is_region(a) else self.gap(a, b) <= self.radius
        if self.is_region(a):
            return a in self.graph.seen_from(b)
        return bool(set(self.graph.seen_from(a)) & set(self.graph.seen_from(b))) or self.gap(a, b) <= 6.0


_HEAD = re.compile(
    r"[,;:.(]|\b(?:of|at|behind|with|for|where|that|which|in|on|to|from|near|by|beside|"
    r"next|and|along|under)\b"
)


@lru_cache(maxsize=16384)
def _concepts(name: str, category: str, description: str, region: bool) -> tuple[str, ...]:
    known = knowledge()
    found: list[str] = []
    head = _HEAD.split(description, maxsplit=1)[0] if description else ""
    for words in (category, name, head if region else ""):
        concept = known.concept(words) if words else None
        if concept is not None and concept not in found:
            found.append(concept)
    return tuple(found)
