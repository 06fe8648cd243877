"""What was done so far in an episode, read from the feedback."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from prism_planner.domains.spine.actions import Action, Answer, ExploreRegion, Inspect, SpineObservation

_DONE = re.compile(
    r"(?P<deed>mapped|explored|inspected|arrived at|already at) (?P<name>.+?)(?: within "
    r"(?P<radius>[\d.]+) m)?(?::|$)"
)
_LIMIT = re.compile(r"\b(?P<scope>up to|at most) (?P<metres>\d+(?:\.\d+)?)(?: m| metres| meters)?\b")


@dataclass(frozen=True, slots=True)
class Deed:
    """verb: `goto`, `map_region`, `explore_region` or `inspect`. found: how many nodes it made known."""

    verb: str
    target: str
    radius: float = 0.0
    found: int = 0


@dataclass
class Memory:
    """start: where the robot was first. deeds: what succeeded, in order. failed: what did not, as (verb,
    target). radius_limits: the widest exploration allowed at a region ("" for all), from refusals.
    radius: the usual exploration radius of the episode, chosen at its start. Lengths are metres.
    """

    start: str = ""
    deeds: list[Deed] = field(default_factory=list)
    failed: set[tuple[str, str]] = field(default_factory=set)
    radius_limits: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    radius: float = 0.0

    def observe(self, observation: SpineObservation, last: Action | None) -> None:
        """Take in an observation; `last` is the action that was decided on before it, if any."""
        if not self.start:
            self.start = observation.graph.robot_location or ""
        if last is None or isinstance(last, Answer):
            return
        self.steps += 1
        target = last.object if isinstance(last, Inspect) else last.region
        deed = next(filter(None, (_deed(text, observation) for text in observation.feedback)), None)
        if deed is None and _there(target, observation) and (observation.delta or not observation.feedback):
            radius = last.radius if isinstance(last, ExploreRegion) else 0.0
            deed = Deed(last.action, target, radius, len(observation.delta.add_nodes))
        if deed is not None:
            self.deeds.append(deed)
            return
        limit = next(filter(None, map(_LIMIT.search, observation.feedback)), None)
        if isinstance(last, ExploreRegion) and limit is not None and 0 < float(limit["metres"]) < last.radius:
            self.radius_limits[target if limit["scope"] == "up to" else ""] = float(limit["metres"])
        else:
            self.failed.add((last.action, target))

    def radius_limit(self, region: str) -> float:
        """The widest exploration allowed there, in metres."""
        return min(self.radius_limits.get(region, math.inf), self.radius_limits.get("", math.inf))

    def did(self, verb: str, target: str, since: int = 0) -> bool:
        return any(d.verb == verb and d.target == target for d in self.deeds[since:])

    @property
    def mapped(self) -> set[str]:
        """Regions where objects were looked for, by mapping or by exploring there."""
        return {d.target for d in self.deeds if d.verb in ("map_region", "explore_region")}

    @property
    def inspected(self) -> set[str]:
        return {d.target for d in self.deeds if d.verb == "inspect"}

    @property
    def explored(self) -> dict[str, float]:
        """The widest radius with which each region was explored, in metres."""
        found: dict[str, float] = {}
        for d in self.deeds:
            if d.verb == "explore_region":
                found[d.target] = max(d.radius, found.get(d.target, 0.0))
        return found

    @property
    def fruitless(self) -> int:
        """How many explorations in a row, up to the last, made nothing known."""
        count = 0
        for d in reversed(self.deeds):
            if d.verb == "explore_region":
                if d.found:
                    break
                count += 1
        return count

    @property
    def lost(self) -> set[str]:
        """Regions that could not be reached, or may not be."""
        return {target for verb, target in self.failed if verb in ("goto", "map_region")}


_VERBS = {
    "mapped": "map_region",
    "explored": "explore_region",
    "inspected": "inspect",
    "arrived at": "goto",
    "already at": "goto",
}


def _there(target: str, observation: SpineObservation) -> bool:
    """Whether the robot is where the target is: one that was stopped on the way also sees changes."""
    graph = observation.graph
    if target not in graph:
        return False
    is_region = graph.node(target).kind == "region"
    return graph.robot_location in ([target] if is_region else graph.seen_from(target))


def _deed(text: str, observation: SpineObservation) -> Deed | None:
    match = _DONE.match(text.strip())
    if match is None or match["name"].strip() not in observation.graph:
        return None
    found = len(observation.delta.add_nodes)
    return Deed(_VERBS[match["deed"]], match["name"].strip(), float(match["radius"] or 0), found)
