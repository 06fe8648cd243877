"""The identity of a history: kept while no revision can stand for two states, new otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.journal import JournalCorruptedError
from prism_planner.nodes.graph_store import GraphStore


def grow(directory: Path | None, count: int, **options: Any) -> str:
    """Add regions; the store's history."""
    store = GraphStore(directory, **options)
    for _ in range(count):
        name = f"r_{store.graph.revision}"
        store.apply(GraphDelta(add_nodes=(Node(name=name, kind="region", coords=(0, 0)),)))
    store.close()
    return store.history_id


def test_a_journal_keeps_its_history_from_one_start_to_the_next(tmp_path: Path) -> None:
    history = grow(tmp_path, 3)
    assert grow(tmp_path, 3) == grow(tmp_path, 0) == history


def test_a_graph_in_memory_has_a_history_of_its_own() -> None:
    assert grow(None, 1) != grow(None, 1)


def test_a_salvaged_journal_has_a_new_history_that_stays(tmp_path: Path) -> None:
    history = grow(tmp_path, 6)
    (log,) = tmp_path.glob("log-*.journal")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    with pytest.raises(JournalCorruptedError):
        GraphStore(tmp_path)
    salvaged = grow(tmp_path, 6, salvage=True)
    assert salvaged != history
    assert grow(tmp_path, 0, salvage=True) == grow(tmp_path, 0) == salvaged


def test_what_a_power_failure_may_have_taken_makes_a_new_history(tmp_path: Path) -> None:
    history = grow(tmp_path, 3, sync="os")
    assert grow(tmp_path, 0, sync="os") != history
