"""SceneGraph against a naive model, and what it answers and refuses."""

from __future__ import annotations

import math
import pickle
import random
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import GraphError, SceneGraph

NAMES = ["r1", "r2", "r3", "r4", "o1", "o2", "o3", "zz"]
names = st.sampled_from(NAMES)
coords = st.tuples(*[st.floats(-100, 100, allow_nan=False)] * 2)
attributes = st.dictionaries(st.sampled_from("abc"), st.text(max_size=3), max_size=2)
pairs = st.lists(st.tuples(names, names), max_size=3).map(tuple)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    name = draw(st.sampled_from(NAMES[:-1]))
    usual = "region" if name[0] == "r" else "object"
    kind = draw(st.sampled_from([usual] * 9 + ["region", "object"]))
    return Node(name=name, kind=kind, coords=draw(coords), attributes=draw(attributes))


deltas = st.builds(
    GraphDelta,
    add_nodes=st.lists(nodes(), max_size=4).map(tuple),
    remove_nodes=st.lists(names, max_size=1).map(tuple),
    add_connections=pairs,
    remove_connections=st.lists(st.tuples(names, names), max_size=1).map(tuple),
    update_node_attributes=st.dictionaries(names, attributes, max_size=1),
    update_robot_location=st.none() | names,
)


@dataclass
class Model:
    """The rules of deltas, spelled out on sets."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: set[frozenset[str]] = field(default_factory=set)
    robot: str | None = None

    def applied(self, delta: GraphDelta) -> Model:
        new = deepcopy(self)
        for pair in delta.remove_connections:
            assert frozenset(pair) in new.edges
        new.edges -= {frozenset(pair) for pair in delta.remove_connections}
        for name in delta.remove_nodes:
            del new.nodes[name]
            new.edges = {edge for edge in new.edges if name not in edge}
        assert len({node.name for node in delta.add_nodes}) == len(delta.add_nodes)
        for node in delta.add_nodes:
            old = new.nodes.get(node.name, Node(name=node.name, kind=node.kind, coords=node.coords))
            assert old.kind == node.kind
            new.nodes[node.name] = node.model_copy(update={"attributes": old.attributes | node.attributes})
        for a, b in delta.add_connections:
            assert a != b
            assert "region" in (new.nodes[a].kind, new.nodes[b].kind)
            new.edges.add(frozenset((a, b)))
        for name, changes in delta.update_node_attributes.items():
            old = new.nodes[name]
            new.nodes[name] = old.model_copy(update={"attributes": old.attributes | changes})
        new.robot = delta.update_robot_location or new.robot
        if new.robot is not None:
            assert new.nodes[new.robot].kind == "region"
        return new


def assert_same(graph: SceneGraph, model: Model) -> None:
    assert {name: graph.node(name) for name in graph} == model.nodes
    assert len(graph) == len(model.nodes)
    edges = [*graph.region_connections, *graph.object_connections]
    assert {frozenset(edge) for edge in edges} == model.edges
    assert len(edges) == len(model.edges)
    assert graph.robot_location == model.robot
    for region in graph.regions:
        around = {next(iter(edge - {region})) for edge in model.edges if region in edge}
        assert set(graph.neighbours(region)) | set(graph.objects_at(region)) == around
    for name in graph.objects:
        assert set(graph.seen_from(name)) == {next(iter(e - {name})) for e in model.edges if name in e}
    for a, b in graph.object_connections:
        assert (graph.node(a).kind, graph.node(b).kind) == ("object", "region")


def expected(model: Model, delta: GraphDelta) -> Model | None:
    try:
        return model.applied(delta)
    except (AssertionError, KeyError):
        return None


@settings(max_examples=300)
@given(st.lists(deltas, max_size=12))
def test_graph_is_the_fold_of_its_deltas_and_refused_ones_leave_no_trace(history: list[GraphDelta]) -> None:
    graph, model = SceneGraph(), Model()
    earlier = graph.copy()
    for delta in history:
        before, revision, order = graph.copy(), graph.revision, list(graph)
        new = expected(model, delta)
        if new is None:
            with pytest.raises(GraphError):
                graph.apply(delta)
            assert (graph, graph.revision, list(graph)) == (before, revision, order)
        else:
            assert graph.apply(delta) == graph.revision == revision + 1
            model = new
        assert_same(graph, model)
    assert len(earlier) == 0, "a copy does not follow the original"

    again = SceneGraph.from_deltas([graph.as_delta()], revision=graph.revision)
    assert again == graph
    assert (list(again), again.region_connections, again.object_connections, again.revision) == (
        list(graph),
        graph.region_connections,
        graph.object_connections,
        graph.revision,
    )


@given(st.lists(deltas, max_size=8), st.lists(deltas, max_size=8))
def test_diff_leads_from_one_graph_to_the_other(first: list[GraphDelta], second: list[GraphDelta]) -> None:
    older, newer = folded(first), folded(second)
    if newer.robot_location is None:
        newer.apply(
            GraphDelta(
                add_nodes=(Node(name="home", kind="region", coords=(0, 0)),), update_robot_location="home"
            )
        )
    older.apply(newer.diff(older))
    assert older == newer
    assert not newer.diff(older)


def folded(history: list[GraphDelta]) -> SceneGraph:
    graph, model = SceneGraph(), Model()
    for delta in history:
        if (new := expected(model, delta)) is not None:
            graph.apply(delta)
            model = new
    return graph


@given(st.lists(st.tuples(names, coords), max_size=20), st.lists(names, max_size=8), coords)
def test_nearest_region_is_the_nearest(
    placed: list[tuple[str, tuple[float, float]]], removed: list[str], position: tuple[float, float]
) -> None:
    graph = SceneGraph()
    for name, at in placed:
        graph.apply(GraphDelta(add_nodes=(Node(name=name, kind="region", coords=at),)))
    for name in removed:
        if name in graph:
            graph.apply(GraphDelta(remove_nodes=(name,)))
    best = min(
        graph.regions,
        key=lambda name: sum((a - b) ** 2 for a, b in zip(graph.node(name).coords, position, strict=True)),
        default=None,
    )
    found = graph.nearest_region(*position)
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        nearest = math.dist(graph.node(best).coords, position)
        assert math.dist(graph.node(found).coords, position) == pytest.approx(nearest)


def test_equally_near_regions_are_told_apart_by_name_whatever_the_history() -> None:
    graph = campus()
    graph.apply(GraphDelta(add_nodes=(Node(name="a_twin", kind="region", coords=(0, 0)),)))
    assert graph.nearest_region(0.1, 0.1) == "a_twin"


@pytest.mark.parametrize("position", [(math.nan, 0.0), (0.0, math.inf)])
def test_nearest_region_refuses_positions_that_are_not_finite(position: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        campus().nearest_region(*position)


@given(st.integers(0, 10_000))
def test_paths_agree_with_dijkstra(seed: int) -> None:
    rng = random.Random(seed)
    regions = [f"r{i}" for i in range(12)]
    graph = SceneGraph()
    at = {name: (rng.uniform(0, 50), rng.uniform(0, 50)) for name in regions}
    edges = {tuple(sorted(rng.sample(regions, 2))) for _ in range(15)}
    graph.apply(
        GraphDelta(
            add_nodes=tuple(Node(name=name, kind="region", coords=at[name]) for name in regions),
            add_connections=tuple(sorted(edges)),
        )
    )
    avoid = set(rng.sample(regions[1:], 3))
    reference = nx.Graph()
    reference.add_nodes_from(name for name in regions if name not in avoid)
    reference.add_weighted_edges_from((a, b, math.dist(at[a], at[b])) for a, b in edges if not {a, b} & avoid)
    lengths = nx.single_source_dijkstra_path_length(reference, "r0")
    assert graph.reachable("r0", avoid) == set(lengths)
    assert dict(graph.by_distance("r0", avoid)) == pytest.approx(lengths)
    for goal in regions:
        path = graph.shortest_path("r0", goal, avoid)
        if goal not in lengths:
            assert path is None
            continue
        assert path is not None
        assert (path[0], path[-1]) == ("r0", goal)
        assert not avoid & set(path)
        assert all(b in graph.neighbours(a) for a, b in pairwise(path))
        assert graph.path_length(path) == pytest.approx(lengths[goal])


def test_moving_a_region_changes_the_lengths_of_its_paths() -> None:
    graph = campus()
    assert graph.distance("road_1", "grove_1") == 20
    graph.apply(GraphDelta(add_nodes=(Node(name="road_2", kind="region", coords=(10, 10)),)))
    assert graph.distance("road_1", "grove_1") == pytest.approx(2 * math.hypot(10, 10))
    assert graph.nearest_region(10, 9) == "road_2"


def test_a_robot_may_leave_a_region_to_avoid_but_not_enter_one() -> None:
    graph = campus()
    assert graph.shortest_path("road_1", "road_2", avoid={"road_1"}) == ["road_1", "road_2"]
    assert graph.shortest_path("road_1", "road_1", avoid={"road_1"}) == ["road_1"]
    assert graph.shortest_path("road_2", "road_1", avoid={"road_1"}) is None
    assert graph.distance("road_1", "island_1") == math.inf


def test_equality_ignores_the_order_of_growth() -> None:
    graph = campus()
    whole = graph.as_delta()
    other = SceneGraph.from_deltas(
        [
            whole.model_copy(
                update={
                    "add_nodes": whole.add_nodes[::-1],
                    "add_connections": tuple((b, a) for a, b in whole.add_connections[::-1]),
                }
            )
        ]
    )
    assert other == graph
    assert other != campus(extra="road_9")


def test_graphs_travel_between_processes() -> None:
    graph = pickle.loads(pickle.dumps(campus()))
    assert graph == campus()
    graph.apply(GraphDelta(update_robot_location="road_2"))
    assert graph != campus()


def test_suggestions_are_close_names_best_first() -> None:
    graph = campus()
    assert graph.suggest("Bench1")[0] == "bench_1"
    assert graph.suggest("raod_1")[0] == "road_1"
    assert graph.suggest("road_3", n=1) in (["road_1"], ["road_2"])
    assert graph.suggest("x" * 10_000) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"add_connections": [("road_1", "raod_2")]}, "no node 'raod_2'; did you mean 'road_2'"),
        ({"add_connections": [("road_1", "road_1")]}, "connected to itself"),
        ({"add_connections": [("bench_1", "lamp_1")]}, "both objects"),
        ({"remove_connections": [("road_1", "grove_1")]}, "not connected"),
        ({"remove_connections": [("road_1", "nowhere")]}, "no node 'nowhere'"),
        ({"remove_nodes": ["nowhere"]}, "remove_nodes: there is no node 'nowhere'"),
        ({"remove_nodes": ["lamp_1", "lamp_1"]}, "named twice"),
        ({"remove_nodes": ["road_1"]}, "the robot is in 'road_1'; set update_robot_location"),
        (
            {"remove_nodes": ["lamp_1"], "add_connections": [("lamp_1", "road_1")]},
            "'lamp_1' is removed by the same delta",
        ),
        ({"add_nodes": [Node(name="road_1", kind="object", coords=(0, 0))]}, "already a region"),
        ({"add_nodes": [Node(name="new", kind="object", coords=(0, 0))] * 2}, "'new' is listed twice"),
        (
            {"remove_nodes": ["road_1"], "add_nodes": [Node(name="road_1", kind="object", coords=(0, 0))]},
            "would become an object",
        ),
        ({"update_node_attributes": {"nowhere": {}}}, "update_node_attributes: there is no node 'nowhere'"),
        ({"update_robot_location": "bench_1"}, "'bench_1' is an object; name a region"),
        ({"update_robot_location": "road_3"}, "update_robot_location: there is no node 'road_3'"),
    ],
)
def test_what_does_not_fit_is_named_with_the_fix(change: dict[str, object], says: str) -> None:
    graph = campus()
    before = graph.copy()
    good = {"add_nodes": [Node(name="shed_1", kind="object", coords=(1, 1))]}
    delta = GraphDelta.model_validate(good | change)
    with pytest.raises(GraphError) as error:
        graph.apply(delta)
    assert says in str(error.value)
    assert graph == before
    assert graph.revision == before.revision


def test_the_robots_region_may_go_when_the_robot_moves_in_the_same_delta() -> None:
    graph = campus()
    graph.apply(GraphDelta(remove_nodes=("road_1",), update_robot_location="road_2"))
    assert graph.robot_location == "road_2"
    assert graph.region_connections == [("road_2", "grove_1")]


def test_questions_about_the_wrong_kind_of_node_say_so() -> None:
    graph = campus()
    for ask in (graph.neighbours, graph.objects_at, graph.reachable):
        with pytest.raises(GraphError, match="'bench_1' is an object"):
            ask("bench_1")
    with pytest.raises(GraphError, match="'road_1' is a region"):
        graph.seen_from("road_1")
    with pytest.raises(GraphError, match="did you mean"):
        graph.node("bench_11")
    with pytest.raises(GraphError):
        graph.shortest_path("road_1", "nowhere")


def test_a_diff_cannot_unset_the_robots_location() -> None:
    nowhere = SceneGraph()
    with pytest.raises(GraphError, match="robot"):
        nowhere.diff(campus())


def campus(extra: str | None = None) -> SceneGraph:
    regions = {"road_1": (0, 0), "road_2": (10, 0), "grove_1": (20, 0), "island_1": (0, 50)}
    if extra is not None:
        regions[extra] = (5, 5)
    objects = {"bench_1": (20, 2), "lamp_1": (1, 1)}
    return SceneGraph.from_deltas(
        [
            GraphDelta(
                add_nodes=(
                    *(Node(name=name, kind="region", coords=at) for name, at in regions.items()),
                    *(Node(name=name, kind="object", coords=at) for name, at in objects.items()),
                ),
                add_connections=(
                    ("road_1", "road_2"),
                    ("road_2", "grove_1"),
                    ("bench_1", "grove_1"),
                    ("road_1", "lamp_1"),
                ),
                update_robot_location="road_1",
            )
        ]
    )
