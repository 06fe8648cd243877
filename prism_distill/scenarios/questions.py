"""Questions about the world: states, existence, room, passage, what is near, dangers, numbers."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from prism_distill.scenarios.commands import any_of_family
from prism_distill.scenarios.drafts import (
    Begin,
    Criterion,
    Draft,
    Finish,
    Intent,
    Kind,
    call,
    named,
    names,
    noun_slots,
    target,
    views,
)
from prism_distill.scenarios.english import countable, plural
from prism_distill.scenarios.lexicon import categories, concept, kinds_of, traits
from prism_distill.scenarios.searches import affords, free_regions, properties_of
from prism_distill.scenarios.world import Place, Thing, World
from prism_planner.domains.spine.expert.knowledge import knowledge

# States


@dataclass(frozen=True, slots=True)
class State:
    """A question about the state of one thing. families: what it is asked of. mine: of the user's only."""

    group: str
    property: str
    families: tuple[str, ...]
    mine: bool = False
    only: tuple[str, ...] = ()


STATES = {
    "my vehicle damaged": State("ask_mine_damaged", "damaged", ("vehicle",), mine=True),
    "structure damaged": State("ask_damaged", "damaged", ("structure",)),
    "furniture damaged": State("ask_damaged", "damaged", ("furniture", "storage", "seat")),
    "play equipment damaged": State("ask_damaged", "damaged", ("play", "sport")),
    "vehicle damaged": State("ask_damaged", "damaged", ("vehicle",)),
    "seat occupied": State("ask_occupied", "occupied", ("seat",)),
    "furniture occupied": State("ask_occupied", "occupied", ("furniture",)),
    "parking space occupied": State("ask_occupied", "occupied", ("space",)),
    "electronics working": State("ask_working", "working", ("electronics",)),
    "appliance working": State("ask_working", "working", ("appliance", "sanitary")),
    "machine working": State("ask_working", "working", ("machine", "lab", "robot")),
    "door open": State("ask_open", "open", ("fixture",)),
    "door locked": State("ask_locked", "locked", ("fixture", "storage")),
    "bin full": State("ask_full", "full", ("bin", "storage", "space")),
    "stairs wet": State("ask_wet", "wet", ("fixture",), only=("stairs",)),
    "appliance clean": State("ask_clean", "clean", ("appliance", "sanitary", "tableware")),
    "plant healthy": State("ask_healthy", "healthy", ("plant",)),
    "animal healthy": State("ask_healthy", "healthy", ("animal",)),
    "play equipment built": State("ask_built", "built", ("play", "place")),
    "seat shaded": State("ask_shaded", "shaded", ("seat",)),
    "desk staffed": State("ask_staffed", "staffed", ("furniture",)),
    "thing dangerous": State("ask_dangerous", "dangerous", ("hazard", "robot", "machine")),
    "gadget charged": State("ask_charged", "charged", ("belonging",), mine=True),
}  # fmt: skip


def ask(state: State) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        options = sorted(
            {
                n
                for p in world.places
                if not p.isolated
                for n in p.kind.has
                if categories()[n].family in state.families
                and state.property in properties_of(n)
                and world.can_add(n)
                and (not state.mine or categories()[n].own)
                and (not state.only or n in state.only)
            }
        )
        options = [n for n in options if not world.find(categories()[n].concept)]
        if not options:
            return None
        chosen = rng.choice(options)
        thing = world.plant(
            chosen, truth={state.property: rng.random() < 0.5}, mine=True if state.mine else None
        )
        if thing is None:
            return None
        if state.mine and rng.random() < 0.5:
            world.plant(chosen, mine=False)
        world.close(chosen)

        def finish() -> Draft | None:
            if state.property not in thing.truth or world.find_places(thing.concept):
                return None
            if not state.mine and world.find(thing.concept) != [thing]:
                return None
            words = call(thing.category, thing, rng)
            asked = target(words, mine=True) if state.mine else target(words)
            return Draft(
                noun_slots(words),
                {"kind": "ask", "target": asked, "condition": {"property": state.property, "value": True}},
                [{"inspected": [thing.name]}],
                needs=[[thing.place]],
                says=thing.truth[state.property],
            )

        return finish

    return begin


_ROOFED = ("building", "house", "shed", "barn", "greenhouse")
_OTHER_ROOFS = ("gazebo", "hangar")
_MOST_ROOFS = 4


def ask_roofs(world: World, rng: random.Random) -> Finish | None:
    """Whether any roof is damaged: one that is suffices for yes, all have to be seen for no."""
    if any(world.find(concept(name)) for name in (*_ROOFED, *_OTHER_ROOFS)):
        return None
    options = [n for n in _ROOFED if world.sites(n) and world.can_add(n)]
    if not options:
        return None
    damaged = rng.random() < 0.5
    count = rng.randint(1, _MOST_ROOFS)
    for i in range(count):
        world.plant(rng.choice(options), truth={"damaged": damaged and (i == 0 or rng.random() < 0.2)})
    world.close(*_ROOFED, *_OTHER_ROOFS)

    def finish() -> Draft:
        roofed = [t for t in world.things if t.category.name in _ROOFED]
        broken = [t for t in roofed if t.truth["damaged"]]
        success: list[Criterion] = [{"inspected": [t.name]} for t in roofed]
        return Draft(
            {},
            {"kind": "ask", "target": target("roof"), "condition": {"property": "damaged"}, "any": True},
            [{"inspected": names(broken)}] if broken else success,
            needs=[views(broken)] if broken else [[t.place] for t in roofed],
            says=bool(broken),
        )

    return finish


_ANCHORS = (
    "table",
    "tree",
    "window",
    "television",
    "fountain",
    "plant",
    "picnic table",
    "gazebo",
    "coffee table",
    "bookshelf",
    "group of trees",
    "whiteboard",
    "piano",
    "vending machine",
)


def ask_near(world: World, rng: random.Random) -> Finish | None:
    """Whether all the seats near something are taken."""
    places = [p for p in world.places if not p.isolated]
    rng.shuffle(places)
    for place in places:
        seats = [
            n
            for n in place.kind.has
            if categories()[n].family == "seat" and place.kind.has[n] and world.can_add(n)
        ]
        anchors = [
            n for n in _ANCHORS if n in place.kind.has and world.can_add(n) and not world.find(concept(n))
        ]
        if not seats or not anchors:
            continue
        seat, anchor = rng.choice(seats), rng.choice(anchors)
        if categories()[seat].concept == concept(anchor):
            continue
        taken = rng.random() < 0.5
        for thing in place.things:
            if thing.category.name == seat:
                thing.truth["occupied"] = taken
        planted = [
            world.plant(seat, place=place, truth={"occupied": taken}) for _ in range(rng.randint(2, 3))
        ]
        stands = world.plant(anchor, place=place)
        if stands is None or None in planted:
            return None
        world.close(seat, anchor)

        def finish(
            place: Place = place, seat: str = seat, stands: Thing = stands, taken: bool = taken
        ) -> Draft | None:
            near = [t for t in world.find(categories()[seat].concept) if t.place is place]
            others = [t for t in world.find(categories()[seat].concept) if t.place is not place]
            if any(math.dist(t.at, stands.at) <= 7.0 for t in others) or any(
                t.truth["occupied"] != taken for t in near
            ):
                return None
            words = call(categories()[seat], near[0], rng)
            other = call(stands.category, stands, rng)
            return Draft(
                {**noun_slots(words), "anchor": other},
                {
                    "kind": "ask",
                    "target": target(words, near=target(other), pick="all"),
                    "condition": {"property": "occupied"},
                },
                [{"inspected": [t.name]} for t in near],
                needs=[[place]],
                says=taken,
            )

        return finish
    return None


# Existence

_MASSES = {"debris": ("debris", "rubble", "litter", "clutter")}
EXISTS_FAMILIES = (
    "safety",
    "electronics",
    "appliance",
    "vehicle",
    "animal",
    "tool",
    "bin",
    "sport",
    "robot",
    "furniture",
)


def exists(family: str) -> Begin:
    """Whether there is such a thing anywhere."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if rng.random() < 0.6:
            thing = any_of_family(world, rng, (family,))
            if thing is None:
                return None
            name, present = thing.category.name, True
        else:
            options = sorted(n for n, c in categories().items() if c.family == family and world.sites(n))
            options = [n for n in options if world.can_add(n) and not world.find(categories()[n].concept)]
            if not options:
                return None
            name, present = rng.choice(options), False
            world.close(name)

        def finish() -> Draft | None:
            category = categories()[name]
            things = world.find(category.concept)
            if world.find_places(category.concept) or bool(things) != present:
                return None
            words = rng.choice(category.words)
            draft = Draft(noun_slots(words), {"kind": "exists", "target": target(words)}, says=present)
            if present:
                if not all(t.hidden for t in things):
                    return None
                _seen(draft, things)
            else:
                # Nobody can look everywhere; but to look nowhere is no answer.
                hidden = [p for p in world.places if p.hidden]
                draft.success = [{"mapped": [p.name for p in world.places if not p.isolated]}]
                draft.needs = [[p] for p in hidden]
            return draft

        return finish

    return begin


def exists_on_way(world: World, rng: random.Random) -> Finish | None:
    """Whether there is debris on the path."""
    ways = [p for p in world.places if p.index == 0 or p.kind.name in world.theme.ways]
    way = rng.choice(ways)
    present = rng.random() < 0.5
    options = [n for n in way.kind.has if "debris" in kinds_of(categories()[n].concept) and world.can_add(n)]
    if present and (not options or world.plant(rng.choice(options), place=way) is None):
        return None
    if not present:
        world.close(*(n for n, c in categories().items() if "debris" in kinds_of(c.concept)))

    def finish() -> Draft | None:
        words = way.word if rng.random() < 0.7 else way.kind.name
        regions = _whole(world, way.concept)
        if not regions or words in ("area", "room"):
            return None
        there = [t for p in regions for t in p.things if "debris" in kinds_of(t.concept)]
        mass = rng.choice(_MASSES["debris"])
        draft = Draft(
            {"some": mass, "mass": mass, "place": words},
            {"kind": "exists", "target": target(mass, near=target(words))},
            says=bool(there),
        )
        if there:
            _seen(draft, there)
            return draft if any(t.hidden for t in there) else None
        _looked_at_all(world, draft, regions)
        return draft

    return finish


def exists_in(world: World, rng: random.Random) -> Finish | None:
    """Whether there is such a thing in one region."""
    place = _one_of_its_kind(world, rng)
    if place is None:
        return None
    options = [n for n in place.kind.has if world.can_add(n)]
    if not options:
        return None
    name = rng.choice(options)
    if rng.random() < 0.5:
        world.plant(name, place=place)
    elif any(t.category.name == name for t in place.things):
        return None
    else:
        world.close(name)

    def finish() -> Draft | None:
        category = categories()[name]
        if len(_whole(world, place.concept)) != 1:
            return None
        there = [t for t in world.find(category.concept) if t.place is place]
        words, where = rng.choice(category.words), _call(place, rng)
        draft = Draft(
            {**noun_slots(words), "place": where},
            {"kind": "exists", "target": target(words, near=target(where))},
            says=bool(there),
        )
        if there:
            _seen(draft, there)
            return draft if all(t.hidden for t in there) else None
        _looked_at_all(world, draft, [place])
        return draft

    return finish


# Room for something

_ROOM = {
    "park": ("capacity_park", "parking space"),
    "lock a bike": ("capacity_bike", "bike rack"),
    "sit": ("capacity_sit", ""),
}


def capacity(name: str) -> Begin:
    activity = knowledge().activities[name]
    _, only = _ROOM[name]

    def begin(world: World, rng: random.Random) -> Finish | None:
        options = sorted(
            {
                n
                for p in world.places
                if not p.isolated
                for n in p.kind.has
                if any(o in kinds_of(categories()[n].concept) for o in activity.objects)
                and world.can_add(n)
                and only in ("", n)
            }
        )
        if not options or (only and world.find(concept(only))):
            return None
        free = not only or rng.random() < 0.5
        count = rng.randint(1, 3)
        wanted = "full" if only == "bike rack" else "occupied"
        for i in range(count):
            taken = not (free and (i == 0 or rng.random() < 0.3))
            world.plant(rng.choice(options), truth={wanted: taken})
        if only:
            world.close(only)
            if not free and activity.place:
                # Every place of the kind has to be taken.
                for place in world.places:
                    if (
                        any(r in kinds_of(place.concept) for r in activity.regions)
                        and not place.isolated
                        and not any(t.category.name == only for t in place.things)
                    ):
                        return None
        return finish_for(world, rng)

    def finish_for(world: World, rng: random.Random) -> Finish:
        def finish() -> Draft | None:
            rated = {t: affords(t, activity) for t in world.things}
            good = [t for t, ok in rated.items() if ok]
            bad = [t for t, ok in rated.items() if ok is False]
            if not good and not only:
                return None
            draft = Draft(
                {"vehicle": rng.choice(("car", "truck", "van", "vehicle"))},
                {"kind": "capacity", "activity": name},
                says=bool(good),
            )
            if good:
                regions = free_regions(world, activity, good, bad) if activity.place else []
                draft.any_success = [[{"inspected": names(good)}]]
                if regions:
                    draft.any_success.append([{"mapped": names(regions)}])
                draft.needs = [[*views(good), *regions]]
            else:
                draft.success = [{"inspected": [t.name]} for t in bad]
                draft.needs = [[t.place] for t in bad]
            return draft

        return finish

    return begin


# Passage and reachability


def passage_to(*, asks_blocked: bool) -> Begin:
    """Whether the way to a place is clear: what blocks it stands where every path leads through."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if "blocked" in world.settled:
            return None
        goals = [
            p
            for p in world.places
            if p is not world.start and not p.isolated and len(_whole(world, p.concept)) == 1
        ]
        if not goals:
            return None
        goal = rng.choice(goals)
        world.settled.add("blocked")
        blocked = rng.random() < 0.5
        way = [p for p in world.between(goal) if p is not world.start]
        thing = _obstacle(world, rng, way, blocked)
        if blocked and thing is None:
            return None

        def finish() -> Draft | None:
            stuck = [t for t in world.things if t.truth.get("blocked")]
            if [t for t in stuck if t.place not in way] or bool(stuck) != blocked or world.find(goal.concept):
                return None
            if any(_shut(t) for p in world.places for t in p.things):
                return None
            words = _call(goal, rng)
            draft = Draft(
                noun_slots(words),
                {"kind": "passage", "destination": target(words), "blocked": asks_blocked},
                says=blocked == asks_blocked,
                needs=[[p] for p in way],
            )
            if blocked:
                draft.success = [{"inspected": names(stuck)}]
            else:
                draft.any_success = [[{"visited": [goal.name]}], [{"mapped": [goal.name]}]]
            return draft

        return finish

    return begin


def passage_way(*, asks_blocked: bool) -> Begin:
    """Whether a kind of way, all of it, is clear."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if "blocked" in world.settled:
            return None
        world.settled.add("blocked")
        kind = rng.choice(world.theme.ways)
        ways = [p for p in world.places if p.kind.name == kind]
        if not ways:
            return None
        blocked = rng.random() < 0.5
        if _obstacle(world, rng, ways, blocked) is None and blocked:
            return None

        def finish() -> Draft | None:
            words = rng.choice([_call(p, rng) for p in ways])
            regions = _whole(world, ways[0].concept)
            stuck = [t for p in regions for t in p.things if t.truth.get("blocked")]
            if any(_shut(t) for p in regions for t in p.things):
                return None
            draft = Draft(
                {"place": words},
                {"kind": "passage", "place": target(words), "blocked": asks_blocked},
                says=bool(stuck) == asks_blocked,
            )
            if stuck:
                draft.success = [{"inspected": names(stuck)}]
                draft.needs = [views(stuck)]
            else:
                _looked_at_all(world, draft, regions)
            return draft

        return finish

    return begin


_OBSTACLES = {"construction": ("construction", "roadwork", "building work"), "debris": ("debris", "rubble")}


def obstacle_on_way(general: str) -> Begin:
    """Whether construction, or debris, blocks a way."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if "blocked" in world.settled:
            return None
        world.settled.add("blocked")
        kind = rng.choice(world.theme.ways)
        ways = [p for p in world.places if p.kind.name == kind]
        blocked = rng.random() < 0.5
        options = [
            (p, n)
            for p in ways
            for n in p.kind.has
            if general in kinds_of(categories()[n].concept) and world.can_add(n)
        ]
        if not options:
            return None
        place, name = rng.choice(options)
        if world.plant(name, place=place, truth={"blocked": blocked}) is None:
            return None

        def finish() -> Draft | None:
            words = rng.choice([_call(p, rng) for p in ways])
            regions = _whole(world, ways[0].concept)
            suspects = [t for p in regions for t in p.things if general in kinds_of(t.concept)]
            if any("blocked" not in t.truth for t in suspects):
                return None
            stuck = [t for t in suspects if t.truth["blocked"]]
            mass = rng.choice(_OBSTACLES[general])
            draft = Draft(
                {"mass": mass, "place": words},
                {"kind": "passage", "place": target(words), "obstacle": target(mass), "blocked": True},
                says=bool(stuck),
            )
            if stuck:
                draft.success = [{"inspected": names(stuck)}]
                draft.needs = [views(stuck)]
            else:
                _looked_at_all(world, draft, regions)
                draft.success += [{"inspected": [t.name]} for t in suspects]
            return draft

        return finish

    return begin


def reach(*, cut_off: bool) -> Begin:
    """Whether one can get to a place; for no, it is cut off."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if "blocked" in world.settled:
            return None
        options = (
            world.loose_ends()
            if cut_off
            else [p for p in world.places if p is not world.start and not p.isolated]
        )
        goals = [p for p in options if len(_whole(world, p.concept)) == 1]
        if not goals or len(world.places) < 4:
            return None
        goal = rng.choice(goals)
        world.settled.add("blocked")
        if cut_off:
            world.isolate(goal)
        else:
            world.claim(goal)

        def finish() -> Draft | None:
            if world.find(goal.concept) or any(t.truth.get("blocked") or _shut(t) for t in world.things):
                return None
            words = _call(goal, rng)
            draft = Draft(noun_slots(words), {"kind": "reach", "target": target(words)}, says=not cut_off)
            if cut_off:
                near = world.near(goal)
                if not near:
                    return None
                draft.success = [{"mapped": near}]
            else:
                draft.success = [{"visited": [goal.name]}]
                draft.needs = [[goal]]
            return draft

        return finish

    return begin


# What is near, what is dangerous, how many there are

AROUND_FAMILIES = (
    "person",
    "furniture",
    "vehicle",
    "electronics",
    "nature",
    "structure",
    "seat",
    "plant",
    "animal",
    "safety",
)


def around(family: str) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = any_of_family(world, rng, (family,))
        if thing is None or world.find(thing.concept) != [thing]:
            return None
        world.close(thing.category.name)
        for _ in range(2):
            options = [n for n in thing.place.kind.has if world.can_add(n)]
            if options:
                world.plant(rng.choice(options), place=thing.place)

        def finish() -> Draft | None:
            others = [t for t in thing.place.things if t is not thing]
            if not others or world.find_places(thing.concept):
                return None
            words = call(thing.category, thing, rng)
            return Draft(
                noun_slots(words),
                {"kind": "around", "target": target(words)},
                [{"mapped": [thing.place.name]}, named(others)],
                needs=[[thing.place]],
            )

        return finish

    return begin


_MOST_HAZARDS = 4


def hazards(*, inside: bool) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        where = _one_of_its_kind(world, rng) if inside else None
        if inside and where is None:
            return None
        dangerous = rng.random() < 0.6
        world.always.update(("hazard_state", "robot_danger", "tool_danger"))
        world.close("bee hive")
        places = [where] if where is not None else [p for p in world.places if not p.isolated]
        options = [
            (p, n)
            for p in places
            for n in p.kind.has
            if categories()[n].family in ("hazard", "robot", "machine")
            and "dangerous" in properties_of(n)
            and world.can_add(n)
        ]
        if not options and dangerous:
            return None
        for i in range(rng.randint(1, 2) if options else 0):
            place, name = rng.choice(options)
            world.plant(name, place=place, truth={"dangerous": dangerous and (i == 0 or rng.random() < 0.5)})

        def finish() -> Draft | None:
            ranks = tuple(knowledge().roles.hazards)
            things = where.things if where is not None else world.things
            suspects = [
                t for t in things if any(r in kinds_of(t.concept) for r in ranks) or "dangerous" in t.truth
            ]
            if any("dangerous" not in t.truth for t in suspects) or len(suspects) > _MOST_HAZARDS:
                return None
            if where is not None and len(_whole(world, where.concept)) != 1:
                return None
            harmful = [t for t in suspects if t.truth["dangerous"]]
            words = _call(where, rng) if where is not None else ""
            means: dict[str, object] = {"kind": "hazards"}
            if where is not None:
                means["where"] = target(words)
            draft = Draft({"place": words}, means, says=bool(harmful))
            if harmful:
                draft.success = [{"inspected": names(harmful)}]
                draft.needs = [views(harmful)]
            elif where is not None:
                _looked_at_all(world, draft, [where])
                draft.success += [{"inspected": [t.name]} for t in suspects]
            else:
                draft.success = [{"mapped": [p.name for p in world.places if not p.isolated]}]
                draft.success += [{"inspected": [t.name]} for t in suspects]
                draft.needs = [[p] for p in world.places if p.hidden]
            return draft

        return finish

    return begin


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def count(world: World, rng: random.Random) -> Finish | None:
    """How many there are in one region."""
    place = _one_of_its_kind(world, rng)
    if place is None:
        return None
    options = [n for n, many in place.kind.has.items() if many and world.can_add(n) and countable(n)]
    if not options:
        return None
    name = rng.choice(options)
    for _ in range(rng.randint(1, 4)):
        world.plant(name, place=place)
    world.close(name)

    def finish() -> Draft | None:
        category = categories()[name]
        things = [t for t in world.find(category.concept) if t.place is place]
        if len(_whole(world, place.concept)) != 1 or len(things) >= len(_NUMBERS):
            return None
        words, where = rng.choice([w for w in category.words if countable(w)]), _call(place, rng)
        number = f"(?:{len(things)}|{_NUMBERS[len(things)]})"
        return Draft(
            {**noun_slots(words), "targets": plural(words), "place": where},
            {"kind": "list", "target": target(words), "where": target(where), "count": True},
            [{"mapped": world.near(place)}, {"answer_matches": rf"(?i)(?<![\w.]){number}(?![\w.]\d|\d|\w)"}],
            needs=[[place]],
        )

    return finish


def list_in(world: World, rng: random.Random) -> Finish | None:
    """What there is in one region."""
    place = _one_of_its_kind(world, rng)
    if place is None:
        return None
    for _ in range(2):
        options = [n for n in place.kind.has if world.can_add(n)]
        if options:
            world.plant(rng.choice(options), place=place)

    def finish() -> Draft | None:
        things = place.things
        if (
            len(_whole(world, place.concept)) != 1
            or not 1 <= len(things) <= 6
            or not any(t.hidden for t in things)
        ):
            return None
        where = _call(place, rng)
        return Draft(
            {"place": where},
            {"kind": "list", "where": target(where)},
            [{"mapped": world.near(place)}, *({"answer_mentions": [t.name]} for t in things)],
            needs=[[place]],
        )

    return finish


# Shared


def _whole(world: World, what: str) -> list[Place]:
    """The regions that "the path" means: all that are connected."""
    return [p for p in world.find_places(what) if not p.isolated]


def _one_of_its_kind(world: World, rng: random.Random) -> Place | None:
    places = [p for p in world.places if not p.isolated and len(_whole(world, p.concept)) == 1]
    places = [p for p in places if p.kind.name not in world.theme.ways]
    return world.claim(rng.choice(places)) if places else None


def _call(place: Place, rng: random.Random) -> str:
    said = place.description or place.word
    return said if rng.random() < 0.7 else rng.choice(place.kind.words)


def _seen(draft: Draft, things: list[Thing]) -> None:
    """Evidence for yes: one of them was looked for, looked at, or named although it was hidden."""
    hidden = [t for t in things if t.hidden]
    draft.any_success = [[{"inspected": names(things)}], [{"mapped": names(views(things))}]]
    if hidden:
        draft.any_success.append([named(hidden)])
    draft.needs = [views(things)]


def _looked_at_all(world: World, draft: Draft, places: list[Place]) -> None:
    """Evidence for no: every place was mapped, or explored from near by."""
    draft.success = [{"mapped": world.near(place)} for place in places]
    draft.needs = [[place] for place in places]


def _obstacle(world: World, rng: random.Random, places: list[Place], blocked: bool) -> Thing | None:
    """Something in the way, or beside it."""
    options = [
        (p, n)
        for p in places
        for n in p.kind.has
        if categories()[n].family in ("construction", "debris", "container")
        and "blocked" in properties_of(n)
        and world.can_add(n)
    ]
    if not options:
        return None
    place, name = rng.choice(options)
    return world.plant(name, place=place, truth={"blocked": blocked})


def _shut(thing: Thing) -> bool:
    """Whether it may be held to be in the way although it is only closed."""
    return (
        thing.truth.get("open") is False
        or thing.truth.get("locked") is True
        or any(
            traits()[t].property == "occupied"
            and thing.truth.get("occupied")
            and thing.category.family == "space"
            for t in thing.category.traits
        )
    )


QUESTIONS: dict[str, Kind] = {
    "ask": Kind(13, False, {name: Intent(state.group, ask(state)) for name, state in STATES.items()}),
    "ask about several": Kind(4, False, {
        "any roof damaged": Intent("ask_roofs", ask_roofs),
        "seats near something": Intent("ask_occupied_near", ask_near),
    }),
    "exists": Kind(5, False, {family: Intent("exists", exists(family)) for family in EXISTS_FAMILIES}),
    "exists at a place": Kind(4, False, {
        "debris on a way": Intent("exists_on", exists_on_way),
        "in a region": Intent("exists_in", exists_in),
    }),
    "capacity": Kind(4, False, {name: Intent(group, capacity(name)) for name, (group, _) in _ROOM.items()}),
    "passage": Kind(8, False, {
        "clear to a place": Intent("passage_to", passage_to(asks_blocked=False)),
        "blocked to a place": Intent("blocked_to", passage_to(asks_blocked=True)),
        "way clear": Intent("passage_way", passage_way(asks_blocked=False)),
        "way blocked": Intent("blocked_way", passage_way(asks_blocked=True)),
        "construction on a way": Intent("obstacle_way", obstacle_on_way("construction")),
        "debris on a way": Intent("obstacle_way", obstacle_on_way("debris")),
    }),
    "reach": Kind(4, False, {
        "connected": Intent("reach", reach(cut_off=False)),
        "cut off": Intent("reach", reach(cut_off=True)),
    }),
    "around": Kind(5, False, {family: Intent("around", around(family)) for family in AROUND_FAMILIES}),
    "hazards": Kind(4, False, {
        "anywhere": Intent("hazards", hazards(inside=False)),
        "in a region": Intent("hazards_in", hazards(inside=True)),
    }),
    "count": Kind(3, False, {"in a region": Intent("count", count)}),
    "list": Kind(3, False, {"in a region": Intent("list_in", list_in)}),
}  # fmt: skip
"""As `commands.COMMANDS`."""
