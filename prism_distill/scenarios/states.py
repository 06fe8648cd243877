"""Questions about the state of things: damaged, occupied, working, open and so on."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

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
from prism_distill.scenarios.lexicon import categories, concept
from prism_distill.scenarios.searches import properties_of
from prism_distill.scenarios.targets import call
from prism_distill.scenarios.world import Place, Thing, World

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
        if state.property == "shaded" and world.indoor:
            return None
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
            if not state.mine and (world.find(thing.concept) != [thing] or world.ambiguous(thing.category)):
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


STATE_KINDS: dict[str, Kind] = {
    "ask": Kind(13, False, {name: Intent(state.group, ask(state)) for name, state in STATES.items()}),
    "ask about several": Kind(4, False, {
        "any roof damaged": Intent("ask_roofs", ask_roofs),
        "seats near something": Intent("ask_occupied_near", ask_near),
    }),
}  # fmt: skip
"""As `commands.COMMANDS`."""
