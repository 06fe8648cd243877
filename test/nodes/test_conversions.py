"""Graphs and deltas survive the way through messages; what cannot be a graph is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from geometry_msgs.msg import Point
from rclpy.serialization import deserialize_message, serialize_message

from prism_msgs.action import ExecuteSkill
from prism_msgs.msg import Connection, SceneNode
from prism_msgs.msg import SceneGraphDelta as SceneGraphDeltaMsg
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.conversions import (
    InvalidMessageError,
    action_from_msg,
    action_to_msg,
    delta_from_msg,
    delta_to_msg,
    graph_from_msg,
    graph_to_msg,
    node_from_msg,
    pose_to_msg,
    skill_from_goal,
    yaw_of,
)

# What a C string can carry: no NUL, no halves of surrogate pairs.
_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)
_names = st.from_regex(r"[a-z][\w.\-]{0,8}( [\w.\-]{1,8})?", fullmatch=True)
_coords = st.tuples(*[st.floats(-1e6, 1e6)] * 2)
_attributes = st.dictionaries(_texts, _texts, max_size=3)


@st.composite
def _nodes(draw: Any) -> Node:
    return Node(
        name=draw(_names),
        kind=draw(st.sampled_from(["region", "object"])),
        coords=draw(_coords),
        attributes=draw(_attributes),
    )


_edges = st.lists(st.tuples(_names, _names), max_size=4).map(tuple)
_deltas = st.builds(
    GraphDelta,
    add_nodes=st.lists(_nodes(), max_size=4).map(tuple),
    remove_nodes=st.lists(_names, max_size=3).map(tuple),
    add_connections=_edges,
    remove_connections=_edges,
    update_node_attributes=st.dictionaries(_names, _attributes, max_size=3),
    update_robot_location=st.none() | _names,
)


@st.composite
def _graphs(draw: Any) -> SceneGraph:
    nodes = draw(st.lists(_nodes(), max_size=8, unique_by=lambda node: node.name))
    regions = [node.name for node in nodes if node.kind == "region"]
    names = [node.name for node in nodes]
    edges = (
        draw(
            st.lists(
                st.tuples(st.sampled_from(names), st.sampled_from(regions)).filter(lambda e: e[0] != e[1]),
                max_size=6,
            )
        )
        if len(names) > 1 and regions
        else []
    )
    robot = draw(st.none() | st.sampled_from(regions)) if regions else None
    delta = GraphDelta(add_nodes=nodes, add_connections=edges, update_robot_location=robot)
    return SceneGraph.from_deltas([delta], revision=draw(st.integers(0, 2**63)))


def over_the_wire(message: Any) -> Any:
    return deserialize_message(serialize_message(message), type(message))


@settings(deadline=None, max_examples=60)
@given(_deltas)
def test_a_delta_survives_the_wire(delta: GraphDelta) -> None:
    message = over_the_wire(delta_to_msg(delta, revision=7, history_id="h"))
    assert delta_from_msg(message) == delta
    assert (message.base_revision, message.revision, message.history_id) == (6, 7, "h")
    assert message.header.frame_id == "map"


@settings(deadline=None, max_examples=60)
@given(_graphs())
def test_a_graph_survives_the_wire(graph: SceneGraph) -> None:
    again = graph_from_msg(over_the_wire(graph_to_msg(graph)))
    assert again == graph
    assert again.revision == graph.revision
    assert list(again) == list(graph)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (SceneNode(name="a", kind=7), "kind 7"),
        (SceneNode(name="", kind=SceneNode.REGION), "name"),
        (SceneNode(name="a\nb", kind=SceneNode.REGION), "is not a node name"),
        (SceneNode(name="x" * 65, kind=SceneNode.REGION), "64"),
        (SceneNode(name="a", position=Point(x=math.nan)), "finite"),
        (SceneNode(name="a", position=Point(y=math.inf)), "finite"),
    ],
)
def test_an_impossible_node_is_refused_with_its_field(message: SceneNode, said: str) -> None:
    with pytest.raises(InvalidMessageError, match=said):
        node_from_msg(message)


def test_a_connection_to_no_name_is_refused() -> None:
    with pytest.raises(InvalidMessageError, match="add_connections"):
        delta_from_msg(SceneGraphDeltaMsg(add_connections=[Connection(a="a", b="")]))


@pytest.mark.parametrize(
    "action",
    [
        {"action": "goto", "region": "road_1"},
        {"action": "map_region", "region": "road_1"},
        {"action": "explore_region", "region": "road_1", "radius": 12.5},
        {"action": "inspect", "object": "car_1", "query": "is it parked?"},
        {"action": "answer", "message": "yes"},
    ],
)
def test_every_action_keeps_its_fields(action: dict[str, Any]) -> None:
    text = action_from_msg(over_the_wire(action_to_msg(action)))
    assert text.startswith(action["action"] + "(")
    for value in list(action.values())[1:]:
        assert (f"{value:g}" if isinstance(value, float) else value) in text


@pytest.mark.parametrize(
    ("goal", "field"),
    [
        (ExecuteSkill.Goal(skill="dance", target="road_1"), "name"),
        (ExecuteSkill.Goal(skill="explore_region", target="road_1", radius=-1.0), "radius"),
        (ExecuteSkill.Goal(skill="explore_region", target="road_1", radius=math.nan), "radius"),
    ],
)
def test_an_impossible_skill_is_refused_with_its_field(goal: Any, field: str) -> None:
    with pytest.raises(InvalidMessageError, match=field):
        skill_from_goal(goal)


@given(st.floats(-3.1, 3.1))
def test_yaw_survives_the_quaternion(yaw: float) -> None:
    assert yaw_of(pose_to_msg(1.0, 2.0, 3.0, yaw).orientation) == pytest.approx(yaw, abs=1e-9)
