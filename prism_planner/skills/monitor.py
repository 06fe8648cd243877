"""The safety monitor: what stands between a plan and the robot (design: no model output gets round it)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
from pydantic import BaseModel, ConfigDict, Field

from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.skills.keep_out import Circle, Polygon, Zone
from prism_planner.skills.skill import Skill, SkillCode, SkillName

MAX_EXPLORE_RADIUS_M = 100.0
"""The widest exploration that any robot is asked for, in metres."""


class SafetyLimits(BaseModel):
    """What the robot may not do. Lengths are metres in the `map` frame.

    keep_out_regions: regions that may not be entered; each is a circle of `region_radius_m` around
    the region's centre. keep_out_circles, keep_out_polygons: areas, whatever the graph says.
    clearance_m: distance to keep from all of them, at least the robot's own radius.
    max_explore_radius_m, max_path_length_m: for one skill. max_skills_per_task: skills admitted
    between two calls of `begin_task`. allowed_skills: any other is refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    keep_out_regions: frozenset[str] = frozenset()
    keep_out_circles: tuple[Circle, ...] = ()
    keep_out_polygons: tuple[Polygon, ...] = ()
    region_radius_m: float = Field(default=1.0, ge=0)
    clearance_m: float = Field(default=0.0, ge=0)
    max_explore_radius_m: float = Field(default=MAX_EXPLORE_RADIUS_M, gt=0)
    max_path_length_m: float = Field(default=2000.0, gt=0)
    max_skills_per_task: int = Field(default=100, ge=1)
    allowed_skills: frozenset[SkillName] = frozenset(("goto", "map_region", "explore_region", "inspect"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """code: why, for machines. message: what is refused, the limit, and what would be allowed."""

    code: SkillCode
    message: str


class SafetyMonitor:
    """Judges every skill before it is executed. Knows nothing of ROS and keeps no state but the count
    of skills admitted in the current task."""

    def __init__(self, limits: SafetyLimits | None = None) -> None:
        self.limits = limits or SafetyLimits()
        self._admitted = 0

    def begin_task(self) -> None:
        """A new task: its skills are counted from zero."""
        self._admitted = 0

    def check(self, skill: Skill, graph: SceneGraph) -> Refusal | None:
        """Admit a skill that is about to be executed, and count it; or say why it is refused."""
        limits = self.limits
        if skill.name not in limits.allowed_skills:
            return _refuse(f"{skill.name} is not allowed; allowed skills: {_listed(limits.allowed_skills)}")
        if self._admitted >= limits.max_skills_per_task:
            return _refuse(
                f"{skill} is refused: this task has used its {limits.max_skills_per_task} skills; "
                "answer with what is known"
            )
        refusal = self._check_target(skill, graph)
        if refusal is None:
            self._admitted += 1
        return refusal

    def route(self, graph: SceneGraph, start: str, goal: str) -> list[str] | Refusal:
        """The shortest way from region `start` to region `goal`, both included, that enters no keep-out
        area and keeps to the path length limit; or why there is none."""
        for name in (start, goal):
            if name not in graph or graph.node(name).kind != "region":
                return Refusal(SkillCode.UNKNOWN_TARGET, f"no region named {name}")
        for name, what in ((start, "the robot is in"), (goal, f"cannot go to {goal}: it is in")):
            zone = self._zone_at(graph, *graph.node(name).coords)
            if zone is not None:
                return _refuse(f"{what} the keep-out area {zone.label}")
        path = self._shortest(graph, start, goal)
        if path is None:
            if graph.shortest_path(start, goal) is None:
                return Refusal(SkillCode.UNREACHABLE, f"cannot reach {goal}: no known path from {start}")
            return _refuse(f"cannot go to {goal}: every known path from {start} enters a keep-out area")
        length = graph.path_length(path)
        if length > self.limits.max_path_length_m:
            return _refuse(
                f"cannot go to {goal}: the path from {start} is {length:.0f} m long, "
                f"at most {self.limits.max_path_length_m:g} m are allowed; choose a nearer region"
            )
        return path

    def check_point(self, x: float, y: float, graph: SceneGraph | None = None) -> Refusal | None:
        """Whether the robot may be at (x, y). `graph` tells where the keep-out regions are."""
        return self.check_segment((x, y), (x, y), graph)

    def check_segment(
        self, start: tuple[float, float], end: tuple[float, float], graph: SceneGraph | None = None
    ) -> Refusal | None:
        """Whether the robot may move straight from `start` to `end`."""
        if not all(map(math.isfinite, (*start, *end))):
            return Refusal(SkillCode.INVALID_ARGUMENT, f"not a position in metres: {start} to {end}")
        zone = self._crossed(self._zones(graph), start, end)
        if zone is None:
            return None
        return _refuse(
            f"({end[0]:.1f}, {end[1]:.1f}) is refused: on the way is the keep-out area {zone.label}"
        )

    def _check_target(self, skill: Skill, graph: SceneGraph) -> Refusal | None:
        if skill.target not in graph:
            return Refusal(SkillCode.UNKNOWN_TARGET, f"no node named {skill.target}")
        wanted = "object" if skill.name == "inspect" else "region"
        if graph.node(skill.target).kind != wanted:
            message = (
                f"{skill.name} needs {'an' if wanted == 'object' else 'a'} {wanted}; {skill.target} is none"
            )
            return Refusal(SkillCode.INVALID_ARGUMENT, message)
        start = graph.robot_location
        if start is None:
            return _refuse(f"{skill} is refused: it is not known where the robot is")
        if skill.name == "inspect":
            way = self.route_to_view(graph, start, skill.target)
            return way if isinstance(way, Refusal) else None
        way = self.route(graph, start, skill.target)
        if isinstance(way, Refusal):
            return way
        return self._check_radius(skill, graph) if skill.name == "explore_region" else None

    def route_to_view(self, graph: SceneGraph, start: str, target: str) -> list[str] | Refusal:
        """The shortest allowed way from `start` to a region from which the object `target` is seen."""
        views = graph.seen_from(target)
        if not views:
            return Refusal(SkillCode.UNREACHABLE, f"no known region sees {target}; explore near it first")
        ways = [self.route(graph, start, view) for view in views]
        paths = [way for way in ways if not isinstance(way, Refusal)]
        if paths:
            return min(paths, key=graph.path_length)
        refusals = [way for way in ways if isinstance(way, Refusal)]
        return next((r for r in refusals if r.code == SkillCode.REFUSED_BY_SAFETY), refusals[0])

    def _check_radius(self, skill: Skill, graph: SceneGraph) -> Refusal | None:
        limit = self.limits.max_explore_radius_m
        if not 0 < skill.radius <= limit:
            return _refuse(
                f"{skill} is refused: the exploration radius must be above 0 and at most {limit:g} m"
            )
        centre = graph.node(skill.target).coords
        for zone in self._zones(graph):
            room = zone.distance(centre, centre) - self.limits.clearance_m
            if skill.radius >= room:
                allowed = math.floor(min(room, limit) * 10 - 1e-9) / 10
                advice = f"a radius up to {allowed:g} m is allowed" if allowed > 0 else "explore elsewhere"
                return _refuse(f"{skill} is refused: it would enter the keep-out area {zone.label}; {advice}")
        return None

    def _zones(self, graph: SceneGraph | None) -> list[Zone]:
        zones: list[Zone] = [*self.limits.keep_out_circles, *self.limits.keep_out_polygons]
        if graph is not None:
            zones += [
                Circle(name=name, center=graph.node(name).coords, radius=self.limits.region_radius_m)
                for name in sorted(self.limits.keep_out_regions)
                if name in graph
            ]
        return zones

    def _zone_at(self, graph: SceneGraph, x: float, y: float) -> Zone | None:
        return self._crossed(self._zones(graph), (x, y), (x, y))

    def _crossed(
        self, zones: list[Zone], start: tuple[float, float], end: tuple[float, float]
    ) -> Zone | None:
        clearance = self.limits.clearance_m
        return next((zone for zone in zones if zone.distance(start, end) <= clearance), None)

    def _shortest(self, graph: SceneGraph, start: str, goal: str) -> list[str] | None:
        """The unhindered shortest path when it is allowed, as it nearly always is; otherwise the
        shortest one over the connections that cross no keep-out area."""
        zones = self._zones(graph)
        path = graph.shortest_path(start, goal)
        at = {name: graph.node(name).coords for name in path or ()}
        if path is None or all(self._crossed(zones, at[a], at[b]) is None for a, b in pairwise(path)):
            return path
        allowed: nx.Graph[str] = nx.Graph()
        for a, b in graph.region_connections:
            p, q = graph.node(a).coords, graph.node(b).coords
            if self._crossed(zones, p, q) is None:
                allowed.add_edge(a, b, length=math.dist(p, q))
        try:
            detour: list[str] = nx.dijkstra_path(allowed, start, goal, weight="length")
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return None
        return detour


def _refuse(message: str) -> Refusal:
    return Refusal(SkillCode.REFUSED_BY_SAFETY, message)


def _listed(names: frozenset[SkillName]) -> str:
    return ", ".join(sorted(names)) or "none"
