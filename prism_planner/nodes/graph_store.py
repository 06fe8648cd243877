"""The scene graph with its journal: a change counts once it is on disk. Knows nothing of ROS."""

from __future__ import annotations

import uuid
from pathlib import Path

from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.journal import Journal, JournalCorruptedError, SyncPolicy
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.graph.spine_json import load_file
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import SemanticGraphWorld

_HISTORY_FILE = "history"


class GraphStore:
    """Owns the graph of a robot and every change of it.

    history_id: identity of the journal; revisions of different histories do not compare.
    """

    def __init__(self, directory: Path | None, *, sync: SyncPolicy = "each", salvage: bool = False) -> None:
        """directory: of the journal; None keeps the graph in memory. Raises JournalError."""
        self._journal: Journal | None = None
        self.graph = SceneGraph()
        self.history_id = uuid.uuid4().hex
        if directory is not None:
            self._journal = _open(directory, sync, salvage)
            self.graph = self._journal.recover()
            # With "os" a power failure may have taken revisions that others have seen.
            self.history_id = _history_id(directory, new=self.graph.revision == 0 or sync == "os")

    def apply(self, delta: GraphDelta) -> int:
        """The revision after the delta is applied and stored.

        Raises GraphError for a delta that does not fit, and JournalError when it cannot be stored;
        then nothing has changed.
        """
        self.graph.check(delta)
        if self._journal is not None:
            self._journal.append(delta, self.graph.revision + 1)
        return self.graph.apply(delta)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()


def read_graph(path: Path) -> SceneGraph:
    """A graph from SPINE's JSON, or what is known at the start of a scenario (YAML).

    Raises ValueError, which names the file, the field and the fix.
    """
    if path.suffix in (".yaml", ".yml"):
        return SemanticGraphWorld(load_scenario(path)).known
    return load_file(path)


def _open(directory: Path, sync: SyncPolicy, salvage: bool) -> Journal:
    try:
        return Journal(directory, sync=sync)
    except JournalCorruptedError:
        if not salvage:
            raise
    # What is lost will be numbered again. Removed first, so that no crash can leave the old identity.
    (directory / _HISTORY_FILE).unlink(missing_ok=True)
    return Journal(directory, sync=sync, salvage=True)


def _history_id(directory: Path, *, new: bool) -> str:
    path = directory / _HISTORY_FILE
    if not new and path.exists():
        known = path.read_text(encoding="utf-8").strip()
        if known:
            return known
    history_id = uuid.uuid4().hex
    path.write_text(history_id + "\n", encoding="utf-8")
    return history_id
