"""What an episode's trace tells, and the true world beside it: the data of a picture."""

from __future__ import annotations

from dataclasses import dataclass, field

from prism_planner.domains.trace import PlanTrace
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.worlds.spine_scenario import SpineWorld


@dataclass(frozen=True)
class EpisodeStory:
    """start, known: the graph known at the start and at the end. path: the regions that the robot
    passed, one by one. inspected: objects. answer: the message to the user, or why there is none."""

    task: str
    answer: str
    start: SceneGraph
    known: SceneGraph
    path: list[str] = field(default_factory=list)
    inspected: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, trace: PlanTrace) -> EpisodeStory:
        """Retell a trace of the domain spine. Between two places the robot takes the shortest known path."""
        known, start = SceneGraph(), SceneGraph()
        path: list[str] = []
        for number, turn in enumerate(trace.turns):
            before = known.robot_location
            known.apply(GraphDelta.model_validate(turn.observation))
            here = known.robot_location
            if number == 0:
                start = known.copy()
            if here is None or here == before:
                continue
            if before is None:
                path.append(here)
            else:
                path += (known.shortest_path(before, here) or [before, here])[1:]
        inspected = [
            turn.skill.removeprefix("inspect(").partition(",")[0]
            for turn in trace.turns
            if turn.skill and turn.skill.startswith("inspect(") and turn.code == 0
        ]
        return cls(trace.header.task, _ending(trace), start, known, path, list(dict.fromkeys(inspected)))


def true_graph(world: SpineWorld) -> SceneGraph:
    """A scenario's whole world, hidden parts included."""
    graph = SceneGraph()
    graph.apply(
        GraphDelta(
            add_nodes=tuple(Node(name=node.name, kind=node.kind, coords=node.at) for node in world.nodes),
            add_connections=(
                *world.edges,
                *((thing.name, region) for thing in world.objects for region in thing.seen_from),
            ),
            update_robot_location=world.robot,
        )
    )
    return graph


def _ending(trace: PlanTrace) -> str:
    outcome = trace.outcome
    if outcome is None:
        return "No answer: the run was cut off."
    if outcome.status == "succeeded":
        return outcome.answer
    return f"No answer ({outcome.reason or outcome.status}): {outcome.detail}"
