"""A mirror has the server's graph, or knows that it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.graph_client import GraphMirror


def region(number: int) -> GraphDelta:
    return GraphDelta(add_nodes=(Node(name=f"r_{number}", kind="region", coords=(number, 0)),))


@settings(deadline=None)
@given(st.lists(st.sampled_from(["heard", "lost", "answered"]), max_size=30), st.integers(0, 5))
def test_a_mirror_is_right_or_behind(events: list[str], before: int) -> None:
    server = SceneGraph.from_deltas(map(region, range(before)))
    mirror = GraphMirror()
    assert mirror.behind
    for event in events:
        if event == "answered":
            mirror.replace(server.copy(), "h")
            assert not mirror.behind
            continue
        base = server.revision
        delta = region(base)
        server.apply(delta)
        if event == "heard":
            mirror.follow(delta, base_revision=base, revision=base + 1, history_id="h")
            assert mirror.behind or mirror.graph == server
    mirror.replace(server.copy(), "h")
    assert mirror.graph == server
    assert not mirror.behind


def test_an_older_answer_does_not_undo_what_was_heard() -> None:
    server = SceneGraph.from_deltas([region(0)])
    mirror = GraphMirror()
    mirror.replace(server.copy(), "h")
    stale = server.copy()
    server.apply(region(1))
    mirror.follow(region(1), base_revision=1, revision=2, history_id="h")
    mirror.replace(stale, "h")
    assert mirror.graph == server


def test_a_delta_heard_twice_is_harmless() -> None:
    mirror = GraphMirror()
    mirror.replace(SceneGraph(), "h")
    for _ in range(2):
        mirror.follow(region(0), base_revision=0, revision=1, history_id="h")
    assert mirror.graph is not None
    assert mirror.graph.revision == 1
    assert not mirror.behind


def test_a_new_history_replaces_everything_even_at_a_lower_revision() -> None:
    mirror = GraphMirror()
    mirror.replace(SceneGraph.from_deltas(map(region, range(5))), "old")
    mirror.follow(region(9), base_revision=0, revision=1, history_id="new")
    assert mirror.behind
    fresh = SceneGraph.from_deltas([region(9)])
    mirror.replace(fresh, "new")
    assert mirror.graph == fresh
    assert not mirror.behind


def test_a_revision_that_must_exist_makes_it_ask() -> None:
    mirror = GraphMirror()
    mirror.replace(SceneGraph(), "h")
    mirror.expect(3)
    assert mirror.behind
