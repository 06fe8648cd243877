"""Fully specified tasks: go, map, explore, inspect, return."""

from __future__ import annotations

import math

from prism_planner.domains.spine.actions import ExploreRegion
from prism_planner.domains.spine.expert.groundwork import (
    MAX_LOOKS,
    Groundwork,
    Report,
    be,
)
from prism_planner.domains.spine.expert.intent import (
    Direction,
    Explore,
    GoTo,
    Home,
    InspectIt,
    Map,
    Part,
    Target,
)
from prism_planner.domains.spine.expert.matching import (
    told,
)
from prism_planner.domains.spine.expert.words import shown

_DIRECTIONS: dict[Direction, tuple[float, float]] = {
    "north": (0, 1),
    "south": (0, -1),
    "east": (1, 0),
    "west": (-1, 0),
    "northeast": (1, 1),
    "northwest": (-1, 1),
    "southeast": (1, -1),
    "southwest": (-1, -1),
    "center": (0, 0),
}


class Errands(Groundwork):
    """Strategies for tasks that say what to do."""

    def _goto(self, intent: GoTo) -> Report:
        name = self._resolve(intent.target)
        if name is None:
            return self._missing(intent.target)
        place = self._view.place(name)
        if self._view.here in self._view.views(name):
            place = self._view.here
        if place is None:
            return self._missing(intent.target)
        seen = "" if place == name else f"{name} is seen from {place}"
        self._be_at(place, (name,), f"{seen or f'{name} is the region meant'}; go there")
        return Report(
            f"I am at {place}" + (f", where {name} is." if seen else "."),
            seen or f"the robot is at {name}",
            (name, place),
        )

    def _map(self, intent: Map) -> Report:
        if intent.target is None:
            return self._map_regions([self._view.here])
        if intent.target.pick == "all" and not intent.around:
            self._resolve(intent.target)
            regions = [p for n in self._ordered(intent.target) if (p := self._view.place(n)) is not None]
            return (
                self._map_regions(list(dict.fromkeys(regions))) if regions else self._missing(intent.target)
            )
        name = self._resolve(intent.target)
        if name is None:
            return self._missing(intent.target)
        place = self._view.place(name)
        return self._map_regions([place] if place else [], name)

    def _map_regions(self, regions: list[str], about: str = "") -> Report:
        for region in regions:
            reason = (
                f"{about} is seen from {region}; map it"
                if about and about != region
                else f"{region} is to be mapped"
            )
            self._survey(region, reason, again=True)
        seen = [o for r in regions for o in self._view.graph.objects_at(r)]
        what = f"I see {shown(list(dict.fromkeys(seen)), 5)}" if seen else "there are no objects"
        return Report(f"I mapped {shown(regions)}: {what}.", f"{shown(regions)} is mapped", (*regions, *seen))

    def _explore(self, intent: Explore) -> Report:
        region: str | None = self._view.here if self._since == 0 and not self._memory.explored else None
        if intent.target is not None:
            name = self._resolve(intent.target)
            if name is None:
                return self._missing(intent.target)
            region = self._view.place(name)
        done = [d for d in self._memory.deeds[self._since :] if d.verb == "explore_region"]
        if intent.target is not None:
            # Explorations made to find the target are not the one that was asked for.
            places = {self._view.place(name) for name in self._ordered(intent.target)}
            done = [d for d in done if d.target in places]
        if not done:
            region = region or self._view.here
            if ("explore_region", region) not in self._memory.failed:
                radius = min(intent.radius or self._view.radius, 100.0, self._memory.radius_limit(region))
                self._do(
                    ExploreRegion(region=region, radius=radius), f"{region} is to be explored", (region,)
                )
        here = done[-1].target if done else region or self._view.here
        if not done:
            return Report(
                f"I could not explore {here}.", f"exploring {here} was refused", (here,), found=False
            )
        near = [
            r
            for r in self._view.regions
            if r != here and self._view.gap(r, here) <= max(done[-1].radius, 1.0)
        ]
        seen = self._view.graph.objects_at(here)
        found = [*(["the regions " + shown(near)] if near else []), *([shown(seen, 4)] if seen else [])]
        return Report(
            f"I explored {here}: I know {' and '.join(found) or 'nothing else'} there.",
            f"{here} is explored",
            (here, *near),
        )

    def _inspect_it(self, intent: InspectIt) -> Report:
        if intent.target.pick == "all":
            return self._inspect_all(intent)
        regions_only = all(self._view.is_region(n) for n in self._ordered(intent.target)) and bool(
            self._ordered(intent.target)
        )
        name = self._resolve(intent.target, only="" if regions_only else "object")
        if name is None:
            return self._missing(intent.target)
        if self._view.is_region(name):
            self._survey(name, f"{name} is a region; map it to see what is there", again=True)
            facts = (
                self._facts(name) or f"I see {shown(self._view.graph.objects_at(name)) or 'nothing'} there"
            )
            return Report(f"{name}: {facts}.", f"{name} is mapped", (name,))
        place = self._view.place(name)
        if not self._look(
            name, intent.query or "condition", f"{name} is seen from {place}; inspect it", again=True
        ):
            return Report(f"I could not inspect {name}.", f"{name} cannot be reached", (name,), found=False)
        facts = self._facts(name)
        return Report(
            f"I inspected {self._at(name)}: {facts or 'nothing notable'}.", f"{name} is inspected", (name,)
        )

    def _inspect_all(self, intent: InspectIt) -> Report:
        self._resolve(intent.target, only="object")
        names = [n for n in self._ordered(intent.target, "object") if self._get_near(n)][:MAX_LOOKS]
        for name in sorted(names, key=lambda n: (n not in self._memory.inspected, self._view.distance(n))):
            self._look(
                name, intent.query or "condition", f"{name} is one of the {told(intent.target)}; inspect it"
            )
        if not names:
            return self._missing(intent.target)
        facts = "; ".join(f"{n}: {self._facts(n, 40) or 'nothing notable'}" for n in names[:4])
        return Report(
            f"I inspected {shown(names)}. {facts}.", f"{shown(names)} {be(names)} inspected", tuple(names)
        )

    def _home(self, intent: Home) -> Report:
        if intent.land:
            site = Target(words="landing strip", also=("landing pad", "helipad", "runway"))
            name = self._resolve(site)
            if name is not None and (place := self._view.place(name)) is not None:
                self._be_at(place, (name,), f"{name} is the place to land; go there")
                return Report(f"I am back at {place}, ready to land.", f"the robot is at {place}", (place,))
        start = self._memory.start
        if self._be_at(start, (), f"{start} is where the robot started; go back"):
            return Report(f"I am back at {start}, where I started.", f"the robot is at {start}", (start,))
        return Report(f"I could not get back to {start}.", f"no way back to {start}", (start,), found=False)

    def _part(self, intent: Part) -> Report:
        view = self._view
        reachable = [r for r in view.distances if r not in self._memory.lost]
        x, y = _DIRECTIONS[intent.direction]
        middle = tuple(sum(view.node(r).coords[i] for r in reachable) / len(reachable) for i in (0, 1))

        def along(region: str) -> float:
            at = view.node(region).coords
            if intent.direction == "center":
                return -math.dist(at, middle)
            return at[0] * x + at[1] * y

        best = max(reachable, key=lambda r: (along(r), r))
        toward = f"the {intent.direction}"
        if (
            intent.direction != "center"
            and ("explore_region", best) not in self._memory.failed
            and best not in self._memory.explored
        ):
            radius = min(view.radius, self._memory.radius_limit(best))
            self._do(
                ExploreRegion(region=best, radius=radius),
                f"{best} is the farthest known region to {toward}; look for more",
                (best,),
            )
        beyond = [
            r
            for r in view.regions
            if r not in view.distances and r not in self._memory.lost and along(r) > along(best)
        ]
        if beyond and intent.direction != "center":
            self._go_on(self._search.toward(max(beyond, key=lambda r: (along(r), r))))
        self._be_at(best, (best,), f"{best} is the region farthest to {toward}; go there")
        return Report(
            f"I am at {best}, in {toward} of the scene.", f"{best} is farthest to {toward}", (best,)
        )
