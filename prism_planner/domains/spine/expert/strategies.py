"""What to do next for each kind of intent, from what is known and what was done.

A strategy either raises `Next`, the next action with its reason, or returns `Report`, the answer. It
is recomputed from scratch at every step; nothing but `Memory` is carried over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from prism_planner.domains.spine.actions import Action, Answer, ExploreRegion, Goto, Inspect, MapRegion
from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.intent import (
    Around,
    Ask,
    Capacity,
    Condition,
    Direction,
    Exists,
    Explore,
    Find,
    FindPlace,
    GoTo,
    Hazards,
    Home,
    InspectIt,
    Intent,
    ListThings,
    Map,
    Part,
    Passage,
    Reach,
    Sequence,
    Target,
)
from prism_planner.domains.spine.expert.knowledge import Activity, knowledge
from prism_planner.domains.spine.expert.matching import KIND, NAMED, WEAK, candidates, fit, part_of, told, wanted
from prism_planner.domains.spine.expert.memory import Memory
from prism_planner.domains.spine.expert.search import Looking, Search, Step
from prism_planner.domains.spine.expert.view import View
from prism_planner.domains.spine.expert.words import shown

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


class Next(Exception):  # noqa: N818 - not an error: it unwinds a strategy at its next action
    """The next action, why, and the nodes that matter."""

    def __init__(self, action: Action, reason: str, about: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.action = action
        self.reason = reason
        self.about = tuple(dict.fromkeys(about))


class Strategist:
    """Decides for one observation.

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

    def run(self, intent: Intent) -> Report:
        """Raises Next, or returns the answer."""
        match intent:
            case GoTo():
                return self._goto(intent)
            case Map():
                return self._map(intent)
            case Explore():
                return self._explore(intent)
            case InspectIt():
                return self._inspect_it(intent)
            case Find():
                return self._find(intent)
            case FindPlace():
                return self._find_place(intent)
            case Capacity():
                return self._capacity(intent)
            case Ask():
                return self._ask_all(intent) if intent.target.pick == "all" or intent.any else self._ask_one(intent)
            case Exists():
                return self._exists(intent)
            case Passage():
                return self._passage(intent)
            case Reach():
                return self._reach(intent)
            case Around():
                return self._around(intent)
            case Hazards():
                return self._hazards(intent)
            case Part():
                return self._part(intent)
            case Home():
                return self._home(intent)
            case ListThings():
                return self._list(intent)
            case Sequence():
                raise TypeError("a sequence is run step by step")

    # Actions, each done at most once where once is enough

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
        done = self._memory.mapped if not again else {d.target for d in self._memory.deeds[self._since :] if d.verb in ("map_region", "explore_region")}
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

    # Finding what a target means

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
        weak = [n for n in self._ordered(target, only, WEAK) if (not travel or self._get_near(n)) and self._suits(target, n) is not False]
        return weak[0] if weak else None

    def _ordered(self, target: Target, only: str = "", least: int = KIND) -> list[str]:
        """The candidates in the order in which to try them."""
        view = self._view
        names = [n for n in candidates(target, view, least=least) if not only or view.node(n).kind == only]
        where: Callable[[str], tuple[float, float]] = lambda n: view.node(n).coords  # noqa: E731
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
                owned = True if not others or evidence.ownership(self._view.node(name).attributes) is None else owned
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
                self._look(name, known, f"{name} is seen from {self._view.place(name)}; {condition.property} is not known yet")
            said = evidence.holds(condition, self._view.node(name).attributes, name)
        if said is None and condition.property == "shaded":
            givers = [o for o in self._view.graph.objects if self._view.rank(o, self._knowledge.roles.shade_givers) is not None]
            under = any(self._view.close(name, giver) for giver in givers if giver != name)
            said = under == condition.value
        return said

    def _missing(self, target: Target, polar: str = "") -> Report:
        label = told(target)
        opening = f"{polar}, I" if polar else "I"
        return Report(f"{opening} could not find {_article(label)}.", f"no {label} found after looking everywhere known", found=False)

    def _at(self, name: str) -> str:
        """`bench_1 at grove_1`."""
        place = self._view.place(name)
        return name if place is None or place == name else f"{name} at {place}"

    def _facts(self, name: str, limit: int = 80) -> str:
        """The attributes of a node in words."""
        attributes = self._view.node(name).attributes
        parts = [v if k == "description" else f"{k}: {v}" for k, v in attributes.items() if k != "category"]
        return _cut("; ".join(parts), limit)

    def _because(self, name: str, *props: str, limit: int = 60) -> str:
        """What is seen of a node that bears on these properties, after a colon; empty when there is nothing to say."""
        said = evidence.relevant(self._view.node(name).attributes, props)
        return f": {_cut(said, limit)}" if said else ""

    # Fully specified tasks

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
        return Report(f"I am at {place}" + (f", where {name} is." if seen else "."), seen or f"the robot is at {name}", (name, place))

    def _map(self, intent: Map) -> Report:
        if intent.target is None:
            return self._map_regions([self._view.here])
        if intent.target.pick == "all" and not intent.around:
            self._resolve(intent.target)
            regions = [p for n in self._ordered(intent.target) if (p := self._view.place(n)) is not None]
            return self._map_regions(list(dict.fromkeys(regions))) if regions else self._missing(intent.target)
        name = self._resolve(intent.target)
        if name is None:
            return self._missing(intent.target)
        place = self._view.place(name)
        return self._map_regions([place] if place else [], name)

    def _map_regions(self, regions: list[str], about: str = "") -> Report:
        for region in regions:
            reason = f"{about} is seen from {region}; map it" if about and about != region else f"{region} is to be mapped"
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
        if not done and (region is None or region not in self._memory.explored):
            region = region or self._view.here
            if ("explore_region", region) not in self._memory.failed:
                radius = min(intent.radius or self._view.radius, 100.0, self._memory.radius_limit(region))
                self._do(ExploreRegion(region=region, radius=radius), f"{region} is to be explored", (region,))
        here = done[-1].target if done else region or self._view.here
        if not done:
            return Report(f"I could not explore {here}.", f"exploring {here} was refused", (here,), found=False)
        near = [r for r in self._view.regions if r != here and self._view.gap(r, here) <= max(done[-1].radius, 1.0)]
        seen = self._view.graph.objects_at(here)
        found = [*(["the regions " + shown(near)] if near else []), *([shown(seen, 4)] if seen else [])]
        return Report(f"I explored {here}: I know {' and '.join(found) or 'nothing else'} there.", f"{here} is explored", (here, *near))

    def _inspect_it(self, intent: InspectIt) -> Report:
        if intent.target.pick == "all":
            return self._inspect_all(intent)
        regions_only = all(self._view.is_region(n) for n in self._ordered(intent.target)) and bool(self._ordered(intent.target))
        name = self._resolve(intent.target, only="" if regions_only else "object")
        if name is None:
            return self._missing(intent.target)
        if self._view.is_region(name):
            self._survey(name, f"{name} is a region; map it to see what is there", again=True)
            facts = self._facts(name) or f"I see {shown(self._view.graph.objects_at(name)) or 'nothing'} there"
            return Report(f"{name}: {facts}.", f"{name} is mapped", (name,))
        place = self._view.place(name)
        if not self._look(name, intent.query or "condition", f"{name} is seen from {place}; inspect it", again=True):
            return Report(f"I could not inspect {name}.", f"{name} cannot be reached", (name,), found=False)
        facts = self._facts(name)
        return Report(f"I inspected {self._at(name)}: {facts or 'nothing notable'}.", f"{name} is inspected", (name,))

    def _inspect_all(self, intent: InspectIt) -> Report:
        self._resolve(intent.target, only="object")
        names = [n for n in self._ordered(intent.target, "object") if self._get_near(n)][:MAX_LOOKS]
        for name in sorted(names, key=lambda n: (n not in self._memory.inspected, self._view.distance(n))):
            self._look(name, intent.query or "condition", f"{name} is one of the {told(intent.target)}; inspect it")
        if not names:
            return self._missing(intent.target)
        facts = "; ".join(f"{n}: {self._facts(n, 40) or 'nothing notable'}" for n in names[:4])
        return Report(f"I inspected {shown(names)}. {facts}.", f"{shown(names)} {_be(names)} inspected", tuple(names))

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

    # Finding things and places

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
        return Report(f"I found {whose}{self._at(name)}{beside}.", f"{name} is seen from {self._view.place(name)}", (name, *near))

    def _neighbours(self, name: str) -> list[str]:
        """The objects near a node, nearest first."""
        view = self._view
        others = [o for r in view.views(name) for o in view.graph.objects_at(r) if o != name]
        return sorted(dict.fromkeys(others), key=lambda o: view.gap(o, name))

    def _find_place(self, intent: FindPlace) -> Report:
        activity = self._knowledge.activities[intent.activity]
        name = self._afford(activity, intent.conditions, intent.near)
        if name is None:
            return Report(f"I could not find a place to {activity.verbs[0]}.", f"nothing found that affords to {activity.verbs[0]}", found=False)
        place = self._view.place(name) or name
        self._be_at(place, (name,), f"{name} affords to {activity.verbs[0]}; go to {place}")
        facts = self._because(name, *activity.requires, *(c.property for c in intent.conditions))
        return Report(
            f"You can {activity.verbs[0]} at {self._at(name)}{facts}.",
            f"{name} affords to {activity.verbs[0]}{_cut(facts, 50)}",
            (name, place),
        )

    def _capacity(self, intent: Capacity) -> Report:
        activity = self._knowledge.activities[intent.activity]
        name = self._afford(activity, (), intent.near)
        verb = activity.verbs[0]
        if name is None:
            seen = [n for n in self._view.graph.objects if self._view.rank(n, activity.objects) is not None]
            why = f": {shown(seen)} {'are' if len(seen) > 1 else 'is'} taken" if seen else ""
            return Report(f"No, there is no free space to {verb}{why}.", "all that was found is taken", seen[:4], found=False)
        return Report(f"Yes, there is space to {verb} at {self._at(name)}.", f"{name} is free", (name, self._view.place(name) or name))

    def _afford(self, activity: Activity, conditions: tuple[Condition, ...], near: Target | None) -> str | None:
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
                if activity.place and (region := self._affording_region(activity, conditions, near)) is not None:
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
        """The reachable objects that afford it, the nearest first; a worse kind counts as a little farther."""
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
        """Whether an object is good for an activity: what it requires must not fail, the user's conditions must hold."""
        asked = [evidence.query(c.property) for c in conditions] or [activity.look]
        known = self._judge_activity(name, activity)
        if known is not False:
            self._look(name, " and ".join(asked), f"{name} is seen from {self._view.place(name)} and affords to {activity.verbs[0]}")
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
        found = [(r, view.far(n), n) for n in view.distances if self._can_go(n) and (r := view.rank(n, activity.regions)) is not None]
        for _, _, region in sorted(found, key=lambda entry: (entry[1] + 5 * entry[0], entry[0])):
            if near is not None and not self._is_near(region, near):
                continue
            if not self._judge_activity(region, activity):
                continue
            self._survey(region, f"{region} is a place to {activity.verbs[0]}; map it to see")
            seen = view.graph.objects_at(region)
            if any(view.rank(o, activity.objects) is not None for o in seen) and activity.requires.get("occupied") is False:
                continue
            if any(not self._judge_activity(o, activity) for o in seen if view.is_a(o, "sign")):
                continue
            if all(self._meets(c, region) is not False for c in conditions):
                return region
        return None

    # Questions

    def _ask_one(self, intent: Ask) -> Report:
        name = self._resolve(intent.target, only=self._prefer_object(intent.target))
        if name is None:
            return self._missing(intent.target)
        return self._verdict(name, intent)

    def _prefer_object(self, target: Target) -> str:
        names = self._ordered(target)
        return "object" if any(not self._view.is_region(n) for n in names) else ""

    def _verdict(self, name: str, intent: Ask) -> Report:
        said = self._state(name, intent.condition)
        word = evidence.words_for(intent.condition)
        if said is None:
            facts = self._facts(name, 60) or "nothing shows it"
            return Report(f"I cannot tell whether {self._at(name)} is {word}: {facts}.", f"{name} shows nothing about it", (name,), found=False)
        verdict = f"Yes, {self._at(name)} is {word}" if said else f"No, {self._at(name)} is not {word}"
        facts = self._because(name, intent.condition.property)
        return Report(f"{verdict}{facts}.", f"{name} is {'' if said else 'not '}{word}{_cut(facts, 60)}", (name,))

    def _state(self, name: str, condition: Condition) -> bool | None:
        """Whether a node meets a condition, after a look at it and, for a region, at what is there."""
        said = self._meets(condition, name)
        if said is None and self._view.is_region(name):
            votes = [evidence.holds(condition, self._view.node(o).attributes, o) for o in self._view.graph.objects_at(name)]
            if condition.property == "built" and any(self._view.is_a(o, "construction") for o in self._view.graph.objects_at(name)):
                return not condition.value
            said = next((v for v in votes if v is not None), None)
        return said

    def _ask_all(self, intent: Ask) -> Report:
        target, condition = intent.target, intent.condition
        names = [n for n in self._instances(target) if self._get_near(n)]
        states = {}
        for name in names[:MAX_LOOKS]:
            states[name] = self._state(name, condition)
            if states[name] and intent.any:
                break
        true = [n for n, said in states.items() if said]
        false = [n for n, said in states.items() if said is False]
        if not (true and intent.any):
            settled = bool(states) and not intent.any
            if settled:
                for region in dict.fromkeys(r for n in states for r in self._view.views(n)[:1]):
                    if not self._search.covered(region):
                        self._survey(region, f"{region} shows {told(target)}; map it to see all of them")
            else:
                word = evidence.words_for(condition)
                looking = self._looking_for_parts(target)
                self._go_on(self._search.step(replace(looking, label=f"{word} {looking.label}" if intent.any else looking.label)))
        word = evidence.words_for(condition)
        if true:
            fact = self._because(true[0], condition.property) if len(true) == 1 else ""
            rest = f"; {shown(false)} {_be(false)} not" if false else ""
            return Report(f"Yes, {shown(true)} {_be(true)} {word}{fact}{rest}.", f"{shown(true)} {_be(true)} {word}", tuple(true))
        if false:
            return Report(f"No, {shown(false)} {_be(false)} not {word}.", f"{shown(false)} {_be(false)} not {word}", tuple(false))
        if states:
            return Report(f"I cannot tell: {shown(list(states))} show nothing about it.", "nothing seen says so", tuple(states), found=False)
        return self._missing(target, "No" if intent.any else "")

    def _instances(self, target: Target) -> list[str]:
        """All known nodes that the target means, and wholes that it may be a part of."""
        found = [n for n in self._ordered(target) if target.near is None or self._is_near(n, target.near)]
        objects = [n for n in found if not self._view.is_region(n)]
        wholes = [n for n in self._view.graph.objects if part_of(target, n, self._view) and n not in found]
        wholes = [w for w in wholes if not any(self._view.gap(w, o) < 1.0 for o in objects)]
        return sorted(objects or found, key=self._view.distance) + sorted(wholes, key=self._view.distance)

    def _looking_for_parts(self, target: Target) -> Looking:
        want = wanted(target)
        near = wanted(target.near).concepts if target.near is not None else ()
        return Looking.for_concepts(told(target), (*want.concepts, *want.wholes), near)

    def _exists(self, intent: Exists) -> Report:
        target = intent.target
        if target.near is None:
            name = self._resolve(target)
            if name is None:
                return self._missing(target, "No")
            return Report(f"Yes, there is {self._at(name)}.", f"{name} is seen from {self._view.place(name)}", (name,))
        place = target.near
        anchor = self._resolve(place)
        if anchor is None:
            return self._missing(place)
        bare = target.model_copy(update={"near": None})

        def there() -> list[str]:
            names = [o for r in self._regions_of(place) for o in self._view.graph.objects_at(r)]
            return [o for o in dict.fromkeys(names) if fit(bare, o, self._view) >= KIND or self._says(o, bare)]

        for name in there():
            self._look(name, f"is it {told(bare)}", f"{name} is on {self._view.place(name)}; it may be {told(bare)}")
            if all(self._meets(c, name) is not False for c in bare.conditions):
                return Report(f"Yes, there is {self._at(name)}.", f"{name} is {told(bare)} on {self._view.place(name)}", (name,))
        self._sweep(place, bare)
        regions = self._regions_of(place)
        return Report(f"No, there is no {told(bare)} on {shown(regions) or told(place)}.", f"{shown(regions)} mapped, no {told(bare)} seen", tuple(regions))

    def _says(self, name: str, target: Target) -> bool:
        """Whether an attribute of a node says that it is the target: `debris: yes, broken wood`."""
        attributes = self._view.node(name).attributes
        return any(evidence.key_words(k) in wanted(target).phrases and v.lower().startswith("yes") for k, v in attributes.items())

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
            name = self._resolve(intent.place)
            if name is None:
                return self._missing(intent.place)
            label = f"the {told(intent.place)}"
            way = self._regions_of(intent.place)
        else:
            return Report("I do not know which way is meant.", "no way was named", found=False)
        for region in way if goal else ():
            if self._blocker([region], intent.obstacle) is None and not self._search.covered(region):
                self._survey(region, f"{region} is on the way to {goal} and is not mapped")
        blocker = self._blocker(way, intent.obstacle)
        if blocker is not None:
            return Report(
                f"{yes}, {self._at(blocker)} is blocking {label}{self._because(blocker, 'blocked')}.",
                f"{blocker} at {self._view.place(blocker)} blocks the way", (blocker, *way[:2]),
            )  # fmt: skip
        if goal:
            self._be_at(goal, way[:2], f"nothing blocks the way so far; go on to {goal}")
        elif intent.place is not None:
            self._sweep(intent.place, intent.obstacle)
            way = self._regions_of(intent.place)
        where = shown([*dict.fromkeys([goal] if goal else way)], 3)
        what = told(intent.obstacle) if intent.obstacle else "nothing"
        said = f"{what} is not blocking it" if intent.obstacle else "nothing is blocking it"
        state = "is clear" if not intent.blocked else "is not blocked"
        return Report(f"{no}, {label} {state}: I checked {where} and {said}.", f"{where} checked, nothing blocks", tuple(way[:3]))

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
                if obstacle is not None and fit(obstacle, name, view) < KIND and not self._says_of(name, obstacle):
                    continue
                blocked = evidence.judge("blocked", view.node(name).attributes)
                suspect = obstacle is not None or view.rank(name, roles.obstacles) is not None
                if view.rank(region, roles.ways) is not None and view.rank(name, roles.fixtures) is None:
                    suspect |= view.rank(name, roles.obstacles_on_ways) is not None or not view.concepts(name)
                if blocked is None and suspect and looks < MAX_LOOKS:
                    looks += 1
                    self._look(name, "is it blocking the way", f"{name} is on {region}; whether it blocks the way is not known yet")
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
        options = named or [n for n in self._ordered(intent.target) if fit(intent.target, n, self._view) == fit(intent.target, name, self._view)]
        for option in options:
            place = self._view.place(option)
            if place is not None and self._get_near(option):
                blocker = self._blocker(self._way_to(place), None) if self._view.here != place else None
                if blocker is not None:
                    return Report(f"No, {self._at(blocker)} is blocking the way to {option}{self._because(blocker, 'blocked')}.", f"{blocker} blocks the way", (blocker, option))
                if self._be_at(place, (option,), f"{option} is connected; go there to be sure"):
                    return Report(f"Yes, you can get to {option}: I am there now.", f"the robot reached {option}", (option,))
        name = options[0]
        gates = [o for o in self._view.graph.objects if evidence.judge("blocked", self._view.node(o).attributes)]
        nearest = min(gates, key=lambda o: self._view.gap(o, name), default=None)
        why = f"; {self._at(nearest)} is in the way" if nearest is not None and self._view.gap(nearest, name) <= 2 * self._view.radius else ""
        return Report(f"No, {name} cannot be reached: no path leads there{why}.", f"no path to {name} found", (name,), found=False)

    def _unreached(self, target: Target, opening: str) -> Report:
        return Report(f"{opening}, I could not find a way to {_article(told(target))}.", f"{told(target)} was not found", found=False)

    def _around(self, intent: Around) -> Report:
        name = self._resolve(intent.target)
        if name is None:
            return self._missing(intent.target)
        regions = [r for r in self._view.views(name) if self._can_go(r)] or [self._view.place(name) or self._view.here]
        for region in regions[:2]:
            self._survey(region, f"{name} is seen from {region}, which is not mapped yet")
        near = self._neighbours(name)
        if self._view.is_region(name):
            near = sorted(self._view.graph.objects_at(name), key=lambda o: self._view.gap(o, name)) or self._view.graph.neighbours(name)
        what = f"{shown(near, 5)} {_be(near)}" if near else "nothing is"
        return Report(f"{what[0].upper() if not near else what[0]}{what[1:]} near {self._at(name)}.", f"{regions[0]} is mapped; {shown(near, 3) or 'nothing'} seen near {name}", (name, *near[:3]))

    def _hazards(self, intent: Hazards) -> Report:
        view, roles = self._view, self._knowledge.roles
        where = intent.where if intent.where is not None and self._resolve(intent.where) is not None else None
        if where is not None:
            regions = set(self._regions_of(where))
            objects = [o for r in regions for o in view.graph.objects_at(r)]
        else:
            objects = view.graph.objects
        dangerous: dict[str, str] = {}
        looks = 0
        for name in sorted(dict.fromkeys(objects), key=lambda o: (view.rank(o, tuple(roles.hazards)) is None, view.distance(o))):
            rank = view.rank(name, tuple(roles.hazards))
            attributes = view.node(name).attributes
            said = evidence.judge("dangerous", attributes)
            suspect = rank is not None or view.rank(name, roles.possible_hazards) is not None
            if said is None and suspect and looks < MAX_LOOKS:
                looks += 1
                self._look(name, "is it dangerous", f"{name} at {view.place(name)} could be dangerous; look closer")
                said = evidence.judge("dangerous", view.node(name).attributes)
            if said or (said is None and rank is not None):
                dangerous[name] = list(roles.hazards.values())[rank] if rank is not None else "dangerous"
        if where is not None:
            self._sweep(where, Target(words="hazard"))
        else:
            self._go_on(self._search.step(Looking("hazard", tuple(roles.hazards), ("laboratory", "workshop", "kitchen", "construction site"))))
        if dangerous:
            listed = shown([f"{self._at(n)} ({why})" for n, why in dangerous.items()], 3)
            return Report(f"Yes, be careful: {listed}.", f"{shown(list(dangerous), 3)} {_be(list(dangerous))} dangerous", tuple(dangerous))
        place = f" in {shown(self._regions_of(where), 3)}" if where is not None else ""
        return Report(f"No, there is nothing dangerous{place}.", f"nothing dangerous seen{place}", tuple(self._regions_of(where)[:3]) if where is not None else ())

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
        if intent.direction != "center" and ("explore_region", best) not in self._memory.failed and best not in self._memory.explored:
            radius = min(view.radius, self._memory.radius_limit(best))
            self._do(ExploreRegion(region=best, radius=radius), f"{best} is the farthest known region to {toward}; look for more", (best,))
        beyond = [r for r in view.regions if r not in view.distances and r not in self._memory.lost and along(r) > along(best)]
        if beyond and intent.direction != "center":
            self._go_on(self._search.toward(max(beyond, key=lambda r: (along(r), r))))
        self._be_at(best, (best,), f"{best} is the region farthest to {toward}; go there")
        return Report(f"I am at {best}, in {toward} of the scene.", f"{best} is farthest to {toward}", (best,))

    def _list(self, intent: ListThings) -> Report:
        view = self._view
        if intent.where is not None:
            if self._resolve(intent.where) is None:
                return self._missing(intent.where)
            self._sweep(intent.where, intent.target)
            names = [o for r in self._regions_of(intent.where) for o in view.graph.objects_at(r)]
        elif intent.target is None:
            self._survey(view.here if not self._memory.deeds else self._memory.deeds[0].target, "look around first")
            names = [o for r in self._memory.mapped for o in view.graph.objects_at(r)] if self._memory.mapped else view.graph.objects
        else:
            self._go_on(self._search.step(self._looking(intent.target)))
            names = list(view.graph)
        if intent.target is not None:
            bare = intent.target.model_copy(update={"pick": "all"})
            names = [n for n in names if fit(bare, n, view) >= KIND and self._suits(bare, n)]
        names = list(dict.fromkeys(names))
        label = told(intent.target) if intent.target is not None else "object"
        where = f" at {shown(self._regions_of(intent.where), 3)}" if intent.where is not None else ""
        if not names:
            return Report(f"There is no {label}{where}: I found 0.", f"no {label} seen", found=False)
        return Report(f"I found {len(names)} {label if len(names) == 1 else label + 's'}{where}: {shown(names, 6)}.", f"{len(names)} seen", tuple(names))


_DIRECTIONS: dict[Direction, tuple[float, float]] = {
    "north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0), "northeast": (1, 1), "northwest": (-1, 1),
    "southeast": (1, -1), "southwest": (-1, -1), "center": (0, 0),
}  # fmt: skip


def _be(names: Iterable[str]) -> str:
    return "are" if len(tuple(names)) > 1 else "is"


def _article(label: str) -> str:
    return label if any(c.isdigit() for c in label) else f"the {label}"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3].rsplit(" ", 1)[0].rstrip(",;:") + "..."


def answered(report: Report) -> Answer:
    """The report as the action that ends the task."""
    return Answer(message=report.message)
