"""The scene graph: regions, objects, where one can go and what is seen from where."""

from __future__ import annotations

import difflib
import heapq
import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any

import networkx as nx

from prism_planner.graph.delta import MAX_NAME_LENGTH, Edge, GraphDelta, Node, NodeKind
from prism_planner.graph.nearest import PointIndex


class GraphError(ValueError):
    """A delta or a question does not fit the graph; the message names the element and the fix."""


class SceneGraph:
    """The fold of the deltas applied so far (PRISM paper, appendix C.3).

    Regions are joined by traversable connections, objects are joined to the regions they are seen
    from. Coordinates and distances are metres in the `map` frame; a connection is as long as the
    straight line between its regions. Everything is listed in the order in which it was added.

    A delta costs time in proportion to its own size, whatever the size of the graph. Not safe for
    use by several threads at once; each thread may have its own `copy`.
    """

    def __init__(self) -> None:
        self._revision = 0
        self._robot: str | None = None
        self._regions: dict[str, Node] = {}
        self._objects: dict[str, Node] = {}
        # The edge lists keep each edge's order and direction; the graphs answer questions.
        self._region_edges: dict[Edge, None] = {}
        self._object_edges: dict[Edge, None] = {}
        self._paths: nx.Graph[str] = nx.Graph()
        self._views: nx.Graph[str] = nx.Graph()
        self._nearest = PointIndex()
        self._shared = False

    @classmethod
    def from_deltas(cls, deltas: Iterable[GraphDelta], *, revision: int | None = None) -> SceneGraph:
        """The fold of `deltas`; `revision` overrides their count, for parts of a longer history."""
        graph = cls()
        for delta in deltas:
            graph.apply(delta)
        if revision is not None:
            graph._revision = revision
        return graph

    # What it holds

    @property
    def revision(self) -> int:
        """How many deltas have been applied."""
        return self._revision

    @property
    def robot_location(self) -> str | None:
        """The region the robot is in; None until a delta has said."""
        return self._robot

    @property
    def regions(self) -> list[str]:
        return list(self._regions)

    @property
    def objects(self) -> list[str]:
        return list(self._objects)

    @property
    def region_connections(self) -> list[Edge]:
        return list(self._region_edges)

    @property
    def object_connections(self) -> list[Edge]:
        """Pairs (object, region)."""
        return list(self._object_edges)

    def __contains__(self, name: object) -> bool:
        return name in self._regions or name in self._objects

    def __len__(self) -> int:
        """The number of regions and objects."""
        return len(self._regions) + len(self._objects)

    def __iter__(self) -> Iterator[str]:
        """All names: regions, then objects."""
        yield from self._regions
        yield from self._objects

    def __eq__(self, other: object) -> bool:
        """Same nodes, connections and robot location; revisions and orders may differ."""
        if not isinstance(other, SceneGraph):
            return NotImplemented
        return (
            self._robot == other._robot
            and self._regions == other._regions
            and self._objects == other._objects
            and self._object_edges.keys() == other._object_edges.keys()
            and self._paths.adj == other._paths.adj
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<SceneGraph revision {self._revision}: {len(self._regions)} regions, "
            f"{len(self._objects)} objects, robot at {self._robot}>"
        )

    def node(self, name: str) -> Node:
        """The region or object called `name`; raises GraphError when there is none."""
        node = self._regions.get(name) or self._objects.get(name)
        if node is None:
            raise GraphError(self._unknown(name))
        return node

    def neighbours(self, region: str) -> list[str]:
        """The regions one connection away."""
        self._region(region)
        return list(self._paths.adj[region])

    def objects_at(self, region: str) -> list[str]:
        """The objects seen from a region."""
        self._region(region)
        return list(self._views.adj[region])

    def seen_from(self, name: str) -> list[str]:
        """The regions an object is seen from."""
        if name not in self._objects:
            if name in self._regions:
                raise GraphError(f"{name!r} is a region; name an object")
            raise GraphError(self._unknown(name))
        return list(self._views.adj[name])

    def suggest(self, name: str, n: int = 3) -> list[str]:
        """At most `n` existing names that look like `name`, best first."""
        by_folded: dict[str, str] = {}
        for known in self:
            by_folded.setdefault(known.casefold(), known)
        close = difflib.get_close_matches(name[:MAX_NAME_LENGTH].casefold(), by_folded, n=n)
        return [by_folded[folded] for folded in close]

    # Geometry

    def nearest_region(self, x: float, y: float) -> str | None:
        """The region whose centre is nearest; None in a graph without regions."""
        return self._nearest.nearest(x, y)

    def shortest_path(self, a: str, b: str, avoid: Collection[str] = frozenset()) -> list[str] | None:
        """The regions from `a` to `b`, both included, along the shortest connections (A*).

        None when there is no way. `avoid` are regions that may not be entered; the path may start
        in one, so that a robot can leave it.
        """
        start, goal = self._region(a), self._region(b)
        if b in avoid and a != b:
            return None
        regions = self._regions

        def length(u: str, v: str, _: dict[str, Any]) -> float | None:
            return None if v in avoid else math.dist(regions[u].coords, regions[v].coords)

        def remaining(u: str, _: str) -> float:
            return math.dist(regions[u].coords, goal.coords)

        try:
            path: list[str] = nx.astar_path(self._paths, start.name, goal.name, remaining, length)
        except nx.NetworkXNoPath:
            return None
        return path

    def distance(self, a: str, b: str) -> float:
        """Metres along the shortest path between two regions; infinite when there is none."""
        path = self.shortest_path(a, b)
        return math.inf if path is None else self.path_length(path)

    def path_length(self, path: Collection[str]) -> float:
        """Metres along a sequence of regions."""
        points = [self._region(name).coords for name in path]
        return sum(math.dist(p, q) for p, q in pairwise(points))

    def reachable(self, a: str, avoid: Collection[str] = frozenset()) -> set[str]:
        """The regions that can be reached from `a` (which is one of them) without entering `avoid`."""
        self._region(a)
        reached = {a}
        queue = deque([a])
        while queue:
            for region in self._paths.adj[queue.popleft()]:
                if region not in reached and region not in avoid:
                    reached.add(region)
                    queue.append(region)
        return reached

    def by_distance(self, a: str, avoid: Collection[str] = frozenset()) -> Iterator[tuple[str, float]]:
        """The regions reachable from `a`, nearest first by path, each with its metres. Lazy (Dijkstra)."""
        heap = [(0.0, 0, self._region(a).name)]
        order = 1  # ties go to what was found first
        done: set[str] = set()
        while heap:
            metres, _, region = heapq.heappop(heap)
            if region in done:
                continue
            done.add(region)
            yield region, metres
            here = self._regions[region].coords
            for other in self._paths.adj[region]:
                if other not in done and other not in avoid:
                    step = math.dist(here, self._regions[other].coords)
                    heapq.heappush(heap, (metres + step, order, other))
                    order += 1

    # Change

    def apply(self, delta: GraphDelta) -> int:
        """Apply a delta and return the new revision. Raises GraphError, and changes nothing, when any
        part of the delta does not fit."""
        self.check(delta)
        self._unshare()
        for a, b in delta.remove_connections:
            self._disconnect(a, b)
        for name in delta.remove_nodes:
            self._remove_node(name)
        for node in delta.add_nodes:
            known = self._regions.get(node.name) or self._objects.get(node.name)
            merged = (
                node.model_copy(update={"attributes": known.attributes | node.attributes}) if known else node
            )
            self._put_node(merged)
        for a, b in delta.add_connections:
            self._connect(a, b)
        for name, attributes in delta.update_node_attributes.items():
            node = self.node(name)
            self._put_node(node.model_copy(update={"attributes": node.attributes | attributes}))
        if delta.update_robot_location is not None:
            self._robot = delta.update_robot_location
        self._revision += 1
        return self._revision

    def check(self, delta: GraphDelta) -> None:
        """Raise the GraphError that `apply` would; for who must do something else before applying."""
        self._check_removals(delta)
        self._check_additions(delta)

    def copy(self) -> SceneGraph:
        """An independent copy. Free now; the first change of either graph afterwards copies the
        tables once (about 50 ms at 10,000 nodes)."""
        other = SceneGraph.__new__(SceneGraph)
        self._shared = True
        other.__dict__.update(self.__dict__)
        return other

    def as_delta(self) -> GraphDelta:
        """The whole graph as one delta: applied to an empty graph it gives an equal one."""
        return GraphDelta.model_construct(
            add_nodes=(*self._regions.values(), *self._objects.values()),
            add_connections=(*self._region_edges, *self._object_edges),
            update_robot_location=self._robot,
        )

    def diff(self, older: SceneGraph) -> GraphDelta:
        """The delta that turns `older` into this graph.

        A robot location cannot be unset: where this graph has none, `older`'s is kept, and
        GraphError is raised when its region is gone.
        """
        if self._robot is None and older._robot is not None and older._robot not in self._regions:
            raise GraphError(
                f"the robot is in {older._robot!r}, which the newer graph lacks: give it a robot location"
            )
        nodes = self._regions | self._objects
        old_nodes = older._regions | older._objects
        # A kind or a removed attribute cannot be changed in place: such a node is removed and added.
        removed = {
            name: None
            for name, old in old_nodes.items()
            if (new := nodes.get(name)) is None
            or new.kind != old.kind
            or old.attributes.keys() - new.attributes.keys()
        }
        added: list[Node] = []
        updated: dict[str, dict[str, str]] = {}
        for name, new in nodes.items():
            old_node = None if name in removed else old_nodes.get(name)
            if old_node is None or old_node.coords != new.coords:
                added.append(new)
            elif old_node.attributes != new.attributes:
                updated[name] = dict(new.attributes.items() - old_node.attributes.items())

        def kept(edge: Edge) -> bool:
            return edge[0] not in removed and edge[1] not in removed

        return GraphDelta.model_construct(
            add_nodes=tuple(added),
            remove_nodes=tuple(removed),
            add_connections=tuple(
                edge for edge in self._edges() if not (kept(edge) and older._connected(*edge))
            ),
            remove_connections=tuple(
                edge for edge in older._edges() if kept(edge) and not self._connected(*edge)
            ),
            update_node_attributes=updated,
            update_robot_location=self._robot if self._robot != older._robot else None,
        )

    # Validation: everything that could be wrong with a delta is found here, before any change.

    def _check_removals(self, delta: GraphDelta) -> None:
        for a, b in delta.remove_connections:
            for name in (a, b):
                if name not in self:
                    raise GraphError(f"remove_connections: {self._unknown(name)}")
            if not self._connected(a, b):
                raise GraphError(f"remove_connections: {a!r} and {b!r} are not connected; leave the pair out")
        removed: set[str] = set()
        for name in delta.remove_nodes:
            if name not in self:
                raise GraphError(f"remove_nodes: {self._unknown(name)}")
            if name in removed:
                raise GraphError(f"remove_nodes: {name!r} is named twice; name each node once")
            removed.add(name)

    def _check_additions(self, delta: GraphDelta) -> None:
        removed = set(delta.remove_nodes)
        added: dict[str, NodeKind] = {}
        for node in delta.add_nodes:
            if node.name in added:
                raise GraphError(f"add_nodes: {node.name!r} is listed twice; list each node once")
            known = None if node.name in removed else self._kind(node.name)
            if known not in (None, node.kind):
                raise GraphError(
                    f"add_nodes: {node.name!r} is already a {known}, not a {node.kind}; choose another name, "
                    "or put it in remove_nodes too"
                )
            added[node.name] = node.kind

        def kind(name: str, field: str) -> NodeKind:
            found = added.get(name) or (None if name in removed else self._kind(name))
            if found is None:
                if name in removed:
                    raise GraphError(f"{field}: {name!r} is removed by the same delta")
                raise GraphError(f"{field}: {self._unknown(name)} (or put it in add_nodes)")
            return found

        for a, b in delta.add_connections:
            kinds = kind(a, "add_connections"), kind(b, "add_connections")
            if a == b:
                raise GraphError(f"add_connections: {a!r} is connected to itself; leave the pair out")
            if kinds == ("object", "object"):
                raise GraphError(
                    f"add_connections: {a!r} and {b!r} are both objects; "
                    "connect each to a region it is seen from"
                )
        for name in delta.update_node_attributes:
            kind(name, "update_node_attributes")
        self._check_robot(delta, kind, removed - added.keys())

    def _check_robot(self, delta: GraphDelta, kind: Callable[[str, str], NodeKind], gone: set[str]) -> None:
        robot = delta.update_robot_location
        if robot is not None:
            if kind(robot, "update_robot_location") != "region":
                raise GraphError(
                    f"update_robot_location: {robot!r} is an object; name a region, e.g. one it is seen from"
                )
        elif self._robot in gone:
            raise GraphError(
                f"remove_nodes: the robot is in {self._robot!r}; set update_robot_location to another region"
            )
        elif self._robot is not None and kind(self._robot, "update_robot_location") != "region":
            raise GraphError(
                f"add_nodes: the robot is in {self._robot!r}, which would become an object; "
                "set update_robot_location to another region"
            )

    def _unknown(self, name: str) -> str:
        close = self.suggest(name)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "use the name of a known node"
        return f"there is no node {name[:MAX_NAME_LENGTH]!r}; {hint}"

    def _region(self, name: str) -> Node:
        region = self._regions.get(name)
        if region is None:
            if name in self._objects:
                raise GraphError(f"{name!r} is an object; name a region, e.g. one it is seen from")
            raise GraphError(self._unknown(name))
        return region

    def _kind(self, name: str) -> NodeKind | None:
        if name in self._regions:
            return "region"
        return "object" if name in self._objects else None

    def _edges(self) -> Iterator[Edge]:
        yield from self._region_edges
        yield from self._object_edges

    def _connected(self, a: str, b: str) -> bool:
        return self._paths.has_edge(a, b) or self._views.has_edge(a, b)

    # Mutation of single elements, already checked

    def _put_node(self, node: Node) -> None:
        if node.kind == "region":
            self._regions[node.name] = node
            self._paths.add_node(node.name)
            self._nearest.put(node.name, *node.coords)
        else:
            self._objects[node.name] = node
        self._views.add_node(node.name)

    def _remove_node(self, name: str) -> None:
        if name in self._regions:
            for other in self._paths.adj[name]:
                self._forget_edge(name, other)
            for other in self._views.adj[name]:
                del self._object_edges[other, name]
            self._paths.remove_node(name)
            self._nearest.remove(name)
            del self._regions[name]
        else:
            for other in self._views.adj[name]:
                del self._object_edges[name, other]
            del self._objects[name]
        self._views.remove_node(name)

    def _connect(self, a: str, b: str) -> None:
        if self._connected(a, b):
            return
        if a in self._regions and b in self._regions:
            self._region_edges[a, b] = None
            self._paths.add_edge(a, b)
        else:
            edge = (a, b) if a in self._objects else (b, a)
            self._object_edges[edge] = None
            self._views.add_edge(a, b)

    def _disconnect(self, a: str, b: str) -> None:
        if self._paths.has_edge(a, b):
            self._forget_edge(a, b)
            self._paths.remove_edge(a, b)
        elif self._views.has_edge(a, b):
            del self._object_edges[(a, b) if a in self._objects else (b, a)]
            self._views.remove_edge(a, b)

    def _forget_edge(self, a: str, b: str) -> None:
        del self._region_edges[(a, b) if (a, b) in self._region_edges else (b, a)]

    def _unshare(self) -> None:
        if not self._shared:
            return
        self._regions = self._regions.copy()
        self._objects = self._objects.copy()
        self._region_edges = self._region_edges.copy()
        self._object_edges = self._object_edges.copy()
        self._paths = self._paths.copy()
        self._views = self._views.copy()
        self._nearest = self._nearest.copy()
        self._shared = False
