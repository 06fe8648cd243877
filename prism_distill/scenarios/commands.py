"""Tasks that say what to do with what: go, map, explore, inspect, sequences (paper, tables 5 to 7)."""

from __future__ import annotations

import math
import random
import re
from typing import Any

from prism_distill.scenarios.drafts import (
    Begin,
    Criterion,
    Draft,
    Finish,
    Intent,
    Kind,
    names,
    noun_slots,
    target,
    views,
)
from prism_distill.scenarios.lexicon import categories, traits
from prism_distill.scenarios.targets import any_of_family, call, call_region, meant, some_region
from prism_distill.scenarios.world import Place, Thing, World

GOTO_FAMILIES = (
    "seat",
    "furniture",
    "storage",
    "electronics",
    "appliance",
    "sanitary",
    "plant",
    "fixture",
    "safety",
    "vehicle",
    "structure",
    "nature",
    "container",
    "person",
    "play",
    "bin",
    "robot",
    "machine",
    "sport",
)
INSPECT_FAMILIES = (
    *GOTO_FAMILIES,
    "belonging",
    "lab",
    "tool",
    "decoration",
    "animal",
    "space",
    "food",
    "construction",
    "debris",
    "hazard",
)
MAP_FAMILIES = ("seat", "furniture", "vehicle", "structure", "nature", "electronics", "space")
_QUERIES = ("colour", "material", "species", "text", "contents", "brand", "size", "price", "use")
_MARGIN = 0.35
"""How deep the outermost part of a scene is, as a share of its extent."""
_CENTRAL = 0.5
"""Which share of the regions is its middle."""


def goto_region(world: World, rng: random.Random) -> Finish | None:
    place = some_region(world, rng)

    def finish() -> Draft | None:
        words = call_region(place, rng)
        things, places = meant(world, place.concept)
        goals = [*places, *views(things)]
        if world.start in goals:
            return None
        return Draft(noun_slots(words), _plain("goto", words), [{"ended_at": names(goals)}], needs=[goals])

    return finish


def goto_numbered(world: World, rng: random.Random) -> Finish | None:
    place = some_region(world, rng)

    def finish() -> Draft | None:
        if place is world.start:
            return None
        words = place.name if rng.random() < 0.5 else place.name.replace("_", " ")
        return Draft(noun_slots(words), _plain("goto", words), [{"ended_at": [place.name]}], needs=[[place]])

    return finish


def goto_family(family: str) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = any_of_family(world, rng, (family,))
        if thing is None:
            return None

        def finish() -> Draft | None:
            words = call(thing.category, thing, rng)
            things, places = meant(world, thing.concept)
            goals = [*views(things), *places]
            if world.start in goals:
                return None
            return Draft(
                noun_slots(words), _plain("goto", words), [{"ended_at": names(goals)}], needs=[goals]
            )

        return finish

    return begin


def map_region(world: World, rng: random.Random) -> Finish | None:
    place = some_region(world, rng)

    def finish() -> Draft:
        words = call_region(place, rng)
        things, places = meant(world, place.concept)
        goals = [*places, *views(things)]
        return Draft(noun_slots(words), _plain("map", words), [{"mapped": names(goals)}], needs=[goals])

    return finish


def map_numbered(world: World, rng: random.Random) -> Finish | None:
    place = some_region(world, rng)

    def finish() -> Draft:
        words = place.name if rng.random() < 0.5 else place.name.replace("_", " ")
        return Draft(noun_slots(words), _plain("map", words), [{"mapped": [place.name]}], needs=[[place]])

    return finish


def map_family(family: str, *, around: bool) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = any_of_family(world, rng, (family,))
        if thing is None:
            return None

        def finish() -> Draft | None:
            words = call(thing.category, thing, rng)
            things, places = meant(world, thing.concept)
            goals = [*views(things), *places]
            return Draft(
                noun_slots(words),
                {"kind": "map", "target": target(words), "around": around},
                [{"mapped": names(goals)}],
                needs=[goals],
            )

        return finish

    return begin


def map_here(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    return lambda: Draft({}, {"kind": "map"}, [{"mapped": [world.start.name]}])


def explore_here(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    start = world.start.name
    return lambda: Draft({}, {"kind": "explore"}, [{"order": [{"visited": start}, {"explored": start}]}])


def explore_region(*, radius: bool) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        place = some_region(world, rng)

        def finish() -> Draft:
            words = call_region(place, rng)
            things, places = meant(world, place.concept)
            goals = [*places, *views(things)]
            slots, means = noun_slots(words), _plain("explore", words)
            if radius:
                metres = rng.choice((10, 15, 20, 25) if world.theme.setting != "aerial" else (40, 50, 60, 80))
                slots["radius"], means["radius"] = str(metres), metres
            return Draft(slots, means, [_explored(world, goals)], needs=[goals])

        return finish

    return begin


def inspect_family(family: str) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = any_of_family(world, rng, (family,))
        if thing is None:
            return None

        def finish() -> Draft:
            words = call(thing.category, thing, rng)
            things = world.find(thing.concept)
            return Draft(
                noun_slots(words),
                _plain("inspect", words),
                [{"inspected": names(things)}],
                needs=[views(things)],
            )

        return finish

    return begin


def inspect_numbered(world: World, rng: random.Random) -> Finish | None:
    thing = any_of_family(world, rng, INSPECT_FAMILIES)
    if thing is None:
        return None

    def finish() -> Draft:
        words = thing.name if rng.random() < 0.5 else thing.name.replace("_", " ")
        return Draft(
            noun_slots(words), _plain("inspect", words), [{"inspected": [thing.name]}], needs=[[thing.place]]
        )

    return finish


def inspect_query(query: str) -> Begin:
    """What colour something has, and the like: the answer must say it."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        fitting = [
            (name, trait)
            for name in sorted({n for p in world.places if not p.isolated for n in p.kind.has})
            for trait in categories()[name].traits
            if not traits()[trait].property and traits()[trait].holds[0][0] == query and world.can_add(name)
        ]
        if not fitting:
            return None
        name, trait = rng.choice(fitting)
        thing = world.plant(name)
        if thing is None:
            return None
        thing.shown.add(trait)
        world.close(name)

        def finish() -> Draft | None:
            value = thing.attributes.get(query)
            if value is None or world.find(thing.concept) != [thing] or world.ambiguous(thing.category):
                return None
            words = call(thing.category, thing, rng)
            slots = {**noun_slots(words), "query": query}
            means = {"kind": "inspect", "target": target(words), "query": query}
            return Draft(
                slots,
                means,
                [{"inspected": [thing.name]}, {"answer_matches": rf"(?i)(?<!\w){re.escape(value)}(?!\w)"}],
                needs=[[thing.place]],
            )

        return finish

    return begin


# Sequences

Step = tuple[str, dict[str, Any], Criterion, list[Place]]
"""Words, intent, the deed as an item of `order`, and the places where it can be done."""


def sequence(*deeds: str, home: bool = False, ordered: bool = True) -> Begin:
    """Deeds (`goto`, `map`, `explore`, `inspect`) with different targets, and perhaps back to the start."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        picks: list[Place | Thing] = []
        for deed in deeds:
            of_thing = deed == "inspect" or (deed == "goto" and rng.random() < 0.4)
            pick = any_of_family(world, rng, INSPECT_FAMILIES) if of_thing else some_region(world, rng)
            if pick is None or pick.concept in {p.concept for p in picks}:
                return None
            picks.append(pick)

        def finish() -> Draft | None:
            steps = [_step(world, deed, pick, rng) for deed, pick in zip(deeds, picks, strict=True)]
            if any(a[0] == b[0] for a in steps for b in steps if a is not b):
                return None
            slots: dict[str, str] = {}
            for slot, (words, *_) in zip(("first", "second", "third"), steps, strict=False):
                slots.update(noun_slots(words, slot))
            slots.update(noun_slots(steps[0][0]))
            means = [step[1] for step in steps]
            order = [step[2] for step in steps]
            if home:
                # Going there and back is no journey when the place is where the robot stands.
                if world.start in steps[0][3]:
                    return None
                means.append({"kind": "home"})
                order.append({"ended_at": world.start.name})
            elif deeds[-1] == "goto":
                if world.start in steps[-1][3]:
                    return None
                order.append({"ended_at": names(steps[-1][3])})
            if deeds[0] == "goto" and world.start in steps[0][3]:
                return None
            success = (
                [{"order": order}] if ordered else [{"inspected": step[2]["inspected"]} for step in steps]
            )
            return Draft(
                slots, {"kind": "sequence", "steps": means}, success, needs=[step[3] for step in steps]
            )

        return finish

    return begin


def _step(world: World, deed: str, pick: Place | Thing, rng: random.Random) -> Step:
    words = call_region(pick, rng) if isinstance(pick, Place) else call(pick.category, pick, rng)
    things, places = meant(world, pick.concept)
    if deed == "inspect":
        return words, _plain("inspect", words), {"inspected": names(things)}, views(things)
    goals = list(dict.fromkeys((*places, *views(things))))
    done = {"goto": "visited", "map": "mapped", "explore": "explored"}[deed]
    return words, _plain(deed, words), {done: names(goals)}, goals


# Parts of the scene, landing

_DIRECTIONS = {
    "north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0),
    "northeast": (1, 1), "northwest": (-1, 1), "southeast": (1, -1), "southwest": (-1, -1),
}  # fmt: skip


def part(*, diagonal: bool) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        direction = rng.choice([d for d in _DIRECTIONS if (len(d) > 5) == diagonal])

        def finish() -> Draft | None:
            x, y = _DIRECTIONS[direction]
            open_ = [p for p in world.places if not p.isolated]
            along = {p: p.at[0] * x + p.at[1] * y for p in open_}
            low, high = min(along.values()), max(along.values())
            goals = [p for p in open_ if along[p] >= high - _MARGIN * (high - low)]
            known = [world.places[i] for i in world.known()]
            if world.start in goals or len(open_) < 5 or high - low < world.near_m * 0.6:
                return None
            # Whoever only knows the start has the farthest place of what is known, which has to do.
            needs = [goals] if max(known, key=lambda p: along[p]) not in goals else []
            return Draft(
                {"direction": f"{direction}ern", "direction_word": direction},
                {"kind": "part", "direction": direction},
                [{"ended_at": names(goals)}],
                needs=needs,
            )

        return finish

    return begin


def center(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    def finish() -> Draft | None:
        open_ = [p for p in world.places if not p.isolated]
        known = [world.places[i] for i in world.known()]
        goals: list[Place] = []
        for group in (open_, known):
            middle = (sum(p.at[0] for p in group) / len(group), sum(p.at[1] for p in group) / len(group))
            ranked = sorted(group, key=lambda p: math.dist(p.at, middle))
            goals += ranked[: max(1, round(_CENTRAL * len(ranked)))]
        if world.start in goals or len(open_) < 5:
            return None
        return Draft({}, {"kind": "part", "direction": "center"}, [{"ended_at": names(goals)}])

    return finish


_LANDING = ("landing strip", "helipad", "runway")


def land(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    if world.theme.setting != "aerial":
        return None
    if not any(p.concept in _LANDING for p in world.places) and world.plant("landing pad") is None:
        return None

    def finish() -> Draft | None:
        sites = [p for concept in _LANDING for p in world.find_places(concept)]
        sites += views(world.find("landing pad"))
        if world.start in sites:
            return None
        return Draft({}, {"kind": "home", "land": True}, [{"ended_at": names(sites)}], needs=[sites])

    return finish


def _explored(world: World, goals: list[Place]) -> Criterion:
    return {"order": [{"visited": world.start.name}, {"explored": names(goals)}]}


def _plain(kind: str, words: str) -> dict[str, Any]:
    return {"kind": kind, "target": target(words)}


COMMANDS: dict[str, Kind] = {
    "goto": Kind(11, True, {
        "region": Intent("goto", goto_region),
        "numbered region": Intent("goto_numbered", goto_numbered),
        **{family: Intent("goto", goto_family(family)) for family in GOTO_FAMILIES},
    }),
    "map": Kind(8, True, {
        "region": Intent("map", map_region),
        "numbered region": Intent("map_numbered", map_numbered),
        "here": Intent("map_here", map_here),
        **{family: Intent("map", map_family(family, around=False)) for family in MAP_FAMILIES},
        **{f"area near {f}": Intent("map_around", map_family(f, around=True)) for f in MAP_FAMILIES},
    }),
    "explore": Kind(5, True, {
        "here": Intent("explore_here", explore_here),
        "region": Intent("explore_region", explore_region(radius=False)),
        "radius": Intent("explore_radius", explore_region(radius=True)),
    }),
    "inspect": Kind(11, True, {
        "numbered object": Intent("inspect_numbered", inspect_numbered),
        **{family: Intent("inspect", inspect_family(family)) for family in INSPECT_FAMILIES},
    }),
    "inspect for": Kind(3, True, {q: Intent("inspect_query", inspect_query(q)) for q in _QUERIES}),
    "sequence": Kind(12, True, {
        "inspect and return": Intent("inspect_return", sequence("inspect", home=True)),
        "go and return": Intent("goto_return", sequence("goto", home=True)),
        "map and return": Intent("map_return", sequence("map", home=True)),
        "explore and return": Intent("explore_return", sequence("explore", home=True)),
        "inspect two": Intent("inspect_inspect", sequence("inspect", "inspect")),
        "go and inspect": Intent("goto_inspect", sequence("goto", "inspect")),
        "map and inspect": Intent("map_inspect", sequence("map", "inspect")),
        "go to two": Intent("goto_goto", sequence("goto", "goto")),
        "go to three": Intent("three", sequence("goto", "goto", "goto")),
        "inspect both": Intent("both", sequence("inspect", "inspect", ordered=False)),
    }),
    "part": Kind(8, False, {
        "cardinal": Intent("part", part(diagonal=False)),
        "diagonal": Intent("part", part(diagonal=True)),
        "center": Intent("center", center),
    }),
    "home": Kind(10, False, {"land": Intent("land", land)}),
}  # fmt: skip
"""Tasks by kind."""
