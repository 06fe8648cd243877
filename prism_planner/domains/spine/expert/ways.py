"""Whether a way is clear and whether a place can be reached."""

from __future__ import annotations

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.groundwork import (
    MAX_LOOKS,
    Groundwork,
    Report,
    article,
)
from prism_planner.domains.spine.expert.intent import (
    Passage,
    Reach,
    Target,
)
from prism_planner.domains.spine.expert.matching import (
    KIND,
    NAMED,
    fit,
    told,
    wanted,
)
from prism_planner.domains.spine.expert.words import shown


class Ways(Groundwork):
    """Strategies for questions about passage."""

    def _passage(self, intent: Passage) -> Report:
        yes, no = ("Yes", "No") if intent.blocked else ("No", "Yes")
        way: list[str] = []
        goal = ""
        if intent.destination is not None:
            name = self._resolve(intent.destination)
            if name is None:
                return self._unreached(intent.destination, yes)
            goal = self._view.place(name) or name
            way = self._way_to(goal)
            label = f"the way to {name}"
        elif intent.place is not None:
            if self._resolve(intent.place) is None:
                return self._missing(intent.place)
            label = f"the {told(intent.place)}"
            way = self._regions_of(intent.place)
        else:
            raise ValueError("a passage has a place or a destination")
        for region in way if goal else ():
            if self._blocker([region], intent.obstacle) is None and not self._search.covered(region):
                self._survey(region, f"{region} is on the way to {goal} and is not mapped")
        blocker = self._blocker(way, intent.obstacle)
        if blocker is not None:
            return Report(
                f"{yes}, {self._at(blocker)} is blocking {label}{self._because(blocker, 'blocked')}.",
                f"{blocker} at {self._view.place(blocker)} blocks the way",
                (blocker, *way[:2]),
            )
        if goal:
            arrived = self._be_at(goal, way[:2], f"nothing blocks the way so far; go on to {goal}")
            if not (arrived or self._closing):
                return Report(f"{yes}, I could not get to {goal}.", f"going to {goal} failed", (goal,))
        elif intent.place is not None:
            self._sweep(intent.place, intent.obstacle)
            way = self._regions_of(intent.place)
        where = shown([*dict.fromkeys([goal] if goal else way)], 3)
        what = told(intent.obstacle) if intent.obstacle else "nothing"
        said = f"{what} is not blocking it" if intent.obstacle else "nothing is blocking it"
        state = "is clear" if not intent.blocked else "is not blocked"
        return Report(
            f"{no}, {label} {state}: I checked {where} and {said}.",
            f"{where} checked, nothing blocks",
            tuple(way[:3]),
        )

    def _way_to(self, goal: str) -> list[str]:
        """The regions from the start of the episode to the goal, without the start."""
        start = self._memory.start
        path = None
        if start in self._view.graph:
            path = self._view.graph.shortest_path(start, goal, self._memory.lost)
        return (path or [self._view.here, *self._view.path(goal)])[1:] or [goal]

    def _blocker(self, regions: list[str], obstacle: Target | None) -> str | None:
        """An object on these regions that blocks the way; inspects those that might."""
        roles, view = self._knowledge.roles, self._view
        looks = 0
        for region in regions:
            for name in view.graph.objects_at(region):
                if (
                    obstacle is not None
                    and fit(obstacle, name, view) < KIND
                    and not self._says_of(name, obstacle)
                ):
                    continue
                blocked = evidence.judge("blocked", view.node(name).attributes)
                suspect = obstacle is not None or view.rank(name, roles.obstacles) is not None
                if view.rank(region, roles.ways) is not None and view.rank(name, roles.fixtures) is None:
                    suspect |= view.rank(name, roles.obstacles_on_ways) is not None or not view.concepts(name)
                if blocked is None and suspect and looks < MAX_LOOKS:
                    looks += 1
                    self._look(
                        name,
                        "is it blocking the way",
                        f"{name} is on {region}; whether it blocks the way is not known yet",
                    )
                    blocked = evidence.judge("blocked", view.node(name).attributes)
                if blocked:
                    return name
        return None

    def _says_of(self, name: str, target: Target) -> bool:
        """Whether the description of a node speaks of the target: "a construction crane"."""
        text = self._view.node(name).attributes.get("description", "").lower()
        return any(phrase in text for phrase in wanted(target).phrases)

    def _reach(self, intent: Reach) -> Report:
        name = self._resolve(intent.target, travel=False)
        if name is None:
            return self._unreached(intent.target, "No")
        named = [n for n in self._ordered(intent.target) if fit(intent.target, n, self._view) == NAMED]
        options = named or [
            n
            for n in self._ordered(intent.target)
            if fit(intent.target, n, self._view) == fit(intent.target, name, self._view)
        ]
        for option in options:
            place = self._view.place(option)
            if place is not None and self._get_near(option):
                blocker = self._blocker(self._way_to(place), None) if self._view.here != place else None
                if blocker is not None:
                    return Report(
                        f"No, {self._at(blocker)} is blocking the way to "
                        f"{option}{self._because(blocker, 'blocked')}.",
                        f"{blocker} blocks the way",
                        (blocker, option),
                    )
                if self._be_at(place, (option,), f"{option} is connected; go there to be sure"):
                    return Report(
                        f"Yes, you can get to {option}: I am there now.",
                        f"the robot reached {option}",
                        (option,),
                    )
        name = options[0]
        gates = [
            o for o in self._view.graph.objects if evidence.judge("blocked", self._view.node(o).attributes)
        ]
        nearest = min(gates, key=lambda o: self._view.gap(o, name), default=None)
        why = (
            f"; {self._at(nearest)} is in the way"
            if nearest is not None and self._view.gap(nearest, name) <= 2 * self._view.radius
            else ""
        )
        return Report(
            f"No, {name} cannot be reached: no path leads there{why}.",
            f"no path to {name} found",
            (name,),
            found=False,
        )

    def _unreached(self, target: Target, opening: str) -> Report:
        return Report(
            f"{opening}, I could not find a way to {article(told(target))}.",
            f"{told(target)} was not found",
            found=False,
        )
