"""In any world and for any task, the expert ends, with valid plans, and does nothing in vain twice."""

from __future__ import annotations

from pathlib import Path

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.expert import SpineExpert
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.validation import check_plan
from prism_planner.skills.monitor import SafetyLimits, SafetyMonitor
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import SpineScenario

READINGS = yaml.safe_load(Path(__file__).with_name("readings.yaml").read_text(encoding="utf-8"))
TASKS = [sentence for sentence, _ in READINGS["paper"] + READINGS["other"]]
REGIONS = sorted(name for name, c in knowledge().concepts.items() if c.is_region)
OBJECTS = sorted(name for name, c in knowledge().concepts.items() if c.is_object)
MAX_TURNS = 30

FACTS = st.sampled_from(
    [
        {},
        {"occupied": "no"},
        {"occupied": "yes, taken"},
        {"blocking": "yes"},
        {"damaged": "yes, a dent"},
        {"state": "fine"},
        {"dangerous": "yes"},
        {"owner": "a florist"},
    ]
)


@st.composite
def worlds(draw: st.DrawFn) -> SpineScenario:
    spacing = draw(st.sampled_from([6.0, 12.0, 25.0, 60.0]))
    kinds = draw(st.lists(st.sampled_from(REGIONS), min_size=1, max_size=10))
    place = st.tuples(st.integers(0, 5), st.integers(0, 5))
    regions = [
        {
            "name": f"{kind}_{i}".replace(" ", "_").replace("'", ""),
            "at": [spacing * c for c in draw(place)],
            "hidden": i > 0 and draw(st.booleans()),
        }
        for i, kind in enumerate(kinds)
    ]
    names = [str(r["name"]) for r in regions]
    edges = [
        (names[i], names[draw(st.integers(0, i - 1))])
        for i in range(1, len(names))
        if draw(st.integers(0, 9))
    ]
    objects = [
        {
            "name": f"{kind}_x{i}".replace(" ", "_"),
            "category": kind,
            "at": [0.0, float(i)],
            "seen_from": [draw(st.sampled_from(names))],
            "hidden": draw(st.booleans()),
            "attributes": draw(FACTS),
        }
        for i, kind in enumerate(draw(st.lists(st.sampled_from(OBJECTS), max_size=10)))
    ]
    return SpineScenario.model_validate(
        {
            "format": "prism-scenario/1",
            "domain": "spine",
            "name": "random",
            "world": {"robot": names[0], "regions": regions, "objects": objects, "edges": edges},
        }
    )


@st.composite
def limits(draw: st.DrawFn) -> SafetyLimits:
    return SafetyLimits(
        max_explore_radius_m=draw(st.sampled_from([100.0, 15.0])),
        max_path_length_m=draw(st.sampled_from([2000.0, 60.0])),
        allowed_skills=draw(
            st.sampled_from(
                [
                    frozenset({"goto", "map_region", "explore_region", "inspect"}),
                    frozenset({"goto", "map_region", "inspect"}),
                    frozenset({"goto"}),
                ]
            )
        ),
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=worlds(), task=st.sampled_from(TASKS), limit=limits())
def test_every_episode_ends_and_repeats_nothing_in_vain(
    scenario: SpineScenario, task: str, limit: SafetyLimits
) -> None:
    domain = SpineDomain()
    world = SemanticGraphWorld(scenario, monitor=SafetyMonitor(limit))
    expert, twin = SpineExpert(task), SpineExpert(task)
    observation = world.observe()
    in_vain: set[str] = set()
    for _ in range(MAX_TURNS):
        plan = expert.plan(observation)
        assert plan == twin.plan(observation), "not deterministic"
        check_plan(plan, observation.graph)
        assert set(plan.relevant_graph) <= set(observation.graph)
        skill = domain.next_skill(plan)
        if skill is None:
            assert domain.answer(plan)
            return
        assert str(skill) not in in_vain
        result = world.step(skill)
        if not result.ok or not result.observation.delta:
            in_vain.add(str(skill))
        observation = result.observation
    raise AssertionError(f"no answer to {task!r} after {MAX_TURNS} turns")
