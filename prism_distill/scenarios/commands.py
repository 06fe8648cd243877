"""Tasks that say what to do with what: go, map, explore, inspect, and sequences of these (paper, tables 5 to 7)."""

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
    call,
    names,
    noun_slots,
    target,
    views,
)
from prism_distill.scenarios.lexicon import categories, traits
from prism_distill.scenarios.world import Place, Thing, World

GOTO_FAMILIES = (
    "seat", "furniture", "storage", "electronics", "appliance", "sanitary", "plant", "fixture", "safety", "vehicle",
    "structure", "nature", "container", "person", "play", "bin", "robot", "machine", "sport",
)  # fmt: skip
INSPECT_FAMILIES = (
    *GOTO_FAMILIES, "belonging", "lab", "tool", "decoration", "animal", "space", "food", "construction", "debris", "hazard",
)  # fmt: skip
MAP_FAMILIES = ("seat", "furniture", "vehicle", "structure", "nature", "electronics", "space")
_QUERIES = ("colour", "material", "species", "text", "contents", "brand", "size", "price", "use")
_MARGIN = 0.35
"""How deep the outermost part of a scene is, as a share of its extent."""


def any_of_family(world: World, rng: random.Random, families: tuple[str, ...]) -> Thing | None:
    """Plant something of one of these families, whatever belongs here."""
    options = {
        name: place
        for place in world.places
        if not place.isolated
        for name in place.kind.has
        if categories()[name].family in families and world.can_add(name)
    }
    return world.plant(rng.choice(sorted(options))) if options else None


def meant(world: World, concept: str) -> tuple[list[Thing], list[Place]]:
    """The things and the regions that a word for this concept may mean; isolated regions are left out."""
    return world.find(concept), [p for p in world.find_places(concept) if not p.isolated]


def goto_region(world: World, rng: random.Random) -> Finish | None:
    place = _some_region(world, rng)

    def finish() -> Draft | None:
        words = _call_region(place, rng)
        things, places = meant(world, place.concept)
        goals = [*places, *views(things)]
        if world.start in goals:
            return None
        return Draft("goto/region", "goto", noun_slots(words), _plain("goto", words), True,
                     [{"ended_at": names(goals)}], needs=[goals])  # fmt: skip

    return finish


def goto_numbered(world: World, rng: random.Random) -> Finish | None:
    place = _some_region(world, rng)

    def finish() -> Draft | None:
        if place is world.start:
            return None
        words = place.name if rng.random() < 0.5 else place.name.replace("_", " ")
        return Draft("goto/numbered region", "goto_numbered", noun_slots(words), _plain("goto", words), True,
                     [{"ended_at": [place.name]}], needs=[[place]])  # fmt: skip

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
            return Draft(f"goto/{family}", "goto", noun_slots(words), _plain("goto", words), True,
                         [{"ended_at": names(goals)}], needs=[goals])  # fmt: skip

        return finish

    return begin


def map_region(world: World, rng: random.Random) -> Finish | None:
    place = _some_region(world, rng)

    def finish() -> Draft:
        words = _call_region(place, rng)
        things, places = meant(world, place.concept)
        goals = [*places, *views(things)]
        return Draft("map/region", "map", noun_slots(words), _plain("map", words), True,
                     [{"mapped": names(goals)}], needs=[goals])  # fmt: skip

    return finish


def map_numbered(world: World, rng: random.Random) -> Finish | None:
    place = _some_region(world, rng)

    def finish() -> Draft:
        words = place.name if rng.random() < 0.5 else place.name.replace("_", " ")
        return Draft("map/numbered region", "map_numbered", noun_slots(words), _plain("map", words), True,
                     [{"mapped": [place.name]}], needs=[[place]])  # fmt: skip

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
            intent = f"map/area near {family}" if around else f"map/{family}"
            return Draft(intent, "map_around" if around else "map", noun_slots(words),
                         {"kind": "map", "target": target(words), "around": around}, True,
                         [{"mapped": names(goals)}], needs=[goals])  # fmt: skip

        return finish

    return begin


def map_here(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    return lambda: Draft("map/here", "map_here", {}, {"kind": "map"}, True, [{"mapped": [world.start.name]}])


def explore_here(world: World, rng: random.Random) -> Finish | None:  # noqa: ARG001 - one signature for all
    start = world.start.name
    return lambda: Draft(
        "explore/here", "explore_here", {}, {"kind": "explore"}, True,
        [{"order": [{"visited": start}, {"explored": start}]}],
    )  # fmt: skip


def explore_region(radius: bool) -> Begin:
    def begin(world: World, rng: random.Random) -> Finish | None:
        place = _some_region(world, rng)

        def finish() -> Draft:
            words = _call_region(place, rng)
            things, places = meant(world, place.concept)
            goals = [*places, *views(things)]
            slots, means = noun_slots(words), _plain("explore", words)
            if radius:
                metres = rng.choice((10, 15, 20, 25) if world.theme.setting != "aerial" else (40, 50, 60, 80))
                slots["radius"], means["radius"] = str(metres), metres
            return Draft("explore/radius" if radius else "explore/region", "explore_radius" if radius else "explore_region",
                         slots, means, True, [_explored(world, goals)], needs=[goals])  # fmt: skip

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
            return Draft(f"inspect/{family}", "inspect", noun_slots(words), _plain("inspect", words), True,
                         [{"inspected": names(things)}], needs=[views(things)])  # fmt: skip

        return finish

    return begin


def inspect_numbered(world: World, rng: random.Random) -> Finish | None:
    thing = any_of_family(world, rng, INSPECT_FAMILIES)
    if thing is None:
        return None

    def finish() -> Draft:
        words = thing.name if rng.random() < 0.5 else thing.name.replace("_", " ")
        return Draft("inspect/numbered object", "inspect_numbered", noun_slots(words), _plain("inspect", words), True,
                     [{"inspected": [thing.name]}], needs=[[thing.place]])  # fmt: skip

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
            if value is None or world.find(thing.concept) != [thing]:
                return None
            words = call(thing.category, thing, rng)
            slots = {**noun_slots(words), "query": query}
            means = {"kind": "inspect", "target": target(words), "query": query}
            return Draft(f"inspect/{query}", "inspect_query", slots, means, True,
                         [{"inspected": [thing.name]}, {"answer_matches": rf"(?i)(?<!\w){re.escape(value)}(?!\w)"}],
                         needs=[[thing.place]])  # fmt: skip

        return finish

    return begin


# Sequences

Step = tuple[str, dict[str, Any], Criterion, list[Place]]
"""Words, intent, the deed as an item of `order`, and the places where it can be done."""


def sequence(intent: str, group: str, *deeds: str, home: bool = False, ordered: bool = True) -> Begin:
    """Deeds (`goto`, `map`, `explore`, `inspect`) with different targets, and perhaps back to the start."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        picks: list[Place | Thing] = []
        for deed in deeds:
            of_thing = deed == "inspect" or (deed == "goto" and rng.random() < 0.4)
            pick = any_of_family(world, rng, INSPECT_FAMILIES) if of_thing else _some_region(world, rng)
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
            success = [{"order": order}] if ordered else [{"inspected": step[2]["inspected"]} for step in steps]
            return Draft(intent, group, slots, {"kind": "sequence", "steps": means}, True, success,
                         needs=[step[3] for step in steps])  # fmt: skip

        return finish

    return begin


def _step(world: World, deed: str, pick: Place | Thing, rng: random.Random) -> Step:
    words = _call_region(pick, rng) if isinstance(pick, Place) else call(pick.category, pick, rng)
    things, places = meant(world, pick.concept)
    if deed == "inspect":
        return words, _plain("inspect", words), {"inspected": names(things)}, views(things)
    goals = list(dict.fromkeys((*places, *views(things))))
    done = {"goto": "visited", "map": "mapped", "explore": "explored"}[deed]
    return words, _plain(deed, words), {done: names(goals)}, goals


# Parts of the scene, landing

_DIRECTIONS = {
    "north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0), "northeast": (1, 1), "northwest": (-1, 1),
    "southeast": (1, -1), "southwest": (-1, -1),
}  # fmt: skip


def part(diagonal: bool) -> Begin:
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
            if max(known, key=lambda p: along[p]) not in goals:
                needs = [goals]
            else:
                needs = []
            return Draft("part/diagonal" if diagonal else "part/cardinal", "part",
                         {"direction": f"{direction}ern", "direction_word": direction},
                         {"kind": "part", "direction": direction}, False, [{"ended_at": names(goals)}], needs=needs)  # fmt: skip

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
            goals += ranked[: max(1, len(ranked) // 3)]
        if world.start in goals or len(open_) < 5:
            return None
        return Draft("part/center", "center", {}, {"kind": "part", "direction": "center"}, False,
                     [{"ended_at": names(goals)}])  # fmt: skip

    return finish


_LANDING = ("landing strip", "helipad", "runway")


def land(world: World, rng: random.Random) -> Finish | None:
    if world.theme.setting != "aerial":
        return None
    if not any(p.concept in _LANDING for p in world.places) and world.plant("landing pad") is None:
        return None

    def finish() -> Draft | None:
        sites = [p for concept in _LANDING for p in world.find_places(concept)]
        sites += views(world.find("landing pad"))
        if world.start in sites:
            return None
        return Draft("home/land", "land", {}, {"kind": "home", "land": True}, False,
                     [{"ended_at": names(sites)}], needs=[sites])  # fmt: skip

    rng.random()
    return finish


def _some_region(world: World, rng: random.Random) -> Place:
    return world.claim(rng.choice([p for p in world.places if not p.isolated]))


def _call_region(place: Place, rng: random.Random) -> str:
    """A word for a region: most often the one that its name or its description has."""
    said = place.description or place.word
    return said if rng.random() < 0.7 else rng.choice(place.kind.words)


def _explored(world: World, goals: list[Place]) -> Criterion:
    return {"order": [{"visited": world.start.name}, {"explored": names(goals)}]}


def _plain(kind: str, words: str) -> dict[str, Any]:
    return {"kind": kind, "target": target(words)}


COMMANDS: dict[str, tuple[float, dict[str, Begin]]] = {
    "goto": (9, {"region": goto_region, "numbered region": goto_numbered, **{f: goto_family(f) for f in GOTO_FAMILIES}}),
    "map": (7, {"region": map_region, "numbered region": map_numbered, "here": map_here,
                **{f: map_family(f, around=False) for f in MAP_FAMILIES},
                **{f"area near {f}": map_family(f, around=True) for f in MAP_FAMILIES}}),
    "explore": (3, {"here": explore_here, "region": explore_region(False), "radius": explore_region(True)}),
    "inspect": (9, {"numbered object": inspect_numbered, **{f: inspect_family(f) for f in INSPECT_FAMILIES}}),
    "inspect query": (3, {query: inspect_query(query) for query in _QUERIES}),
    "sequence": (9, {
        "inspect and return": sequence("sequence/inspect and return", "inspect_return", "inspect", home=True),
        "go and return": sequence("sequence/go and return", "goto_return", "goto", home=True),
        "map and return": sequence("sequence/map and return", "map_return", "map", home=True),
        "explore and return": sequence("sequence/explore and return", "explore_return", "explore", home=True),
        "inspect two": sequence("sequence/inspect two", "inspect_inspect", "inspect", "inspect"),
        "go and inspect": sequence("sequence/go and inspect", "goto_inspect", "goto", "inspect"),
        "map and inspect": sequence("sequence/map and inspect", "map_inspect", "map", "inspect"),
        "go to two": sequence("sequence/go to two", "goto_goto", "goto", "goto"),
        "go to three": sequence("sequence/go to three", "three", "goto", "goto", "goto"),
        "inspect both": sequence("sequence/inspect both", "both", "inspect", "inspect", ordered=False),
    }),
    "part": (4, {"cardinal": part(False), "diagonal": part(True), "center": center}),
    "home": (3, {"land": land}),
}  # fmt: skip
"""Kinds of tasks with how often they are asked for, and the ways to begin each of their intents."""
