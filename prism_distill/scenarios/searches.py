"""Tasks that leave open what to do: lost things, wanted things, places that afford an activity."""

from __future__ import annotations

import random
from functools import cache

from prism_distill.scenarios.drafts import (
    Begin,
    Draft,
    Finish,
    Intent,
    Kind,
    named,
    names,
    noun_slots,
    target,
    views,
)
from prism_distill.scenarios.lexicon import categories, kinds_of, traits, wishes
from prism_distill.scenarios.targets import any_of_family, call
from prism_distill.scenarios.world import Place, Thing, World
from prism_planner.domains.spine.expert.knowledge import Activity, knowledge

_DOING = {
    "work": ("working", "studying", "writing"), "read": ("reading",), "cook": ("cooking", "making dinner"),
    "eat": ("having lunch", "eating", "having dinner"), "exercise": ("exercising", "working out"),
    "meet": ("meeting my team", "having a meeting"), "watch a movie": ("watching a film", "watching tv"),
    "do laundry": ("doing laundry",), "wash": ("washing my hands",), "print": ("printing a document",),
    "sleep": ("sleeping", "taking a nap"), "park": ("parking my car",),
    "play sports": ("playing basketball", "playing football"),
    "play": ("playing with the kids",), "experiment": ("testing a robot", "running experiments"),
    "repair": ("fixing my bike", "soldering"), "catch a bus": ("waiting for the bus",), "swim": ("swimming",),
    "walk a dog": ("walking my dog",), "use the bathroom": ("using the bathroom",),
}  # fmt: skip
FIND_FAMILIES = (
    "safety",
    "tool",
    "electronics",
    "container",
    "robot",
    "lab",
    "cleaning",
    "bin",
    "sanitary",
    "food",
    "tableware",
    "machine",
    "appliance",
)


def find_mine(family: str) -> Begin:
    """Something of the user's, with others of its kind about."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = _plant_mine(world, rng, family)
        if thing is None:
            return None

        def finish() -> Draft | None:
            return _found(world, rng, [thing], mine=True)

        return finish

    return begin


def find_mine_with_clue(*, of_activity: bool) -> Begin:
    """Lost, with a clue: what the user was doing, or where it should be."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        places = [p for p in world.places if not p.isolated]
        rng.shuffle(places)
        for place in places:
            options = [
                n for n in place.kind.has if categories()[n].family == "belonging" and world.can_add(n)
            ]
            doings = [a for a in _DOING if _does_at(knowledge().activities[a], place)]
            if not options or (of_activity and not doings):
                continue
            thing = _plant_mine(world, rng, "belonging", place, rng.choice(options))
            if thing is None:
                continue

            def finish(
                thing: Thing = thing, place: Place = place, doings: list[str] = doings
            ) -> Draft | None:
                if of_activity:
                    activity = rng.choice(doings)
                    slots, clue = {"doing": rng.choice(_DOING[activity])}, activity
                else:
                    clue = rng.choice(
                        (place.word if not place.description else place.description, place.kind.name)
                    )
                    slots = {"place": clue}
                return _found(world, rng, [thing], slots, (clue,), mine=True)

            return finish
        return None

    return begin


def find_thing(family: str) -> Begin:
    """Any thing of a kind."""

    def begin(world: World, rng: random.Random) -> Finish | None:
        thing = any_of_family(world, rng, (family,))
        if thing is None:
            return None

        def finish() -> Draft | None:
            return _found(world, rng, world.find(thing.concept))

        return finish

    return begin


def _plant_mine(
    world: World, rng: random.Random, family: str, place: Place | None = None, name: str = ""
) -> Thing | None:
    """The user's thing, in half of the worlds with another one that is not."""
    if not name:
        options = sorted(
            {
                n
                for p in world.places
                if not p.isolated
                for n in p.kind.has
                if _is_own(n, family) and world.can_add(n)
            }
        )
        if not options:
            return None
        name = rng.choice(options)
    if world.find(categories()[name].concept):
        return None
    thing = world.plant(name, place=place, mine=True)
    if thing is None:
        return None
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        world.plant(name, mine=False)
    world.close(name)
    return thing


def _is_own(name: str, family: str) -> bool:
    category = categories()[name]
    return category.own and category.family == family


def _found(
    world: World,
    rng: random.Random,
    things: list[Thing],
    slots: dict[str, str] | None = None,
    clues: tuple[str, ...] = (),
    *,
    mine: bool = False,
) -> Draft | None:
    words = call(things[0].category, things[0], rng)
    if any(world.find_places(t.concept) for t in things):
        return None
    more: dict[str, object] = {"mine": True} if mine else {}
    places = views(things)
    seen = names(places)
    evidence = [[{"inspected": names(things)}], [{"mapped": seen}]]
    if world.start not in places:
        evidence.append([{"ended_at": seen}])
    hidden = [t for t in things if t.hidden]
    if hidden:
        evidence.append([named(hidden)])
    if len(places) == 1 and any(
        t.category.concept == things[0].concept for t in places[0].things if t not in things
    ):
        success = [named(things)]
    else:
        success = [named([*things, *places])]
    means: dict[str, object] = {"kind": "find", "target": target(words, **more)}
    if clues:
        means["clues"] = list(clues)
    return Draft({**noun_slots(words), **(slots or {})}, means, success, evidence, [places])


def _does_at(activity: Activity, place: Place) -> bool:
    return any(region in kinds_of(place.concept) for region in activity.regions[:4])


# Places that afford something


def find_place(name: str, adjective: str = "") -> Begin:
    """Somewhere to do something; bad places of the kind are about as well."""
    activity = knowledge().activities[name]

    def begin(world: World, rng: random.Random) -> Finish | None:
        if adjective == "shaded" and world.indoor:
            return None
        good = _plant_affording(world, rng, activity, adjective)
        if good is None and not (activity.place and not adjective and _place_options(world, activity)):
            return None

        def finish() -> Draft | None:
            return _place_draft(world, rng, name, activity, adjective)

        return finish

    return begin


def affords(thing: Thing, activity: Activity) -> bool | None:
    """Whether a thing affords an activity; None when it is of another kind."""
    kinds = kinds_of(thing.concept)
    if not any(o in kinds for o in (*activity.objects, *activity.pinch)):
        return None
    requires = {"damaged": False, **activity.requires}
    return all(thing.truth.get(p, wanted) == wanted for p, wanted in requires.items())


@cache
def serving(activity: Activity) -> frozenset[str]:
    """The kinds of objects that serve an activity best."""
    return frozenset(
        name for name, c in categories().items() if any(o in kinds_of(c.concept) for o in activity.objects)
    )


def _plant_affording(world: World, rng: random.Random, activity: Activity, adjective: str) -> Thing | None:
    options = sorted(
        {
            n
            for p in world.places
            if not p.isolated
            for n in p.kind.has
            if n in serving(activity)
            and world.can_add(n)
            and (not adjective or adjective in properties_of(n))
        }
    )
    if not options:
        return None
    name = rng.choice(options)
    stated = {p: v for p, v in {"damaged": False, **activity.requires}.items() if p in properties_of(name)}
    good = {p: v for p, v in stated.items() if p != "damaged" or rng.random() < 0.3}
    if adjective:
        good[adjective] = True
        world.always.update(t for t in categories()[name].traits if traits()[t].property == adjective)
        world.always.update(("seat_shade",) if adjective == "shaded" else ("seat_comfort",))
    thing = world.plant(name, truth=good)
    for _ in range(rng.choice((0, 1, 1, 2))):
        other = rng.choice(options)
        bad = {p: v for p, v in {"damaged": False, **activity.requires}.items() if p in properties_of(other)}
        if adjective and (not bad or rng.random() < 0.6):
            bad = {**bad, adjective: False}
        elif bad:
            flipped = rng.choice(sorted(bad))
            bad[flipped] = not bad[flipped]
        world.plant(other, truth=bad)
    return thing


def properties_of(category: str) -> set[str]:
    return {traits()[t].property for t in categories()[category].traits} - {""}


def _place_options(world: World, activity: Activity) -> list[Place]:
    return [
        p for p in world.places if not p.isolated and any(r in kinds_of(p.concept) for r in activity.regions)
    ]


def _place_draft(
    world: World, rng: random.Random, name: str, activity: Activity, adjective: str
) -> Draft | None:
    rated = {thing: affords(thing, activity) for thing in world.things}
    good = [t for t, ok in rated.items() if ok and (not adjective or t.truth.get(adjective) is True)]
    bad = [t for t, ok in rated.items() if ok is not None and t not in good]
    regions: list[Place] = []
    if activity.place and not adjective:
        regions = free_regions(world, activity, good, bad)
    if not good and not regions:
        return None
    options: list[list[dict[str, object]]] = []
    if good:
        at = views(good)
        options.append([{"inspected": names(good)}, {"ended_at": names(at)}])
        options.append([{"inspected": names(good)}, named([*good, *(p for p in at if not _mixed(p, bad))])])
        if not activity.requires and not adjective:
            options.append([{"mapped": names(at)}, named([*good, *at])])
    if regions:
        options.append([{"mapped": names(regions)}, {"ended_at": names(regions)}])
        options.append([{"mapped": names(regions)}, named(regions)])
    wish = wishes()[name]
    means: dict[str, object] = {"kind": "find_place", "activity": name}
    if adjective:
        means["conditions"] = [{"property": adjective, "value": True}]
    slots = {"verb": rng.choice(wish.verbs) if wish.verbs else ""}
    if adjective:
        word = rng.choice({"shaded": ("shady", "shaded"), "comfortable": ("comfortable", "cozy")}[adjective])
        slots["adjective"] = word
    return Draft(slots, means, any_success=options, needs=[[*views(good), *regions]])


def free_regions(world: World, activity: Activity, good: list[Thing], bad: list[Thing]) -> list[Place]:
    """The regions of a kind that affords an activity, save those where all that serves it best is bad."""
    good_at = set(views(good))
    bad_at = set(views(t for t in bad if t.category.name in serving(activity)))
    return [p for p in _place_options(world, activity) if p not in bad_at or p in good_at]


def _mixed(place: Place, bad: list[Thing]) -> bool:
    return any(t.place is place for t in bad)


_ADJECTIVES = {"shaded": ("sit", "read"), "comfortable": ("sit", "read")}

SEARCHES: dict[str, Kind] = {
    "find my": Kind(7, False, {
        "belonging": Intent("find_mine", find_mine("belonging")),
        "vehicle": Intent("find_mine", find_mine("vehicle")),
        "animal": Intent("find_pet", find_mine("animal")),
    }),
    "find with clue": Kind(5, False, {
        "activity": Intent("find_mine_activity", find_mine_with_clue(of_activity=True)),
        "place": Intent("find_mine_place", find_mine_with_clue(of_activity=False)),
    }),
    "find": Kind(5, False, {
        **{family: Intent("find_thing", find_thing(family)) for family in FIND_FAMILIES},
        "person": Intent("find_someone", find_thing("person")),
    }),
    "find place": Kind(15, False, {name: Intent(f"activity/{name}", find_place(name)) for name in wishes()}),
    "find place with adjective": Kind(3, False, {
        f"{adjective} place to {name}": Intent("find_place_adjective", find_place(name, adjective))
        for adjective, uses in _ADJECTIVES.items()
        for name in uses
    }),
}  # fmt: skip
"""As `commands.COMMANDS`."""
