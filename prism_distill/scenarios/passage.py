"""Questions about ways: whether they are clear, and whether a place can be reached."""

from __future__ import annotations

import random

from prism_distill.scenarios.drafts import (
    Begin,
    Draft,
    Finish,
    Intent,
    Kind,
    looked_at_all,
    names,
    noun_slots,
    target,
    views,
)
from prism_distill.scenarios.lexicon import categories, kinds_of, traits
from prism_distill.scenarios.searches import properties_of
from prism_distill.scenarios.targets import call_region, whole
from prism_distill.scenarios.world import Place, Thing, World

# Passage and reachability


def passage_to(*, asks_blocked: bool) -> Begin:
    """Whether the way to a place is clear: what blocks it stands where every path leads through."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        if "blocked" in world.settled:
            return None
        goals = [
            p
            for p in world.places
            if p is not world.start and not p.isolated and len(whole(world, p.concept)) == 1
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
            words = call_region(goal, rng)
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
            words = rng.choice([call_region(p, rng) for p in ways])
            regions = whole(world, ways[0].concept)
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
                looked_at_all(world, draft, regions)
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
            words = rng.choice([call_region(p, rng) for p in ways])
            regions = whole(world, ways[0].concept)
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
                looked_at_all(world, draft, regions)
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
        goals = [p for p in options if len(whole(world, p.concept)) == 1]
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
            words = call_region(goal, rng)
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


PASSAGE_KINDS: dict[str, Kind] = {
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
}  # fmt: skip
"""As `commands.COMMANDS`."""
