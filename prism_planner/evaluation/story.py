"""What an episode's trace tells, and the true world beside it: the data of a picture."""

from __future__ import annotations

from dataclasses import dataclass, field

from prism_planner.domains.trace import PlanTrace, TraceTurn
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.worlds.spine_scenario import SpineWorld
from prism_planner.worlds.success import Deed, EpisodeRecord


@dataclass(frozen=True)
class EpisodeStory:
    """start, known: the graph known at the start and at the end. deeds: what the robot did, in order,
    `visited` for every region it passed. answer: the message to the user, or why there is none."""

    task: str
    answer: str
    start: SceneGraph
    known: SceneGraph
    deeds: list[tuple[Deed, str]] = field(default_factory=list)
    finished: bool = False

    @classmethod
    def of(cls, trace: PlanTrace) -> EpisodeStory:
        """Retell a trace of the domain spine. Between two places the robot takes the shortest known path."""
        known, start = SceneGraph(), SceneGraph()
        deeds: list[tuple[Deed, str]] = []
        done: tuple[Deed, str] | None = None  # by the turn before, whose effect this turn observes
        for number, turn in enumerate(trace.turns):
            before = known.robot_location
            route = known.copy()
            known.apply(GraphDelta.model_validate(turn.observation))
            here = known.robot_location
            if number == 0:
                start = known.copy()
            elif here is not None and here != before:
                leg = route.shortest_path(before, here) if before is not None and here in route else None
                deeds += [("visited", name) for name in (leg or [here])[1 if leg else 0 :]]
            if done is not None:
                deeds.append(done)
            done = _deed(turn)
        outcome = trace.outcome
        finished = outcome is not None and outcome.status == "succeeded"
        return cls(trace.header.task, _ending(trace), start, known, deeds, finished)

    @property
    def path(self) -> list[str]:
        """The regions the robot was in, one by one."""
        robot = self.start.robot_location
        return ([robot] if robot is not None else []) + [
            name for deed, name in self.deeds if deed == "visited"
        ]

    @property
    def inspected(self) -> list[str]:
        return list(dict.fromkeys(name for deed, name in self.deeds if deed == "inspected"))

    def record(self, world: SpineWorld) -> EpisodeRecord:
        """The episode as the success criteria of a scenario judge it."""
        truth = true_graph(world)
        return EpisodeRecord(
            start=self.start.robot_location or world.robot,
            deeds=list(self.deeds),
            answer=self.answer if self.finished else "",
            finished=self.finished,
            categories={name: truth.node(name).category for name in truth},
        )


def _deed(turn: TraceTurn) -> tuple[Deed, str] | None:
    """What a turn's skill did, where it succeeded and did more than go."""
    if turn.skill is None or turn.code != 0:
        return None
    verb, _, rest = turn.skill.partition("(")
    deeds: dict[str, Deed] = {"map_region": "mapped", "explore_region": "explored", "inspect": "inspected"}
    if verb not in deeds:
        return None
    return deeds[verb], rest.partition(",")[0].removesuffix(")")


def true_graph(world: SpineWorld) -> SceneGraph:
    """A scenario's whole world, hidden parts included."""
    graph = SceneGraph()
    graph.apply(
        GraphDelta(
            add_nodes=tuple(
                Node(
                    name=node.name,
                    kind=node.kind,
                    coords=node.at,
                    attributes=node.visible_attributes | node.hidden_attributes,
                )
                for node in world.nodes
            ),
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
