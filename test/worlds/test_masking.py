"""Masked worlds stay usable, and all that was hidden can be found again."""

from __future__ import annotations

import random

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.skills.skill import Skill
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.masking import masked_nodes
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import (
    ObjectSpec,
    RegionSpec,
    SpineScenario,
    SpineWorld,
    discoverable,
)


@st.composite
def worlds(draw: st.DrawFn) -> SpineWorld:
    """Random worlds, some with hidden, far or unreachable parts."""
    count = draw(st.integers(1, 9))
    coordinate = st.integers(-150, 150)
    regions = [
        RegionSpec(
            name=f"r_{i}", at=(draw(coordinate), draw(coordinate)), hidden=i > 0 and draw(st.booleans())
        )
        for i in range(count)
    ]
    names = [region.name for region in regions]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12)) if pairs else []
    objects = [
        ObjectSpec(name=f"o_{i}", at=(0, 0), seen_from=draw(st.sets(st.sampled_from(names), max_size=2)))
        for i in range(draw(st.integers(0, 6)))
    ]
    return SpineWorld(robot="r_0", regions=regions, objects=objects, edges=edges)


MASKS = st.builds(Mask, regions=st.floats(0, 1), objects=st.floats(0, 1))


def _hidden(world: SpineWorld) -> set[str]:
    return {spec.name for spec in world.nodes if spec.hidden}


def _reachable(world: SpineWorld, hidden: set[str]) -> set[str]:
    paths = nx.Graph([edge for edge in world.edges if not set(edge) & hidden])
    paths.add_node(world.robot)
    return set(nx.node_connected_component(paths, world.robot))


@settings(deadline=None, max_examples=200)
@given(world=worlds(), mask=MASKS, seed=st.integers(0, 1000))
def test_a_masked_world_can_be_recovered(world: SpineWorld, mask: Mask, seed: int) -> None:
    hidden = _hidden(world)
    masked = masked_nodes(world, mask, random.Random(seed))
    assert world.robot not in masked
    assert not masked & hidden
    # What remains known of the reachable part is still reachable.
    assert _reachable(world, hidden) - masked == _reachable(world, hidden | masked)
    regions = {region.name for region in world.regions}
    objects = {thing.name for thing in world.objects}

    def found(unknown: set[str]) -> tuple[set[str], set[str]]:
        return discoverable(world, hidden_regions=unknown & regions, hidden_objects=unknown & objects)

    assert found(hidden | masked) == found(hidden)


@settings(deadline=None, max_examples=50)
@given(world=worlds(), mask=MASKS, seed=st.integers(0, 1000))
def test_exploring_everywhere_finds_what_is_said_to_be_discoverable(
    world: SpineWorld, mask: Mask, seed: int
) -> None:
    scenario = SpineScenario(format="prism-scenario/1", domain="spine", name="random", world=world)
    episode = SemanticGraphWorld(scenario, mask=mask, seed=seed)
    explored: set[str] = set()
    while todo := sorted(episode.known.reachable(world.robot) - explored):
        assert episode.step(Skill(name="explore_region", target=todo[0], radius=100)).ok
        explored.add(todo[0])
    hidden = _hidden(world)
    regions, objects = discoverable(world, hidden_regions=hidden, hidden_objects=hidden)
    assert explored == regions
    assert set(episode.known.objects) == objects


def test_the_asked_fraction_is_hidden(campus: SpineScenario) -> None:
    # Four regions and two objects are known; road_1 holds the robot, island_1 cannot be reached.
    for seed in range(5):
        masked = masked_nodes(campus.world, Mask(regions=0.25, objects=0.5), random.Random(seed))
        assert masked == {"lot_1", "car_1"} or masked == {"lot_1", "sign_1"}
    assert masked_nodes(campus.world, Mask(), random.Random(0)) == set()


def test_objects_seen_only_from_masked_regions_are_masked_with_them(campus: SpineScenario) -> None:
    masked = masked_nodes(campus.world, Mask(regions=0.5), random.Random(0))
    assert masked == {"road_2", "lot_1", "car_1"}


def test_a_robot_that_sees_less_far_gets_a_world_it_can_recover(campus: SpineScenario) -> None:
    # lot_1 is 30 m from the nearest other region.
    for seed in range(10):
        mask = Mask(regions=1.0)
        assert "lot_1" in masked_nodes(campus.world, mask, random.Random(seed), radius=31)
        assert "lot_1" not in masked_nodes(campus.world, mask, random.Random(seed), radius=29)


def test_the_seed_decides_what_is_hidden(campus: SpineScenario) -> None:
    mask = Mask(objects=0.5)
    drawn = {frozenset(masked_nodes(campus.world, mask, random.Random(seed))) for seed in range(20)}
    assert drawn == {frozenset({"car_1"}), frozenset({"sign_1"})}
