"""The safety monitor: what it refuses, what it says, and that nothing gets round it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.skills.keep_out import Circle, Polygon
from prism_planner.skills.monitor import Refusal, SafetyLimits, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode


def _graph(
    at: dict[str, tuple[float, float]],
    edges: list[tuple[str, str]],
    objects: dict[str, list[str]] | None = None,
    robot: str | None = "a",
) -> SceneGraph:
    things = objects or {}
    graph = SceneGraph()
    graph.apply(
        GraphDelta(
            add_nodes=(
                *(Node(name=name, kind="region", coords=coords) for name, coords in at.items()),
                *(Node(name=name, kind="object", coords=(0, 0)) for name in things),
            ),
            add_connections=(*edges, *((thing, view) for thing, views in things.items() for view in views)),
            update_robot_location=robot,
        )
    )
    return graph


# Two ways from a to d: the short one over b, the long one over c.
DIAMOND = _graph(
    {"a": (0, 0), "b": (10, 2), "c": (10, -12), "d": (20, 0), "e": (60, 60)},
    [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d")],
    {"car": ["b", "d"], "kite": []},
)


def _goto(target: str) -> Skill:
    return Skill(name="goto", target=target)


def _explore(target: str, radius: float) -> Skill:
    return Skill(name="explore_region", target=target, radius=radius)


def _refused(limits: SafetyLimits, skill: Skill, graph: SceneGraph = DIAMOND) -> str:
    refusal = SafetyMonitor(limits).check(skill, graph)
    assert refusal is not None
    assert refusal.code == SkillCode.REFUSED_BY_SAFETY
    return refusal.message


def test_without_keep_out_the_shortest_way_is_taken() -> None:
    monitor = SafetyMonitor()
    assert monitor.route(DIAMOND, "a", "d") == ["a", "b", "d"]
    assert monitor.route(DIAMOND, "a", "a") == ["a"]
    assert monitor.check(_goto("d"), DIAMOND) is None


@pytest.mark.parametrize(
    "limits",
    [
        SafetyLimits(keep_out_regions={"b"}),
        SafetyLimits(keep_out_circles=(Circle(center=(5, 1), radius=0.5),)),
        SafetyLimits(keep_out_circles=(Circle(center=(5, 3), radius=0.5),), clearance_m=2),
        SafetyLimits(keep_out_polygons=(Polygon(vertices=((4, 0.5), (6, 0.5), (6, 9), (4, 9))),)),
    ],
)
def test_the_way_leads_around_keep_out_areas(limits: SafetyLimits) -> None:
    assert SafetyMonitor(limits).route(DIAMOND, "a", "d") == ["a", "c", "d"]
    assert SafetyMonitor(limits).check(_goto("d"), DIAMOND) is None


def test_a_target_in_a_keep_out_area_is_refused() -> None:
    assert _refused(SafetyLimits(keep_out_regions={"b"}), _goto("b")) == (
        "cannot go to b: it is in the keep-out area b"
    )


def test_no_way_around_is_refused_but_no_way_at_all_is_unreachable() -> None:
    limits = SafetyLimits(keep_out_regions={"b", "c"})
    assert _refused(limits, _goto("d")) == ("cannot go to d: every known path from a enters a keep-out area")
    unreachable = SafetyMonitor(limits).check(_goto("e"), DIAMOND)
    assert unreachable == Refusal(SkillCode.UNREACHABLE, "cannot reach e: no known path from a")


def test_a_robot_inside_a_keep_out_area_stays() -> None:
    assert _refused(SafetyLimits(keep_out_regions={"a"}), _goto("d")) == (
        "the robot is in the keep-out area a"
    )


def test_an_object_is_looked_at_from_an_allowed_region() -> None:
    inspect = Skill(name="inspect", target="car", query="damage")
    assert SafetyMonitor().route_to_view(DIAMOND, "a", "car") == ["a", "b"]
    monitor = SafetyMonitor(SafetyLimits(keep_out_regions={"b"}))
    assert monitor.route_to_view(DIAMOND, "a", "car") == ["a", "c", "d"]
    assert monitor.check(inspect, DIAMOND) is None
    assert "keep-out" in _refused(SafetyLimits(keep_out_regions={"b", "d"}), inspect)
    unseen = SafetyMonitor().check(Skill(name="inspect", target="kite", query="x"), DIAMOND)
    assert unseen == Refusal(SkillCode.UNREACHABLE, "no known region sees kite; explore near it first")


def test_an_exploration_keeps_out_too_and_says_what_is_allowed() -> None:
    limits = SafetyLimits(keep_out_circles=(Circle(name="pond", center=(20, 10), radius=3),))
    assert _refused(limits, _explore("d", 8)) == (
        "explore_region(d, 8) is refused: it would enter the keep-out area pond; "
        "a radius up to 6.9 m is allowed"
    )
    assert SafetyMonitor(limits).check(_explore("d", 6.9), DIAMOND) is None
    assert "keep-out area c" in _refused(SafetyLimits(keep_out_regions={"c"}), _explore("b", 20))
    tight = SafetyLimits(keep_out_circles=(Circle(center=(20, 0.05), radius=0),))
    assert _refused(tight, _explore("d", 1)).endswith("explore elsewhere")


@pytest.mark.parametrize(
    ("limits", "skill", "says"),
    [
        (
            {"max_explore_radius_m": 15},
            _explore("b", 20),
            "explore_region(b, 20) is refused: the exploration radius must be above 0 and at most 15 m",
        ),
        ({"max_explore_radius_m": 15}, _explore("b", 0), "above 0 and at most 15 m"),
        (
            {"max_path_length_m": 15},
            _goto("d"),
            "the path from a is 20 m long, at most 15 m are allowed; choose a nearer region",
        ),
        (
            {"allowed_skills": {"goto", "inspect"}},
            _explore("b", 5),
            "explore_region is not allowed; allowed skills: goto, inspect",
        ),
        ({"allowed_skills": set()}, _goto("b"), "allowed skills: none"),
    ],
)
def test_limits_are_named_in_the_refusal(limits: dict[str, object], skill: Skill, says: str) -> None:
    assert says in _refused(SafetyLimits.model_validate(limits), skill)


def test_a_radius_that_is_no_number_is_refused() -> None:
    skill = Skill.model_construct(name="explore_region", target="b", radius=math.nan, query="")
    assert "exploration radius" in _refused(SafetyLimits(), skill)


def test_skills_are_counted_per_task() -> None:
    monitor = SafetyMonitor(SafetyLimits(max_skills_per_task=2, keep_out_regions={"c"}))
    assert monitor.check(_goto("c"), DIAMOND) is not None  # refused, so not counted
    assert monitor.check(_goto("b"), DIAMOND) is None
    assert monitor.check(_goto("b"), DIAMOND) is None
    refusal = monitor.check(_goto("b"), DIAMOND)
    assert refusal is not None
    assert refusal.message == (
        "goto(b) is refused: this task has used its 2 skills; answer with what is known"
    )
    monitor.begin_task()
    assert monitor.check(_goto("b"), DIAMOND) is None


def test_what_the_graph_does_not_know_is_not_admitted() -> None:
    unknown = SafetyMonitor().check(_goto("nowhere"), DIAMOND)
    assert unknown == Refusal(SkillCode.UNKNOWN_TARGET, "no node named nowhere")
    lost = _graph({"a": (0, 0)}, [], robot=None)
    assert "not known where the robot is" in _refused(SafetyLimits(), _goto("a"), lost)
    way = SafetyMonitor().route(DIAMOND, "a", "car")
    assert way == Refusal(SkillCode.UNKNOWN_TARGET, "no region named car")


@pytest.mark.parametrize(
    ("skill", "says"),
    [
        (_goto("car"), "goto needs a region; car is none"),
        (_explore("car", 99), "explore_region needs a region; car is none"),
        (Skill(name="inspect", target="b", query="x"), "inspect needs an object; b is none"),
    ],
)
def test_a_target_of_the_wrong_kind_is_not_admitted(skill: Skill, says: str) -> None:
    assert SafetyMonitor().check(skill, DIAMOND) == Refusal(SkillCode.INVALID_ARGUMENT, says)


def test_points_and_movements() -> None:
    monitor = SafetyMonitor(
        SafetyLimits(
            keep_out_circles=(Circle(name="pond", center=(5, 5), radius=1),),
            keep_out_regions={"c"},
            clearance_m=0.5,
        )
    )
    assert monitor.check_point(0, 0) is None
    assert monitor.check_point(5, 6.6) is None
    for refusal in (
        monitor.check_point(5, 5),
        monitor.check_point(5, 6.4),
        monitor.check_segment((0, 5), (10, 5)),
        monitor.check_segment((5, 5), (50, 50)),
    ):
        assert refusal is not None
        assert "keep-out area pond" in refusal.message
    # Where a keep-out region is, only the graph knows.
    assert monitor.check_point(10, -12) is None
    assert monitor.check_point(10, -12, DIAMOND) is not None
    for x in (math.nan, math.inf):
        bad = monitor.check_point(x, 0)
        assert bad is not None
        assert bad.code == SkillCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "bad",
    [
        {"max_explore_radius_m": 0},
        {"max_path_length_m": math.nan},
        {"clearance_m": -1},
        {"max_skills_per_task": 0},
        {"allowed_skills": ["fly"]},
        {"keep_out": []},
    ],
)
def test_limits_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SafetyLimits.model_validate(bad)


@st.composite
def graphs(draw: st.DrawFn) -> SceneGraph:
    names = [f"r{i}" for i in range(draw(st.integers(2, 8)))]
    coordinate = st.integers(-20, 20)
    at = {name: (draw(coordinate), draw(coordinate)) for name in names}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14))
    return _graph(at, edges, {"thing": draw(st.lists(st.sampled_from(names), max_size=3))}, robot="r0")


LIMITS = st.builds(
    SafetyLimits,
    keep_out_regions=st.frozensets(st.sampled_from([f"r{i}" for i in range(8)]), max_size=2),
    keep_out_circles=st.lists(
        st.builds(
            Circle,
            center=st.tuples(st.integers(-20, 20), st.integers(-20, 20)),
            radius=st.integers(0, 6),
        ),
        max_size=2,
    ),
    keep_out_polygons=st.lists(
        st.builds(
            lambda x, y, w, h: Polygon(vertices=((x, y), (x + w, y), (x + w, y + h), (x, y + h))),
            st.integers(-20, 20),
            st.integers(-20, 20),
            st.integers(1, 8),
            st.integers(1, 8),
        ),
        max_size=1,
    ),
    clearance_m=st.sampled_from([0, 0.5]),
)


def _forbidden(limits: SafetyLimits, graph: SceneGraph, x: float, y: float) -> bool:
    """Whether a point is strictly inside a keep-out area, worked out afresh."""
    discs = [(c.center, c.radius) for c in limits.keep_out_circles]
    discs += [
        (graph.node(name).coords, limits.region_radius_m) for name in limits.keep_out_regions if name in graph
    ]
    grown = limits.clearance_m - 1e-6
    if any(math.dist((x, y), centre) < radius + grown for centre, radius in discs):
        return True
    for polygon in limits.keep_out_polygons:
        xs, ys = zip(*polygon.vertices, strict=True)
        outside = (max(min(xs) - x, x - max(xs), 0), max(min(ys) - y, y - max(ys), 0))
        if math.hypot(*outside) < grown:
            return True
    return False


@settings(deadline=None, max_examples=200)
@given(
    graph=graphs(),
    limits=LIMITS,
    plan=st.lists(
        st.tuples(
            st.sampled_from(["goto", "map_region", "explore_region", "inspect"]),
            st.sampled_from([*(f"r{i}" for i in range(8)), "thing"]),
            st.floats(0.1, 30),
        ),
        max_size=8,
    ),
)
def test_no_sequence_of_skills_enters_a_keep_out_area(
    graph: SceneGraph, limits: SafetyLimits, plan: list[tuple[str, str, float]]
) -> None:
    monitor = SafetyMonitor(limits)
    for name, target, radius in plan:
        skill = Skill(name=name, target=target, radius=radius, query="x")
        if monitor.check(skill, graph) is not None:
            continue
        here = graph.robot_location
        assert here is not None
        way = (monitor.route_to_view if name == "inspect" else monitor.route)(graph, here, target)
        assert isinstance(way, list)
        assert way[0] == here
        points = [graph.node(region).coords for region in way]
        for (ax, ay), (bx, by) in pairwise([*points, points[-1]]):
            for k in range(21):
                point = (ax + (bx - ax) * k / 20, ay + (by - ay) * k / 20)
                assert not _forbidden(limits, graph, *point)
        if name == "explore_region":
            cx, cy = points[-1]
            for k in range(24):
                angle = k * math.pi / 12
                for reach in (0.3, 0.7, 1.0):
                    x = cx + reach * radius * math.cos(angle)
                    y = cy + reach * radius * math.sin(angle)
                    assert not _forbidden(limits, graph, x, y)
        graph.apply(GraphDelta(update_robot_location=way[-1]))
