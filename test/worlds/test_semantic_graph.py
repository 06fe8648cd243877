"""The emulated world: what each skill reveals, what it refuses, and that truth never leaks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.skills.keep_out import Circle
from prism_planner.skills.monitor import SafetyLimits, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.envelope import Mask, Scenario
from prism_planner.worlds.observation import GraphObservation
from prism_planner.worlds.semantic_graph import Motion, SemanticGraphWorld
from prism_planner.worlds.spine_scenario import SpineScenario
from prism_planner.worlds.world import StepResult


def _goto(target: str) -> Skill:
    return Skill(name="goto", target=target)


def _map(target: str) -> Skill:
    return Skill(name="map_region", target=target)


def _explore(target: str, radius: float) -> Skill:
    return Skill(name="explore_region", target=target, radius=radius)


def _inspect(target: str, query: str = "its state") -> Skill:
    return Skill(name="inspect", target=target, query=query)


def _said(result: StepResult[GraphObservation]) -> str:
    (sentence,) = result.observation.feedback
    return sentence


@pytest.fixture
def world(campus: SpineScenario) -> SemanticGraphWorld:
    return SemanticGraphWorld(campus)


def test_only_what_is_not_hidden_is_known_at_first(world: SemanticGraphWorld) -> None:
    graph = world.observe().graph
    assert set(graph) == {"road_1", "road_2", "lot_1", "island_1", "car_1", "sign_1"}
    assert graph.robot_location == "road_1"
    assert graph.region_connections == [("road_1", "road_2"), ("road_2", "lot_1")]
    assert graph.node("car_1").attributes == {"description": "a red car"}
    assert graph.node("lot_1").attributes == {"description": "a car park"}


def test_goto_drives_the_shortest_known_path(world: SemanticGraphWorld) -> None:
    result = world.step(_goto("lot_1"))
    assert result.ok
    assert _said(result) == "arrived at lot_1"
    assert world.record.visited == ["road_1", "road_2", "lot_1"]
    assert result.observation.delta.update_robot_location == "lot_1"
    assert _said(world.step(_goto("lot_1"))) == "already at lot_1"


def test_mapping_finds_the_objects_of_one_region(world: SemanticGraphWorld) -> None:
    result = world.step(_map("road_1"))
    assert _said(result) == "mapped road_1: found bin_1"
    assert ("bin_1", "road_1") in result.observation.graph.object_connections
    assert _said(world.step(_map("road_1"))) == "mapped road_1: nothing new"
    assert _said(world.step(_map("road_2"))) == "mapped road_2: surface: gravel"
    assert world.known.node("road_2").attributes == {"surface": "gravel"}
    assert world.record.mapped == ["road_1", "road_1", "road_2"]


def test_exploring_finds_regions_their_edges_and_what_they_see(world: SemanticGraphWorld) -> None:
    near = world.step(_explore("road_2", 5))
    assert _said(near) == "explored road_2 within 5 m: surface: gravel"
    result = world.step(_explore("road_2", 15))
    assert _said(result) == "explored road_2 within 15 m: found grove_1, bench_1, bin_1"
    graph = result.observation.graph
    assert ("road_2", "grove_1") in graph.region_connections
    assert graph.seen_from("bench_1") == ["grove_1"]
    assert graph.node("bench_1").attributes == {"category": "bench"}
    assert world.record.explored == ["road_2", "road_2"]


def test_inspecting_goes_to_the_nearest_view_and_reveals_attributes(world: SemanticGraphWorld) -> None:
    result = world.step(_inspect("car_1"))
    assert _said(result) == "inspected car_1: damaged: no"
    assert world.record.final_location == "road_2"
    assert result.observation.graph.node("car_1").attributes == {"description": "a red car", "damaged": "no"}
    assert _said(world.step(_inspect("sign_1"))) == "inspected sign_1: nothing notable about it"
    assert world.record.inspected == ["car_1", "sign_1"]


@pytest.mark.parametrize(
    ("skill", "code", "says"),
    [
        (_goto("lot_2"), SkillCode.UNKNOWN_TARGET, "no node named lot_2; did you mean lot_1?"),
        (_goto("grove_1"), SkillCode.UNKNOWN_TARGET, "no node named grove_1"),
        (_inspect("bench_1"), SkillCode.UNKNOWN_TARGET, "no node named bench_1"),
        (_goto(""), SkillCode.UNKNOWN_TARGET, "no node named "),
        (_goto("x" * 10_000), SkillCode.UNKNOWN_TARGET, "no node named xxx"),
        (_goto("island_1"), SkillCode.UNREACHABLE, "cannot reach island_1: no known path from road_1"),
        (_goto("car_1"), SkillCode.INVALID_ARGUMENT, "goto needs a region; it is seen from road_2, lot_1"),
        (_map("car_1"), SkillCode.INVALID_ARGUMENT, "map_region needs a region"),
        (_inspect("lot_1"), SkillCode.INVALID_ARGUMENT, "lot_1 is a region; inspect needs an object"),
        (_inspect("car_1", "  "), SkillCode.INVALID_ARGUMENT, "inspect needs a query"),
        (_explore("lot_1", 0), SkillCode.INVALID_ARGUMENT, "the radius must be above 0 and at most 100 m"),
        (_explore("lot_1", 1e9), SkillCode.INVALID_ARGUMENT, "the radius must be above 0 and at most 100 m"),
        (
            Skill.model_construct(name="explore_region", target="lot_1", radius=math.nan, query=""),
            SkillCode.INVALID_ARGUMENT,
            "cannot explore lot_1 within nan m",
        ),
    ],
)
def test_a_skill_that_makes_no_sense_is_a_result(
    world: SemanticGraphWorld, skill: Skill, code: SkillCode, says: str
) -> None:
    before = world.observe().graph
    result = world.step(skill)
    assert result.code == code
    assert says in _said(result)
    assert not result.observation.delta
    assert result.observation.graph == before
    assert world.record.deeds == []


def test_a_suggestion_never_names_what_is_hidden(world: SemanticGraphWorld) -> None:
    assert "grove_1" not in _said(world.step(_goto("grove_2")))


def test_an_object_without_a_known_view_cannot_be_inspected(campus: SpineScenario) -> None:
    car = campus.world.objects[1].model_copy(update={"seen_from": ("grove_1",)})
    changed = campus.world.model_copy(update={"objects": (car,)})
    world = SemanticGraphWorld(campus.model_copy(update={"world": changed}))
    result = world.step(_inspect("car_1"))
    assert result.code == SkillCode.UNREACHABLE
    assert _said(result) == "no known region sees car_1; explore near it first"
    world.step(_explore("road_2", 20))
    assert world.step(_inspect("car_1")).ok


def test_a_refusal_is_fed_back_and_nothing_happens(campus: SpineScenario) -> None:
    limits = SafetyLimits(keep_out_circles=(Circle(name="pond", center=(10, -30), radius=3),))
    world = SemanticGraphWorld(campus, monitor=SafetyMonitor(limits))
    result = world.step(_goto("lot_1"))
    assert result.code == SkillCode.REFUSED_BY_SAFETY
    assert _said(result) == "cannot go to lot_1: it is in the keep-out area pond"
    assert world.record.deeds == []


def test_cancelling_raises_before_anything_happens(world: SemanticGraphWorld) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        world.step(_goto("lot_1"), cancel)
    assert world.record.final_location == "road_1"


def test_a_motion_leads_through_the_route(world: SemanticGraphWorld) -> None:
    motion = world.plan_motion(_map("lot_1"))
    assert isinstance(motion, Motion)
    assert motion.route == ("road_1", "road_2", "lot_1")
    assert motion.polyline == ((0, 0), (10, 0), (10, -30))
    assert world.record.deeds == []


@pytest.mark.parametrize("radius", [0.5, 4, 50])
def test_an_exploration_tour_stays_within_its_radius_and_ends_at_the_region(
    world: SemanticGraphWorld, radius: float
) -> None:
    motion = world.plan_motion(_explore("road_2", radius))
    assert isinstance(motion, Motion)
    tour = motion.polyline[2:]
    assert tour
    assert all(math.dist(point, (10, 0)) <= radius for point in tour)
    assert tour[-1] == (10, 0)


def test_an_interrupted_motion_reveals_nothing(world: SemanticGraphWorld) -> None:
    motion = world.plan_motion(_explore("lot_1", 50))
    assert isinstance(motion, Motion)
    result = world.interrupt(motion, "road_2", SkillCode.STUCK, "stuck near road_2")
    assert (result.code, _said(result)) == (SkillCode.STUCK, "stuck near road_2")
    assert result.observation.graph.robot_location == "road_2"
    assert not result.observation.delta.add_nodes
    assert world.record.visited == ["road_1", "road_2"]
    assert world.record.explored == []


def test_observations_are_snapshots(world: SemanticGraphWorld) -> None:
    first = world.observe()
    world.step(_explore("road_2", 50))
    assert "grove_1" not in first.graph


def test_a_scenario_of_another_domain_is_refused() -> None:
    other = Scenario(format="prism-scenario/1", domain="tabletop", name="blocks", world={})
    with pytest.raises(ValueError, match="blocks is a scenario of the domain tabletop, not of spine"):
        SemanticGraphWorld(other)


NAMES = ["road_1", "road_2", "grove_1", "lot_1", "island_1", "bench_1", "car_1", "sign_1", "bin_1", "nowhere"]
SKILLS = st.one_of(
    st.builds(_goto, st.sampled_from(NAMES)),
    st.builds(_map, st.sampled_from(NAMES)),
    st.builds(_explore, st.sampled_from(NAMES), st.floats(0, 200)),
    st.builds(_inspect, st.sampled_from(NAMES)),
)
MASKS = st.builds(Mask, regions=st.floats(0, 1), objects=st.floats(0, 1))


def _assert_within(graph: SceneGraph, truth: SpineScenario, revealed: set[str], inspected: set[str]) -> None:
    """Everything in `graph` is true and has been revealed."""
    specs = {spec.name: spec for spec in truth.world.nodes}
    edges = {frozenset(edge) for edge in truth.world.edges}
    assert set(graph) == revealed
    assert all(frozenset(edge) in edges for edge in graph.region_connections)
    for thing, region in graph.object_connections:
        assert region in next(o for o in truth.world.objects if o.name == thing).seen_from
    for name in graph:
        allowed = specs[name].visible_attributes
        if name in inspected:
            allowed |= specs[name].hidden_attributes
        assert graph.node(name).attributes.items() <= allowed.items()


@settings(deadline=None, max_examples=60)
@given(skills=st.lists(SKILLS, max_size=12), mask=MASKS, seed=st.integers(0, 50))
def test_the_hidden_truth_never_leaks(skills: list[Skill], mask: Mask, seed: int) -> None:
    campus = _campus()
    world = SemanticGraphWorld(campus, mask=mask, seed=seed)
    first = world.observe().graph
    revealed, folded = set(first), first.copy()
    hidden_names = {spec.name for spec in campus.world.nodes} - revealed
    for skill in skills:
        result = world.step(skill)
        observation = result.observation
        added = {node.name for node in observation.delta.add_nodes}
        assert result.ok or not added
        assert skill.name in ("map_region", "explore_region") or not added
        revealed |= added
        hidden_names -= added
        if observation.delta:
            folded.apply(observation.delta)
        assert folded == observation.graph
        looked_at = {*world.record.inspected, *world.record.mapped}
        _assert_within(observation.graph, campus, revealed, looked_at)
        words = set(_said(result).replace(",", " ").replace(";", " ").replace(":", " ").split())
        assert not words & (hidden_names - {skill.target})


@settings(deadline=None, max_examples=30)
@given(skills=st.lists(SKILLS, max_size=8), mask=MASKS, seed=st.integers(0, 50))
def test_the_same_seed_gives_the_same_episode(skills: list[Skill], mask: Mask, seed: int) -> None:
    def run() -> list[tuple[object, ...]]:
        world = SemanticGraphWorld(_campus(), mask=mask, seed=seed)
        results = [world.step(skill) for skill in skills]
        return [(r.code, r.observation.feedback, r.observation.delta) for r in results]

    assert run() == run()


def _campus() -> SpineScenario:
    import yaml

    from .conftest import CAMPUS

    return SpineScenario.model_validate(yaml.safe_load(CAMPUS))
