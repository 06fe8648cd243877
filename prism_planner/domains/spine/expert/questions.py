"""Questions about things: their state, their existence, what is near, what is dangerous, how many."""

from __future__ import annotations

from dataclasses import replace

from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.spine.expert.groundwork import (
    MAX_LOOKS,
    Groundwork,
    Report,
    be,
    cut,
)
from prism_planner.domains.spine.expert.intent import (
    Around,
    Ask,
    Condition,
    Exists,
    Hazards,
    ListThings,
    Target,
)
from prism_planner.domains.spine.expert.matching import (
    KIND,
    fit,
    part_of,
    told,
    wanted,
)
from prism_planner.domains.spine.expert.search import Looking
from prism_planner.domains.spine.expert.words import shown


class Questions(Groundwork):
    """Strategies for questions about what there is."""

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
            return Report(
                f"I cannot tell whether {self._at(name)} is {word}: {facts}.",
                f"{name} shows nothing about it",
                (name,),
                found=False,
            )
        verdict = f"Yes, {self._at(name)} is {word}" if said else f"No, {self._at(name)} is not {word}"
        facts = self._because(name, intent.condition.property)
        return Report(
            f"{verdict}{facts}.", f"{name} is {'' if said else 'not '}{word}{cut(facts, 60)}", (name,)
        )

    def _state(self, name: str, condition: Condition) -> bool | None:
        """Whether a node meets a condition, after a look at it and, for a region, at what is there."""
        said = self._meets(condition, name)
        if said is None and self._view.is_region(name):
            votes = [
                evidence.holds(condition, self._view.node(o).attributes, o)
                for o in self._view.graph.objects_at(name)
            ]
            if condition.property == "built" and any(
                self._view.is_a(o, "construction") for o in self._view.graph.objects_at(name)
            ):
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
                self._go_on(
                    self._search.step(
                        replace(looking, label=f"{word} {looking.label}" if intent.any else looking.label)
                    )
                )
        word = evidence.words_for(condition)
        if true:
            fact = self._because(true[0], condition.property) if len(true) == 1 else ""
            rest = f"; {shown(false)} {be(false)} not" if false else ""
            return Report(
                f"Yes, {shown(true)} {be(true)} {word}{fact}{rest}.",
                f"{shown(true)} {be(true)} {word}",
                tuple(true),
            )
        if false:
            return Report(
                f"No, {shown(false)} {be(false)} not {word}.",
                f"{shown(false)} {be(false)} not {word}",
                tuple(false),
            )
        if states:
            return Report(
                f"I cannot tell: {shown(list(states))} show nothing about it.",
                "nothing seen says so",
                tuple(states),
                found=False,
            )
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
            return Report(
                f"Yes, there is {self._at(name)}.", f"{name} is seen from {self._view.place(name)}", (name,)
            )
        place = target.near
        anchor = self._resolve(place)
        if anchor is None:
            return self._missing(place)
        bare = target.model_copy(update={"near": None})

        def there() -> list[str]:
            names = [o for r in self._regions_of(place) for o in self._view.graph.objects_at(r)]
            return [
                o for o in dict.fromkeys(names) if fit(bare, o, self._view) >= KIND or self._says(o, bare)
            ]

        for name in there():
            self._look(
                name, f"is it {told(bare)}", f"{name} is on {self._view.place(name)}; it may be {told(bare)}"
            )
            if all(self._meets(c, name) is not False for c in bare.conditions):
                return Report(
                    f"Yes, there is {self._at(name)}.",
                    f"{name} is {told(bare)} on {self._view.place(name)}",
                    (name,),
                )
        self._sweep(place, bare)
        regions = self._regions_of(place)
        return Report(
            f"No, there is no {told(bare)} on {shown(regions) or told(place)}.",
            f"{shown(regions)} mapped, no {told(bare)} seen",
            tuple(regions),
        )

    def _says(self, name: str, target: Target) -> bool:
        """Whether an attribute of a node says that it is the target: `debris: yes, broken wood`."""
        attributes = self._view.node(name).attributes
        return any(
            evidence.key_words(k) in wanted(target).phrases and v.lower().startswith("yes")
            for k, v in attributes.items()
        )

    def _around(self, intent: Around) -> Report:
        name = self._resolve(intent.target)
        if name is None:
            return self._missing(intent.target)
        regions = [r for r in self._view.views(name) if self._can_go(r)] or [
            self._view.place(name) or self._view.here
        ]
        for region in regions[:2]:
            self._survey(region, f"{name} is seen from {region}, which is not mapped yet")
        near = self._neighbours(name)
        if self._view.is_region(name):
            near = sorted(
                self._view.graph.objects_at(name), key=lambda o: self._view.gap(o, name)
            ) or self._view.graph.neighbours(name)
        what = f"{shown(near, 5)} {be(near)}" if near else "nothing is"
        return Report(
            f"{what[0].upper() if not near else what[0]}{what[1:]} near {self._at(name)}.",
            f"{regions[0]} is mapped; {shown(near, 2) or 'nothing'} seen near {name}",
            (name, *near[:3]),
        )

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
        for name in sorted(
            dict.fromkeys(objects),
            key=lambda o: (view.rank(o, tuple(roles.hazards)) is None, view.distance(o)),
        ):
            rank = view.rank(name, tuple(roles.hazards))
            attributes = view.node(name).attributes
            said = evidence.judge("dangerous", attributes)
            suspect = rank is not None or view.rank(name, roles.possible_hazards) is not None
            if said is None and suspect and looks < MAX_LOOKS:
                looks += 1
                self._look(
                    name, "is it dangerous", f"{name} at {view.place(name)} could be dangerous; look closer"
                )
                said = evidence.judge("dangerous", view.node(name).attributes)
            if said or (said is None and rank is not None):
                dangerous[name] = list(roles.hazards.values())[rank] if rank is not None else "dangerous"
        if where is not None:
            self._sweep(where, Target(words="hazard"))
        else:
            self._go_on(
                self._search.step(
                    Looking(
                        "hazard",
                        tuple(roles.hazards),
                        ("laboratory", "workshop", "kitchen", "construction site"),
                    )
                )
            )
        if dangerous:
            listed = shown([f"{self._at(n)} ({why})" for n, why in dangerous.items()], 3)
            return Report(
                f"Yes, be careful: {listed}.",
                f"{shown(list(dangerous), 3)} {be(list(dangerous))} dangerous",
                tuple(dangerous),
            )
        place = f" in {shown(self._regions_of(where), 3)}" if where is not None else ""
        return Report(
            f"No, there is nothing dangerous{place}.",
            f"nothing dangerous seen{place}",
            tuple(self._regions_of(where)[:3]) if where is not None else (),
        )

    def _list(self, intent: ListThings) -> Report:
        view = self._view
        if intent.where is not None:
            if self._resolve(intent.where) is None:
                return self._missing(intent.where)
            self._sweep(intent.where, intent.target)
            names = [o for r in self._regions_of(intent.where) for o in view.graph.objects_at(r)]
        elif intent.target is None:
            self._survey(
                view.here if not self._memory.deeds else self._memory.deeds[0].target, "look around first"
            )
            names = (
                [o for r in self._memory.mapped for o in view.graph.objects_at(r)]
                if self._memory.mapped
                else view.graph.objects
            )
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
        return Report(
            f"I found {len(names)} {label if len(names) == 1 else label + 's'}{where}: {shown(names, 6)}.",
            f"{len(names)} seen",
            tuple(names),
        )
