"""Markers keep their identity, so RViz does not flicker."""

from __future__ import annotations

import pytest

pytest.importorskip("visualization_msgs", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.markers import GraphMarkers, plan_markers


def labels(array: object) -> dict[str, int]:
    return {m.text: m.id for m in array.markers if m.ns == "labels" and m.action == Marker.ADD}


def test_labels_keep_their_ids_and_removed_ones_are_deleted() -> None:
    graph = SceneGraph.from_deltas(
        [
            GraphDelta(
                add_nodes=tuple(Node(name=f"r_{i}", kind="region", coords=(i, 0)) for i in range(3)),
                add_connections=(("r_0", "r_1"), ("r_1", "r_2")),
                update_robot_location="r_0",
            )
        ]
    )
    drawing = GraphMarkers()
    first = drawing.draw(graph, Time())
    graph.apply(GraphDelta(remove_nodes=("r_1",), add_nodes=(Node(name="o", kind="object", coords=(0, 1)),)))
    second = drawing.draw(graph, Time())
    before, after = labels(first), labels(second)
    assert after["r_0"] == before["r_0"]
    assert after["o"] not in before.values()
    deleted = [m.id for m in second.markers if m.ns == "labels" and m.action == Marker.DELETE]
    assert deleted == [before["r_1"]]
    paths = next(m for m in second.markers if m.ns == "paths")
    assert paths.action == Marker.DELETE
    assert all(m.action != Marker.DELETEALL for m in second.markers)


def test_one_marker_for_all_nodes_of_a_kind() -> None:
    nodes = tuple(Node(name=f"r_{i}", kind="region", coords=(i, 0)) for i in range(100))
    array = GraphMarkers().draw(SceneGraph.from_deltas([GraphDelta(add_nodes=nodes)]), Time())
    (regions,) = [m for m in array.markers if m.ns == "regions"]
    assert regions.type == Marker.SPHERE_LIST
    assert len(regions.points) == 100
    keys = [(m.ns, m.id) for m in array.markers]
    assert len(keys) == len(set(keys))


def test_a_plan_replaces_the_one_before() -> None:
    array = plan_markers([(0.0, 0.0), (1.0, 0.0)], ["", "1 goto"], Time())
    assert array.markers[0].action == Marker.DELETEALL
    assert [m.text for m in array.markers if m.ns == "plan_steps"] == ["", "1 goto"]
