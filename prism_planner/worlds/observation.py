"""What an agent on a scene graph knows, and what it was just told."""

from __future__ import annotations

from dataclasses import dataclass, field

from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.scene_graph import SceneGraph


@dataclass(frozen=True, slots=True)
class GraphObservation:
    """The known part of a scene graph (PRISM paper, appendix C.3).

    graph: all that is known now. delta: what changed since the previous observation (empty at
    first). feedback: sentences about the last skill (done, unreachable, refused, ...).
    """

    graph: SceneGraph
    delta: GraphDelta = field(default_factory=GraphDelta)
    feedback: tuple[str, ...] = ()
