"""Questions about what there is: existence, room for something, what is near, dangers, numbers."""

from __future__ import annotations

import random

from prism_distill.scenarios.drafts import (
    Begin,
    Draft,
    Finish,
    Intent,
    Kind,
    looked_at_all,
    named,
    names,
    noun_slots,
    seen_one,
    target,
    views,
)
from prism_distill.scenarios.english import countable, plural
from prism_distill.scenarios.lexicon import categories, concept, kinds_of
from prism_distill.scenarios.searches import affords, free_regions, properties_of, serving
from prism_distill.scenarios.targets import any_of_family, call, call_region, one_of_its_kind, whole
from prism_distill.scenarios.world import World
from prism_planner.domains.spine.expert.knowledge import knowledge

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
            if world.find_places(category.concept) or bool(things) != present or world.ambiguous(category):
                return None
            words = rng.choice(category.words)
            draft = Draft(noun_slots(words), {"kind": "exists", "target": target(words)}, says=present)
            if present:
                if not all(t.hidden for t in things):
                    return None
                seen_one(draft, things)
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
        regions = whole(world, way.concept)
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
            seen_one(draft, there)
            return draft if any(t.hidden for t in there) else None
        looked_at_all(world, draft, regions)
        return draft

    return finish


def exists_in(world: World, rng: random.Random) -> Finish | None:
    """Whether there is such a thing in one region."""
    place = one_of_its_kind(world, rng)
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
        if len(whole(world, place.concept)) != 1 or world.ambiguous(category):
            return None
        there = [t for t in world.find(category.concept) if t.place is place]
        words, where = rng.choice(category.words), call_region(place, rng)
        draft = Draft(
            {**noun_slots(words), "place": where},
            {"kind": "exists", "target": target(words, near=target(where))},
            says=bool(there),
        )
        if there:
            seen_one(draft, there)
            return draft if all(t.hidden for t in there) else None
        looked_at_all(world, draft, [place])
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
                if n in serving(activity) and world.can_add(n) and only in ("", n)
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
            if not others or world.find_places(thing.concept) or world.ambiguous(thing.category):
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
        where = one_of_its_kind(world, rng) if inside else None
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
            if where is not None and len(whole(world, where.concept)) != 1:
                return None
            harmful = [t for t in suspects if t.truth["dangerous"]]
            words = call_region(where, rng) if where is not None else ""
            means: dict[str, object] = {"kind": "hazards"}
            if where is not None:
                means["where"] = target(words)
            draft = Draft({"place": words}, means, says=bool(harmful))
            if harmful:
                draft.success = [{"inspected": names(harmful)}]
                draft.needs = [views(harmful)]
            elif where is not None:
                looked_at_all(world, draft, [where])
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
    place = one_of_its_kind(world, rng)
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
        if len(whole(world, place.concept)) != 1 or len(things) >= len(_NUMBERS):
            return None
        if world.ambiguous(category):
            return None
        words, where = rng.choice([w for w in category.words if countable(w)]), call_region(place, rng)
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
    place = one_of_its_kind(world, rng)
    if place is None:
        return None
    for _ in range(2):
        options = [n for n in place.kind.has if world.can_add(n)]
        if options:
            world.plant(rng.choice(options), place=place)

    def finish() -> Draft | None:
        things = place.things
        if (
            len(whole(world, place.concept)) != 1
            or not 1 <= len(things) <= 6
            or not any(t.hidden for t in things)
        ):
            return None
        where = call_region(place, rng)
        return Draft(
            {"place": where},
            {"kind": "list", "where": target(where)},
            [{"mapped": world.near(place)}, *({"answer_mentions": [t.name]} for t in things)],
            needs=[[place]],
        )

    return finish


QUESTIONS: dict[str, Kind] = {
    "exists": Kind(5, False, {family: Intent("exists", exists(family)) for family in EXISTS_FAMILIES}),
    "exists at a place": Kind(4, False, {
        "debris on a way": Intent("exists_on", exists_on_way),
        "in a region": Intent("exists_in", exists_in),
    }),
    "capacity": Kind(4, False, {name: Intent(group, capacity(name)) for name, (group, _) in _ROOM.items()}),
    "around": Kind(5, False, {family: Intent("around", around(family)) for family in AROUND_FAMILIES}),
    "hazards": Kind(4, False, {
        "anywhere": Intent("hazards", hazards(inside=False)),
        "in a region": Intent("hazards_in", hazards(inside=True)),
    }),
    "count": Kind(3, False, {"in a region": Intent("count", count)}),
    "list": Kind(3, False, {"in a region": Intent("list_in", list_in)}),
}  # fmt: skip
"""As `commands.COMMANDS`."""
