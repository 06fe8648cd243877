"""Finding things, and places that afford an activity."""

from __future__ import annotations

from collections.abc import Callable

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.groundwork import (
    Groundwork,
    Report,
    cut,
)
from prism_planner.domains.spine.expert.intent import (
    Capacity,
    Condition,
    Find,
    FindPlace,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import Activity
from prism_planner.domains.spine.expert.matching import (
    candidates,
    wanted,
)
from prism_planner.domains.spine.expert.search import Looking
from prism_planner.domains.spine.expert.words import shown


class Finding(Groundwork):
    """Strategies for tasks that say what is wanted."""

    def _find(self, intent: Find) -> Report:
        name = self._resolve(intent.target, clues=intent.clues)
        if name is None:
            return self._missing(intent.target)
        if self._view.is_region(name):
            self._be_at(name, (name,), f"{name} is what is looked for; go there")
            return Report(f"I found {name}; I am there.", f"the robot is at {name}", (name,))
        self._look(name, "is it the one", f"{name} is seen from {self._view.place(name)}; take a closer look")
        near = self._neighbours(name)[:2]
        beside = f", near {shown(near)}" if near else ""
        whose = "your " if intent.target.mine else ""
        return Report(
            f"I found {whose}{self._at(name)}{beside}.",
            f"{name} is seen from {self._view.place(name)}",
            (name, *near),
        )

    def _find_place(self, intent: FindPlace) -> Report:
        activity = self._knowledge.activities[intent.activity]
        name = self._afford(activity, intent.conditions, intent.near)
        if name is None:
            return Report(
                f"I could not find a place to {activity.verbs[0]}.",
                f"nothing found that affords to {activity.verbs[0]}",
                found=False,
            )
        place = self._view.place(name) or name
        self._be_at(place, (name,), f"{name} affords to {activity.verbs[0]}; go to {place}")
        facts = self._because(name, *activity.requires, *(c.property for c in intent.conditions))
        return Report(
            f"You can {activity.verbs[0]} at {self._at(name)}{facts}.",
            f"{name} affords to {activity.verbs[0]}{cut(facts, 50)}",
            (name, place),
        )

    def _capacity(self, intent: Capacity) -> Report:
        activity = self._knowledge.activities[intent.activity]
        name = self._afford(activity, (), intent.near)
        verb = activity.verbs[0]
        # A place of the right kind is no free space where only things of a kind offer it.
        if name is None or (self._view.is_region(name) and not activity.place):
            seen = [n for n in self._view.graph.objects if self._view.rank(n, activity.objects) is not None]
            why = f": {shown(seen)} {'are' if len(seen) > 1 else 'is'} taken" if seen else ""
            return Report(
                f"No, there is no free space to {verb}{why}.",
                "all that was found is taken",
                tuple(seen[:4]),
                found=False,
            )
        return Report(
            f"Yes, there is space to {verb} at {self._at(name)}.",
            f"{name} is free",
            (name, self._view.place(name) or name),
        )

    def _afford(
        self, activity: Activity, conditions: tuple[Condition, ...], near: Target | None
    ) -> str | None:
        """The nearest node that affords an activity and meets the conditions; searches as far as needed."""
        label = f"{'free ' if activity.requires.get('occupied') is False else ''}place to {activity.verbs[0]}"
        clues = wanted(near).concepts if near is not None else ()
        looking = Looking(label, activity.objects, activity.regions, activity.objects, clues)
        strict: list[str] = []
        loose: list[str] = []
        verb = activity.verbs[0]
        # A place of its own kind is mapped before anything in it is judged.
        for tier in (activity.objects, activity.pinch):
            if not tier:
                continue
            for name in self._affording(tier, near):
                verdict = self._fits_activity(name, activity, conditions)
                if verdict:
                    strict.append(name)
                    break
                if verdict is None:
                    loose.append(name)
            if strict:
                return strict[0]
            if tier is activity.objects:
                if (
                    activity.place
                    and (region := self._affording_region(activity, conditions, near)) is not None
                ):
                    return region
                within = self._near_region(near) if near is not None else None
                self._go_on(self._search.step(looking, within=within))
        if loose:
            return loose[0]
        return self._affording_region(activity, conditions, near) if verb else None

    def _near_region(self, near: Target) -> Callable[[str], bool] | None:
        anchors = candidates(near, self._view)
        if not anchors:
            return None
        return lambda region: any(self._view.gap(region, a) <= self._view.radius for a in anchors)

    def _affording(self, ranking: tuple[str, ...], near: Target | None) -> list[str]:
        """The reachable objects that afford it, the nearest first; a worse kind counts as farther."""
        view = self._view
        found = []
        for name in view.graph.objects:
            rank = view.rank(name, ranking)
            if rank is None or not any(self._can_go(r) for r in view.views(name)):
                continue
            if near is None or self._is_near(name, near):
                found.append((view.distance(name) + rank, name))
        return [name for _, name in sorted(found, key=lambda entry: entry[0])]

    def _fits_activity(self, name: str, activity: Activity, conditions: tuple[Condition, ...]) -> bool | None:
        """Whether an object is good for it: what it requires must not fail, conditions must hold."""
        asked = [evidence.query(c.property) for c in conditions] or [activity.look]
        known = self._judge_activity(name, activity)
        if known is not False:
            self._look(
                name,
                " and ".join(asked),
                f"{name} is seen from {self._view.place(name)} and affords to {activity.verbs[0]}",
            )
            known = self._judge_activity(name, activity)
        if known is False or name not in self._memory.inspected:
            return False
        verdict: bool | None = True
        for condition in conditions:
            said = self._meets(condition, name)
            if said is False:
                return False
            if said is None:
                verdict = None
        return verdict

    def _judge_activity(self, name: str, activity: Activity) -> bool:
        attributes = self._view.node(name).attributes
        requires = {"damaged": False, **activity.requires}
        return all(evidence.judge(p, attributes) in (None, v) for p, v in requires.items())

    def _affording_region(
        self, activity: Activity, conditions: tuple[Condition, ...], near: Target | None
    ) -> str | None:
        """A region of a kind that affords the activity, mapped, with nothing seen against it."""
        view = self._view
        found = [
            (r, view.far(n), n)
            for n in view.distances
            if self._can_go(n) and (r := view.rank(n, activity.regions)) is not None
        ]
        for _, _, region in sorted(found, key=lambda entry: (entry[1] + 5 * entry[0], entry[0])):
            if near is not None and not self._is_near(region, near):
                continue
            if not self._judge_activity(region, activity):
                continue
            self._survey(region, f"{region} is a place to {activity.verbs[0]}; map it to see")
            seen = view.graph.objects_at(region)
            if (
                any(view.rank(o, activity.objects) is not None for o in seen)
                and activity.requires.get("occupied") is False
            ):
                continue
            if any(not self._judge_activity(o, activity) for o in seen if view.is_a(o, "sign")):
                continue
            if all(self._meets(c, region) is not False for c in conditions):
                return region
        return None
