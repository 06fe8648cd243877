"""What all strategies stand on: taking an action, finding what a target means, speaking of nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from prism_planner.domains.spine.actions import Action, Goto, Inspect, MapRegion
from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import (
    Condition,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import knowledge
from prism_planner.domains.spine.expert.matching import (
    KIND,
    NAMED,
    WEAK,
    candidates,
    fit,
    told,
    wanted,
)
from prism_planner.domains.spine.expert.memory import Memory
from prism_planner.domains.spine.expert.search import Looking, Search, Step
from prism_planner.domains.spine.expert.view import View

MAX_LOOKS = 10
"""How many things are inspected at most for one question."""


@dataclass(frozen=True, slots=True)
class Report:
    """The answer of an intent. message: for the user. reason: the deciding fact. about: nodes it relies on.
    found: whether the intent was achieved."""

    message: str
    reason: str
    about: tuple[str, ...] = ()
    found: bool = True


class Next(Exception):
    """The next action, why, and the nodes that matter."""

    def __init__(self, action: Action, reason: str, about: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.action = action
        self.reason = reason
        self.about = tuple(dict.fromkeys(about))


class Groundwork:
    """One decision, for one observation.

    since: index into the deeds where the current step of a sequence began. closing: no more actions may be
    taken, so that every strategy answers with what is known.
    """

    def __init__(self, view: View, memory: Memory, since: int = 0, *, closing: bool = False) -> None:
        self._view = view
        self._memory = memory
        self._since = since
        self._closing = closing
        self._search = Search(view, memory)
        self._knowledge = knowledge()

    def _do(self, action: Action, reason: str, about: Iterable[str]) -> None:
        if not self._closing:
            raise Next(action, reason, about)

    def _be_at(self, region: str, about: Iterable[str], reason: str) -> bool:
        """Go there unless there; False when that is impossible."""
        if self._view.here == region:
            return True
        if not self._can_go(region):
            return False
        self._do(Goto(region=region), reason, (*about, region))
        return False

    def _can_go(self, region: str) -> bool:
        return self._view.reachable(region) and region not in self._memory.lost

    def _look(self, name: str, query: str, reason: str, *, again: bool = False) -> bool:
        """Inspect an object unless that was done; False when it cannot be."""
        if self._memory.did("inspect", name, self._since if again else 0):
            return True
        if ("inspect", name) in self._memory.failed:
            return False
        if not any(self._can_go(region) for region in self._view.views(name)):
            return False
        self._do(Inspect(object=name, query=query), reason, (name, *self._view.views(name)[:1]))
        return False

    def _survey(self, region: str, reason: str, *, again: bool = False) -> bool:
        """Map a region unless that was done; False when it cannot be."""
        done = (
            self._memory.mapped
            if not again
            else {
                d.target
                for d in self._memory.deeds[self._since :]
                if d.verb in ("map_region", "explore_region")
            }
        )
        if region in done:
            return True
        if not self._can_go(region) or ("map_region", region) in self._memory.failed:
            return False
        self._do(MapRegion(region=region), reason, (region,))
        return False

    def _go_on(self, step: Step | None, about: Iterable[str] = ()) -> None:
        """Take a step of a search, if there is one."""
        if step is not None:
            self._do(step.action, step.reason, (*about, step.action.region))

    def _looking(self, target: Target, clues: Iterable[str] = ()) -> Looking:
        want = wanted(target)
        near = wanted(target.near).concepts if target.near is not None else ()
        return Looking.for_concepts(told(target), want.concepts, (*self._clue_concepts(clues), *near))

    def _clue_concepts(self, clues: Iterable[str]) -> tuple[str, ...]:
        found: list[str] = []
        for clue in clues:
            activity = self._knowledge.activities.get(clue)
            if activity is not None:
                found += [*activity.objects, *activity.pinch, *activity.regions]
            elif (concept := self._knowledge.concept(clue)) is not None:
                found.append(concept)
        return tuple(dict.fromkeys(found))

    def _resolve(
        self,
        target: Target,
        *,
        clues: Iterable[str] = (),
        only: str = "",
        travel: bool = True,
        explore: bool = True,
    ) -> str | None:
        """The node that a target means, looking for it as far as needed; None when it cannot be found.

        only: "object" or "region", when the other will not do. travel: whether it has to be reachable.
        """
        fallback: list[str] = []
        for name in self._ordered(target, only):
            if travel and not self._get_near(name):
                continue
            verdict = self._suits(target, name)
            if verdict:
                return name
            if verdict is None:
                fallback.append(name)
        if explore:
            self._go_on(self._search.step(self._looking(target, clues)))
        if fallback:
            return fallback[0]
        weak = [
            n
            for n in self._ordered(target, only, WEAK)
            if (not travel or self._get_near(n)) and self._suits(target, n) is not False
        ]
        return weak[0] if weak else None

    def _ordered(self, target: Target, only: str = "", least: int = KIND) -> list[str]:
        """The candidates in the order in which to try them."""
        view = self._view
        names = [n for n in candidates(target, view, least=least) if not only or view.node(n).kind == only]

        def where(name: str) -> tuple[float, float]:
            return view.node(name).coords

        match target.pick:
            case "farthest" | "last":
                names.sort(key=lambda n: -view.distance(n) if view.distance(n) < math.inf else 0.0)
            case "northernmost":
                names.sort(key=lambda n: -where(n)[1])
            case "southernmost":
                names.sort(key=lambda n: where(n)[1])
            case "easternmost":
                names.sort(key=lambda n: -where(n)[0])
            case "westernmost":
                names.sort(key=lambda n: where(n)[0])
        if target.mine:
            owned = {n: evidence.ownership(view.node(n).attributes) for n in names}
            names.sort(key=lambda n: {True: 0, None: 1, False: 2}[owned[n]])
        return names

    def _get_near(self, name: str) -> bool:
        """Whether a node can be reached, after having looked for a way."""
        place = self._view.place(name)
        if place is None:
            return False
        if any(self._can_go(region) for region in self._view.views(name)):
            return True
        if place in self._memory.lost:
            return False
        if self._can_go(place) and not self._view.views(name):
            return True
        self._go_on(self._search.toward(place), (name,))
        return False

    def _suits(self, target: Target, name: str) -> bool | None:
        """Whether a candidate has what the target demands; inspects it to know. None: nothing says."""
        verdict: bool | None = True
        if target.near is not None and not self._is_near(name, target.near):
            return False
        if target.mine:
            owned = evidence.ownership(self._view.node(name).attributes)
            if owned is None and not self._view.is_region(name):
                self._look(name, "is it yours", f"{name} may be the one meant; whose it is is not known yet")
                others = [n for n in self._ordered(target) if n != name]
                owned = (
                    True
                    if not others or evidence.ownership(self._view.node(name).attributes) is None
                    else owned
                )
            if owned is False:
                return False
        for condition in target.conditions:
            said = self._meets(condition, name)
            if said is False:
                return False
            if said is None:
                verdict = None
        return verdict

    def _is_near(self, name: str, near: Target) -> bool:
        if any(self._view.close(name, other) for other in candidates(near, self._view) if other != name):
            return True
        text = " ".join(v for k, v in self._view.node(name).attributes.items() if k != "category").lower()
        return any(phrase in text for phrase in wanted(near).phrases)

    def _meets(self, condition: Condition, name: str) -> bool | None:
        """Whether a node meets a condition; looks at it first when that is not known."""
        said = evidence.holds(condition, self._view.node(name).attributes, name)
        if said is None:
            known = evidence.query(condition.property)
            if self._view.is_region(name):
                self._survey(name, f"{name} is known; {condition.property} is not known yet")
            else:
                self._look(
                    name,
                    known,
                    f"{name} is seen from {self._view.place(name)}; {condition.property} is not known yet",
                )
            said = evidence.holds(condition, self._view.node(name).attributes, name)
        if said is None and condition.property == "shaded":
            givers = [
                o
                for o in self._view.graph.objects
                if self._view.rank(o, self._knowledge.roles.shade_givers) is not None
            ]
            under = any(self._view.close(name, giver) for giver in givers if giver != name)
            said = under == condition.value
        return said

    def _regions_of(self, place: Target) -> list[str]:
        """The known regions that a place means; where it is seen from, when it is an object."""
        names = candidates(place, self._view)
        if place.pick != "all" and names and fit(place, names[0], self._view) == NAMED:
            names = names[:1]
        regions = [n for n in names if self._view.is_region(n)]
        if not regions:
            regions = [p for n in names if (p := self._view.place(n)) is not None]
        return [r for r in dict.fromkeys(regions) if self._can_go(r)]

    def _sweep(self, place: Target, what: Target | None) -> None:
        """Map every region of a place, then explore around them for more of it."""
        label = told(what) if what is not None else "anything"
        for region in self._regions_of(place):
            self._survey(region, f"{label} not seen yet; {region} is not mapped")
        if wanted(place).number is not None:
            return
        inside = set(self._regions_of(place))
        looking = Looking(f"more of the {told(place)}", wanted(place).concepts)
        self._go_on(self._search.step(looking, within=lambda r: r in inside))

    def _neighbours(self, name: str) -> list[str]:
        """The objects near a node, nearest first."""
        view = self._view
        others = [o for r in view.views(name) for o in view.graph.objects_at(r) if o != name]
        return sorted(dict.fromkeys(others), key=lambda o: view.gap(o, name))

    def _missing(self, target: Target, polar: str = "") -> Report:
        label = told(target)
        opening = f"{polar}, I" if polar else "I"
        return Report(
            f"{opening} could not find {article(label)}.",
            f"no {label} found after looking everywhere known",
            found=False,
        )

    def _at(self, name: str) -> str:
        """`bench_1 at grove_1`."""
        place = self._view.place(name)
        return name if place is None or place == name else f"{name} at {place}"

    def _facts(self, name: str, limit: int = 80) -> str:
        """The attributes of a node in words."""
        attributes = self._view.node(name).attributes
        parts = [v if k == "description" else f"{k}: {v}" for k, v in attributes.items() if k != "category"]
        return cut("; ".join(parts), limit)

    def _because(self, name: str, *props: str, limit: int = 60) -> str:
        """What is seen of a node that bears on these properties, after a colon; empty when nothing is."""
        said = evidence.relevant(self._view.node(name).attributes, props)
        return f": {cut(said, limit)}" if said else ""


def be(names: Iterable[str]) -> str:
    """The verb for so many."""
    return "are" if len(tuple(names)) > 1 else "is"


def article(label: str) -> str:
    """`the bench`, but `bench_1`."""
    return label if any(c.isdigit() for c in label) else f"the {label}"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, whole words."""
    return text if len(text) <= limit else text[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."
