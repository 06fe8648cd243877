"""Where to look next for something that is not known yet.

First the regions where such a thing is likely and whose objects are not known, then the edge of what
is known, the nearest first; when all that brought nothing, the same once more with a wider radius.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prism_planner.domains.spine.actions import ExploreRegion, MapRegion
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.memory import Memory
from prism_planner.domains.spine.expert.view import View

CLUE, LIKELY, POSSIBLE, UNLIKELY = 3, 2, 1, 0
"""How promising a region is: the clue points to it, such things are found there, unknown, wrong setting."""


WIDEST_M = 100.0
"""No exploration is wider."""
PATIENCE = 5
"""After so many explorations in a row that made nothing known, exploring at that radius is given up."""
LEAST_UNSEEN, MUCH_UNSEEN = 0.25, 0.6
"""Which part of a region's surroundings must be unexplored to explore there at all, and to do so first."""
_AROUND = tuple((math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)) for k in range(8))


@dataclass(frozen=True, slots=True)
class Looking:
    """What is looked for.

    label: in words. concepts: what it is. regions: region types where it is found. near: what it tends to
    be next to. clues: concepts of things or places that the user said it is at.
    """

    label: str
    concepts: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    clues: tuple[str, ...] = ()

    @classmethod
    def for_concepts(cls, label: str, concepts: Iterable[str], clues: Iterable[str] = ()) -> Looking:
        """For things of these kinds, with what is generally known about where they are."""
        concepts = tuple(concepts)
        table = knowledge().concepts
        known = [table[c] for c in concepts if c in table]
        return cls(
            label,
            concepts,
            tuple(dict.fromkeys(r for c in known for r in (c.name if c.is_region else "", *c.found) if r)),
            tuple(dict.fromkeys(n for c in known for n in c.near)),
            tuple(clues),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """An action to find out more, and why."""

    action: MapRegion | ExploreRegion
    reason: str


class Search:
    """The next step of a search, from what is known and done."""

    def __init__(self, view: View, memory: Memory) -> None:
        self._view = view
        self._memory = memory

    def covered(self, region: str) -> bool:
        """Whether the objects seen from a region are known."""
        if region in self._memory.mapped:
            return True
        return any(
            self._view.gap(region, c) <= r for c, r in self._memory.explored.items() if c in self._view.graph
        )

    def promise(self, region: str, looking: Looking) -> int:
        """How likely what is looked for is there."""
        view, known = self._view, knowledge()
        if looking.clues and (
            view.rank(region, looking.clues) is not None
            or any(view.rank(o, looking.clues) is not None for o in view.graph.objects_at(region))
        ):
            return CLUE
        if view.rank(region, looking.regions) is not None:
            return LIKELY
        if looking.near and any(
            view.rank(o, looking.near) is not None for o in view.graph.objects_at(region)
        ):
            return LIKELY
        settings = {known.concepts[r].setting for r in looking.regions}
        own = {known.concepts[c].setting for c in view.concepts(region) if known.concepts[c].is_region}
        if own and settings and not own & settings and "" not in settings:
            return UNLIKELY
        return POSSIBLE

    def step(
        self, looking: Looking, *, within: Callable[[str], bool] | None = None, thorough: bool = True
    ) -> Step | None:
        """What to do next; None when everything that can be done is done.

        within: only these regions matter, and those that turn up next to them. thorough: also look in
        unlikely places and with a wider radius.
        """
        regions = [r for r in self._view.distances if r not in self._memory.lost]
        scope = [r for r in regions if within is None or within(r)]
        return (
            self._look_in_likely(looking, scope, within)
            or self._explore_edge(looking, scope, 1.0)
            or (self._explore_edge(looking, regions, 2.0) if thorough and within is None else None)
        )

    def _look_in_likely(
        self, looking: Looking, regions: list[str], within: Callable[[str], bool] | None
    ) -> Step | None:
        open_ = [r for r in regions if not self.covered(r) and ("map_region", r) not in self._memory.failed]
        least = POSSIBLE if within is not None else LIKELY
        likely = [(-p, self._view.far(r), r) for r in open_ if (p := self.promise(r, looking)) >= least]
        if not likely:
            return None
        promise, _, best = min(likely, key=lambda entry: entry[:2])
        if within is None:
            around = [r for r in open_ if r != best and self._view.gap(r, best) <= self._view.radius]
            if len(around) >= 2 and (explore := self._explore(best, self._view.radius)) is not None:
                return Step(
                    explore,
                    f"{looking.label} not seen yet; {best} and {len(around)} regions near it are not mapped",
                )
        why = {CLUE: "fits the clue", LIKELY: "is a likely place"}.get(-promise, "may show it")
        return Step(MapRegion(region=best), f"{looking.label} not seen yet; {best} {why} and is not mapped")

    def _explore_edge(self, looking: Looking, regions: list[str], widen: float) -> Step | None:
        radius = min(self._view.radius * widen, WIDEST_M)
        if self._memory.fruitless >= PATIENCE * widen or radius < 1.2 * self._view.radius * (widen > 1):
            return None
        edge = []
        for region in regions:
            explore = self._explore(region, radius)
            if explore is not None and (unseen := self._unseen(region, explore.radius)) >= LEAST_UNSEEN:
                edge.append(
                    (
                        self.promise(region, looking) == UNLIKELY,
                        unseen < MUCH_UNSEEN,
                        self._view.far(region),
                        explore,
                    )
                )
        if not edge:
            return None
        best = min(edge, key=lambda entry: entry[:3])[3]
        return Step(
            best, f"{looking.label} not seen yet; {best.region} is the nearest with unexplored surroundings"
        )

    def _unseen(self, region: str, radius: float) -> float:
        """Which part of the surroundings within a radius lies outside all explorations: 0 to 1."""
        x, y = self._view.node(region).coords
        discs = [
            (*self._view.node(c).coords, r) for c, r in self._memory.explored.items() if c in self._view.graph
        ]
        points = [
            (x + share * radius * dx, y + share * radius * dy) for share in (0.5, 0.85) for dx, dy in _AROUND
        ]
        unseen = [p for p in points if all(math.hypot(p[0] - cx, p[1] - cy) > r for cx, cy, r in discs)]
        return len(unseen) / len(points)

    def _explore(self, region: str, radius: float) -> ExploreRegion | None:
        """Exploring there as widely as allowed, unless that was done or refused."""
        if ("explore_region", region) in self._memory.failed:
            return None
        radius = min(radius, self._memory.radius_limit(region))
        if radius < 2.0 or 1.2 * self._memory.explored.get(region, 0.0) > radius:
            return None
        return ExploreRegion(region=region, radius=radius)

    def toward(self, goal: str) -> Step | None:
        """The next exploration that may find a way to a region that cannot be reached: the nearest to it
        that has not been explored."""
        reach = 3 * self._view.radius
        options = sorted(
            (self._view.gap(r, goal), r) for r in self._view.distances if r not in self._memory.lost
        )
        for widen in (1.0, 2.0):
            for gap, region in options[:6]:
                explore = self._explore(region, min(self._view.radius * widen, WIDEST_M))
                if explore is not None and (gap <= reach or region == options[0][1]):
                    return Step(explore, f"no known path to {goal}; {region} is near it and not explored")
        return None
