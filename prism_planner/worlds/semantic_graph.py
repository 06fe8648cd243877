"""A robot on a partly hidden scene graph, emulated (PRISM paper, section 3.2 and appendix C.3)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass

from prism_planner.cancellation import CancelToken
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.skills.monitor import MAX_EXPLORE_RADIUS_M, Refusal, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.envelope import Mask, Scenario, Task
from prism_planner.worlds.masking import masked_nodes
from prism_planner.worlds.observation import GraphObservation
from prism_planner.worlds.spine_scenario import NodeSpec, SpineScenario, SpineTask
from prism_planner.worlds.success import EpisodeRecord
from prism_planner.worlds.world import StepResult

TOUR_RADIUS_M = 3.0
"""How far out an exploring robot drives around its region; its sensors see the rest."""


@dataclass(frozen=True, slots=True)
class Motion:
    """How the robot must move for a skill.

    route: regions passed, from the current one to the one where the skill is done. polyline: the
    points to drive through, (x, y) in metres in `map`: the centres of the route's regions, then, to
    explore, a tour that ends in the last of them.
    """

    route: tuple[str, ...]
    polyline: tuple[tuple[float, float], ...]


class SemanticGraphWorld:
    """One episode in a spine scenario: an `Environment[GraphObservation]`.

    A skill is planned (`plan_motion`), driven by whoever drives, and ended with `complete`, or with
    `interrupt` when the robot stopped on the way. `step` does all that at once, without time. The
    known graph and the observations only ever hold what was visible or has been revealed.
    Deterministic for the same scenario, mask and seed. Not safe for use by several threads.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        task: Task | None = None,
        mask: Mask | None = None,
        seed: int = 0,
        monitor: SafetyMonitor | None = None,
    ) -> None:
        """task: the scenario's task that the episode is about, since it may start elsewhere.
        mask: extra random hiding, drawn with `seed`; None takes the scenario's own.
        monitor: judges every skill; None means the default limits. Raises ValueError for a scenario
        of another domain."""
        if not isinstance(scenario, SpineScenario):
            raise ValueError(f"{scenario.name} is a scenario of the domain {scenario.domain}, not of spine")
        world = scenario.world
        if isinstance(task, SpineTask) and task.start is not None:
            world = world.model_copy(update={"robot": task.start})
        self._regions = {region.name: region for region in world.regions}
        self._objects = {thing.name: thing for thing in world.objects}
        self._edges = world.edges
        self._monitor = monitor or SafetyMonitor()
        self._monitor.begin_task()

        hidden = masked_nodes(
            world,
            mask if mask is not None else scenario.mask,
            random.Random(seed),
            radius=self._monitor.limits.max_explore_radius_m,
        )
        self.known = SceneGraph()
        start = [n for n in world.nodes if not n.hidden and n.name not in hidden]
        self.known.apply(self._reveal(start, robot=world.robot))
        self.record = EpisodeRecord(
            start=world.robot,
            categories={n.name: _node(n).category for n in world.nodes},
        )

    def observe(self) -> GraphObservation:
        """What is known now, without a change."""
        return GraphObservation(self.known.copy())

    def step(self, skill: Skill, cancel: CancelToken | None = None) -> StepResult[GraphObservation]:
        """Execute one skill to its end. Raises Cancelled, before anything happened, when `cancel` is set."""
        if cancel is not None:
            cancel.raise_if_cancelled()
        motion = self.plan_motion(skill)
        return motion if isinstance(motion, StepResult) else self.complete(skill, motion)

    def plan_motion(self, skill: Skill) -> Motion | StepResult[GraphObservation]:
        """Where the robot must go for a skill; or the result when it cannot or may not be done.

        The monitor counts the skill as executed when a Motion is returned.
        """
        problem = self._invalid(skill)
        if problem is not None:
            return self._failed(*problem)
        start = self._location
        if (refusal := self._monitor.check(skill, self.known)) is not None:
            return self._failed(refusal.code, refusal.message)
        if skill.name == "inspect":
            way = self._monitor.route_to_view(self.known, start, skill.target)
        else:
            way = self._monitor.route(self.known, start, skill.target)
        if isinstance(way, Refusal):
            return self._failed(way.code, way.message)
        points = [self.known.node(name).coords for name in way]
        if skill.name == "explore_region":
            points += _tour(points[-1], skill.radius)
        return Motion(tuple(way), tuple(points))

    def complete(self, skill: Skill, motion: Motion) -> StepResult[GraphObservation]:
        """The robot has driven `motion`: what the skill reveals."""
        moved = len(motion.route) > 1
        self._pass(motion.route)
        here = motion.route[-1]
        if skill.name == "goto":
            return self._done(GraphDelta(), here, f"{'arrived at' if moved else 'already at'} {here}")
        if skill.name == "inspect":
            return self._inspect(skill.target, here)
        if skill.name == "map_region":
            self.record.add("mapped", here)
            nodes = self._visible_from([here])
            facts = self._region_facts(here)
            said = f"mapped {here}: {_found(nodes, facts)}"
            return self._done(self._reveal(nodes, facts={here: facts} if facts else None), here, said)
        self.record.add("explored", here)
        centre = self._regions[here].at
        near = [r for r in self._regions.values() if math.dist(centre, r.at) <= skill.radius]
        regions = [r for r in near if r.name not in self.known]
        nodes = [*regions, *self._visible_from(r.name for r in near)]
        facts = self._region_facts(here)
        said = f"explored {here} within {skill.radius:g} m: {_found(nodes, facts)}"
        return self._done(self._reveal(nodes, facts={here: facts} if facts else None), here, said)

    def interrupt(
        self, motion: Motion, reached: str, code: SkillCode, feedback: str
    ) -> StepResult[GraphObservation]:
        """The robot stopped in `reached`, a region of the motion's route: nothing is revealed."""
        passed = motion.route[: motion.route.index(reached) + 1]
        if len(passed) > 1:
            self._pass(passed)
        return self._done(GraphDelta(), reached, feedback, code)

    @property
    def _location(self) -> str:
        return self.record.final_location

    def _invalid(self, skill: Skill) -> tuple[SkillCode, str] | None:
        """What is wrong with a skill's target and arguments, whatever the limits."""
        target = skill.target
        if target not in self.known:
            close = self.known.suggest(target, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            return SkillCode.UNKNOWN_TARGET, f"no node named {target[:64]}{hint}"
        kind = self.known.node(target).kind
        if skill.name == "inspect" and kind == "region":
            return (
                SkillCode.INVALID_ARGUMENT,
                f"{target} is a region; inspect needs an object, map_region a region",
            )
        if skill.name != "inspect" and kind == "object":
            views = self.known.seen_from(target)
            hint = f"; it is seen from {', '.join(views)}" if views else ""
            return SkillCode.INVALID_ARGUMENT, f"{target} is an object; {skill.name} needs a region{hint}"
        if skill.name == "inspect" and not skill.query.strip():
            return SkillCode.INVALID_ARGUMENT, "inspect needs a query that says what to look for"
        if skill.name == "explore_region" and not 0 < skill.radius <= MAX_EXPLORE_RADIUS_M:
            return (
                SkillCode.INVALID_ARGUMENT,
                f"cannot explore {target} within {skill.radius:g} m: the radius must be above 0 and at most "
                f"{MAX_EXPLORE_RADIUS_M:g} m",
            )
        return None

    def _inspect(self, name: str, here: str) -> StepResult[GraphObservation]:
        self.record.add("inspected", name)
        facts = self._objects[name].hidden_attributes
        if not facts:
            return self._done(GraphDelta(), here, f"inspected {name}: nothing notable about it")
        said = "; ".join(f"{key}: {value}" for key, value in facts.items())
        delta = GraphDelta(update_node_attributes={name: facts})
        return self._done(delta, here, f"inspected {name}: {said}")

    def _visible_from(self, regions: Iterable[str]) -> list[NodeSpec]:
        """The objects not yet known that are seen from any of `regions`."""
        here = set(regions)
        return [o for o in self._objects.values() if o.name not in self.known and here & set(o.seen_from)]

    def _region_facts(self, region: str) -> dict[str, str]:
        """What a closer look at a region adds to what is known about it."""
        known = self.known.node(region).attributes
        facts = self._regions[region].hidden_attributes
        return {key: value for key, value in facts.items() if known.get(key) != value}

    def _reveal(
        self,
        nodes: Iterable[NodeSpec],
        *,
        facts: dict[str, dict[str, str]] | None = None,
        robot: str | None = None,
    ) -> GraphDelta:
        """The delta that makes `nodes` known, with all connections whose both ends are then known."""
        added = {node.name: node for node in nodes}
        known = {*self.known, *added}
        edges = [(a, b) for a, b in self._edges if {a, b} <= known and (a in added or b in added)] + [
            (o.name, region)
            for o in self._objects.values()
            if o.name in known
            for region in o.seen_from
            if region in known and (o.name in added or region in added)
        ]
        return GraphDelta(
            add_nodes=tuple(_node(node) for node in added.values()),
            add_connections=tuple(edges),
            update_node_attributes=facts or {},
            update_robot_location=robot,
        )

    def _pass(self, route: tuple[str, ...]) -> None:
        for name in route[1:] or route:
            self.record.add("visited", name)

    def _done(
        self, delta: GraphDelta, here: str, feedback: str, code: SkillCode = SkillCode.SUCCEEDED
    ) -> StepResult[GraphObservation]:
        if here != self.known.robot_location:
            delta = delta.model_copy(update={"update_robot_location": here})
        if delta:
            self.known.apply(delta)
        return StepResult(GraphObservation(self.known.copy(), delta, (feedback,)), code)

    def _failed(self, code: SkillCode, feedback: str) -> StepResult[GraphObservation]:
        return StepResult(GraphObservation(self.known.copy(), feedback=(feedback,)), code)


def _node(spec: NodeSpec) -> Node:
    """What is known of a node at first sight."""
    return Node(name=spec.name, kind=spec.kind, coords=spec.at, attributes=spec.visible_attributes)


def _found(nodes: Iterable[NodeSpec], facts: dict[str, str]) -> str:
    """`found grove_1, bench_1; surface: gravel`, or `nothing new`."""
    names = ", ".join(node.name for node in nodes)
    parts = [f"found {names}"] if names else []
    parts += [f"{key}: {value}" for key, value in facts.items()]
    return "; ".join(parts) or "nothing new"


def _tour(centre: tuple[float, float], radius: float) -> list[tuple[float, float]]:
    """A loop around the centre, well inside the radius, back to the centre."""
    reach = min(radius / 2, TOUR_RADIUS_M)
    corners = [k * math.pi / 4 for k in range(9)]
    loop = [(centre[0] + reach * math.cos(a), centre[1] + reach * math.sin(a)) for a in corners]
    return [*loop, centre]
