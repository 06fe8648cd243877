"""Both text forms of a SPINE plan: lossless, validated, and exactly what the constraints admit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_planner.domains.domain import InvalidPlanError
from prism_planner.domains.spine import source, wire
from prism_planner.domains.spine.actions import (
    Answer,
    ExploreRegion,
    Goto,
    Inspect,
    MapRegion,
    SpinePlan,
)
from prism_planner.domains.spine.validation import check_plan
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph

REGIONS = ["road_1", "grove 1", "ποτάμι_2"]
OBJECTS = ["bench_1", "bench_12"]


@pytest.fixture(scope="module")
def graph() -> SceneGraph:
    graph = SceneGraph()
    graph.apply(
        GraphDelta(
            add_nodes=tuple(
                [Node(name=name, kind="region", coords=(i, 0)) for i, name in enumerate(REGIONS)]
                + [Node(name=name, kind="object", coords=(i, 1)) for i, name in enumerate(OBJECTS)]
            ),
            add_connections=(("road_1", "grove 1"), ("bench_1", "grove 1")),
            update_robot_location="road_1",
        )
    )
    return graph


line = (
    st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30)
    .map(lambda text: f"{text} x")
    .filter(lambda text: text.split() == text.split(" "))
)
regions = st.sampled_from(REGIONS)
moves = st.one_of(
    st.builds(Goto, region=regions),
    st.builds(MapRegion, region=regions),
    st.builds(ExploreRegion, region=regions, radius=st.floats(0.1, 999, allow_nan=False)),
    st.builds(Inspect, object=st.sampled_from(OBJECTS), query=line),
)
plans = st.builds(
    SpinePlan,
    primary_goal=line,
    relevant_graph=st.lists(st.sampled_from(REGIONS + OBJECTS), max_size=4).map(tuple),
    reasoning=line,
    plan=st.one_of(
        st.tuples(moves),
        st.tuples(moves, st.builds(Answer, message=line)),
        st.tuples(st.builds(Answer, message=line)),
    ),
)


@given(plan=plans, earlier=plans)
def test_wire_text_expands_without_loss(plan: SpinePlan, earlier: SpinePlan) -> None:
    for previous in (None, earlier, plan):
        assert wire.decode(wire.encode(plan, previous=previous), previous=previous) == plan


def test_a_repeated_goal_is_not_written_again() -> None:
    plan = SpinePlan(primary_goal="see the car", reasoning="near", plan=(Goto(region="road_1"),))
    assert wire.encode(plan, previous=plan) == "about: -\nwhy: near\ndo: goto road_1\n"


@given(plan=plans)
def test_source_json_is_read_back(plan: SpinePlan) -> None:
    decoded = source.decode(source.encode(plan))
    assert decoded.primary_goal == plan.primary_goal
    assert decoded.relevant_graph == plan.relevant_graph
    assert [type(a) for a in decoded.plan] == [type(a) for a in plan.plan]


def test_source_json_inside_prose_and_fences_is_found() -> None:
    plan = SpinePlan(
        primary_goal="see the car",
        relevant_graph=("car_1",),
        reasoning="car_1 is near",
        plan=(Inspect(object="car_1", query="dents, scratches"), Answer(message="No, it is (mostly) fine.")),
    )
    text = f"Sure! Use {{this}}:\n```json\n{source.encode(plan)}\n```\nGood luck."
    assert source.decode(text) == plan


def test_source_plan_as_one_string_is_split_at_the_calls() -> None:
    text = json.dumps(
        {
            "primary_goal": "g",
            "relevant_graph": "[road_1, bench_1]",
            "reasoning": "r",
            "plan": "[goto(road_1), inspect('bench_1', \"wet, or dry\"), answer(It is wet, sorry.)]",
        }
    )
    plan = source.decode(text)
    assert plan.relevant_graph == ("road_1", "bench_1")
    assert plan.plan == (
        Goto(region="road_1"),
        Inspect(object="bench_1", query="wet, or dry"),
        Answer(message="It is wet, sorry."),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lacks goal: and about: and why: and do:"),
        ("I will go to the car.", "not part of a plan"),
        ("goal: a\nabout: -\nwhy: b\n", "lacks do:"),
        ("goal: a\nabout: -\nwhy: b\ndo: fly road_1\n", "not an action"),
        ("goal: a\nabout: -\nwhy: b\ndo: explore_region road_1: far\n", "malformed"),
        ("goal: a\nabout: -\nwhy: b\ndo: explore_region road_1: nan\n", "malformed"),
        ("goal: a\nabout: -\nwhy: b\ndo: inspect bench_1\n", "malformed"),
        ("goal: a\nabout: -\nwhy: b\nwhy: c\ndo: goto road_1\n", "not part of a plan"),
    ],
)
def test_malformed_wire_text_gets_feedback(text: str, said: str) -> None:
    with pytest.raises(InvalidPlanError, match=said):
        wire.decode(text, previous=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json here", "not JSON"),
        ("{" * 5000, "not JSON"),
        ('{"primary_goal": "g"}', "lacks reasoning and plan"),
        ('{"primary_goal": "g", "reasoning": "r", "plan": ["fly(up)"]}', "not an action"),
        ('{"primary_goal": "g", "reasoning": "r", "plan": [3]}', "not an action"),
        ('{"primary_goal": 3, "reasoning": "r", "plan": ["goto(a)"]}', "primary_goal is malformed"),
        ('{"primary_goal": "g", "reasoning": "r", "plan": {"a": 1}}', "Reply with one JSON object"),
    ],
)
def test_malformed_source_text_gets_feedback(text: str, said: str) -> None:
    with pytest.raises(InvalidPlanError, match=said):
        source.decode(text)


@given(text=st.text())
def test_any_text_is_a_plan_or_feedback(text: str) -> None:
    for decode in (lambda t: wire.decode(t, previous=None), source.decode):
        try:
            assert isinstance(decode(text), SpinePlan)
        except InvalidPlanError as feedback:
            assert str(feedback)


def _plan(*actions: object) -> SpinePlan:
    return SpinePlan(primary_goal="g", reasoning="r", plan=actions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Goto(region="road_2"), "no region named road_2. Did you mean road_1"),
        (
            Goto(region="bench_1"),
            "bench_1 is an object, and goto takes a region. bench_1 is seen from grove 1",
        ),
        (MapRegion(region="bench_12"), "seen from no known region"),
        (Inspect(object="grove 1", query="q"), "grove 1 is a region, and inspect takes an object"),
        (Inspect(object="zebra", query="q"), "Known objects: bench_1, bench_12"),
    ],
)
def test_feedback_names_what_exists_instead(graph: SceneGraph, action: object, said: str) -> None:
    with pytest.raises(InvalidPlanError, match=said):
        check_plan(_plan(action), graph)


def test_nothing_follows_an_answer(graph: SceneGraph) -> None:
    with pytest.raises(InvalidPlanError, match="nothing may follow"):
        check_plan(_plan(Answer(message="Yes."), Goto(region="road_1")), graph)


def test_an_empty_graph_still_admits_answers() -> None:
    assert "answer" in wire.grammar(SceneGraph(), first=True)
    with pytest.raises(InvalidPlanError, match="No region is known yet"):
        check_plan(_plan(Goto(region="a")), SceneGraph())


def test_half_a_character_is_no_text() -> None:
    text = r'{"primary_goal": "go", "relevant_graph": [], "reasoning": "r", "plan": ["answer(\ud800)"]}'
    with pytest.raises(InvalidPlanError):
        source.decode(text)
