"""What tasks are about: things that are planted, regions, and the words for both."""

from __future__ import annotations

import random

from prism_distill.scenarios.lexicon import Category, categories
from prism_distill.scenarios.world import Place, Thing, World


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


def some_region(world: World, rng: random.Random) -> Place:
    return world.claim(rng.choice([p for p in world.places if not p.isolated]))


def call_region(place: Place, rng: random.Random) -> str:
    """A word for a region: most often the one that its name or its description has."""
    said = place.description or place.word
    return said if rng.random() < 0.7 else rng.choice(place.kind.words)


def call(category: Category, thing: Thing, rng: random.Random) -> str:
    """A word for a thing: most often the one that its name has."""
    if thing.word in category.words and rng.random() < 0.6:
        return thing.word
    return category.name if rng.random() < 0.6 else rng.choice(category.words)


def whole(world: World, what: str) -> list[Place]:
    """The regions that "the path" means: all that are connected."""
    return [p for p in world.find_places(what) if not p.isolated]


def one_of_its_kind(world: World, rng: random.Random) -> Place | None:
    places = [p for p in world.places if not p.isolated and len(whole(world, p.concept)) == 1]
    places = [p for p in places if p.kind.name not in world.theme.ways]
    return world.claim(rng.choice(places)) if places else None
