"""A world in the making: what tasks plant in it, what fills it up, and what is then true of it."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from prism_distill.scenarios.layout import Layout
from prism_distill.scenarios.lexicon import (
    Category,
    RegionKind,
    Theme,
    categories,
    kinds_of,
    looks,
    region_kinds,
    traits,
)

MAX_NODES = 60
NEAR_M = {"indoor": 30.0, "outdoor": 30.0, "aerial": 85.0}
"""From how far away an exploration may have covered a region."""
COLOURS = ("red", "blue", "green", "black", "white", "grey", "yellow", "brown", "orange", "silver")
_SYNONYM_SHARE = 0.2
_LEAST_KNOWN = 3
"""So many regions are known at the start, where there are as many: enough to tell the scale of the scene."""
_EXCLUSIVE = frozenset(("open", "locked"))
"""Of these one is enough: each says something of the other."""
_FACTS = 3
"""At most so many facts are seen at a closer look."""


@dataclass(slots=True, eq=False)
class Place:
    """A region. isolated: no path leads there. word: what it is called, the first part of its name."""

    index: int
    name: str
    kind: RegionKind
    word: str
    at: tuple[float, float]
    description: str = ""
    hidden: bool = False
    isolated: bool = False
    things: list[Thing] = field(default_factory=list)

    @property
    def concept(self) -> str:
        return self.kind.concept


@dataclass(slots=True, eq=False)
class Thing:
    """An object. truth: the properties that are seen at a closer look. shown: traits
    that are seen whatever chance says. mine: whether it is the user's; None when that cannot be told."""

    name: str
    category: Category
    word: str
    at: tuple[float, float]
    place: Place
    description: str = ""
    hidden: bool = False
    mine: bool | None = None
    truth: dict[str, bool] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def concept(self) -> str:
        return self.category.concept


class World:
    """Regions at given places, and objects that are planted in them.

    First tasks plant what they need, then `fill` adds clutter, `describe` decides what is seen of things,
    and `hide` what is known at the start. Then everything that tasks ask about is settled.
    """

    def __init__(self, theme: Theme, layout: Layout, rng: random.Random, *, nodes: int = MAX_NODES) -> None:
        """nodes: how many regions and objects there may be."""
        self.theme = theme
        self.room = max(1, nodes - len(layout.points))
        self.rng = rng
        self.places: list[Place] = []
        self.things: list[Thing] = []
        self.closed: set[str] = set()
        """Concepts of which no more may be added."""
        self.always: set[str] = set()
        """Traits that are seen of every thing that has them."""
        self.settled: set[str] = set()
        """Properties whose spread over the world one task has decided."""
        self.edges = list(layout.edges)
        self.near_m = NEAR_M[theme.setting]
        self._spacing = layout.spacing
        self._numbers: dict[str, int] = {}
        self._claimed: set[int] = set()
        self._category_of: dict[str, str] = {}
        self._add_places(layout)
        self._adjacent: dict[int, list[int]] = {p.index: [] for p in self.places}
        for a, b in self.edges:
            self._adjacent[a].append(b)
            self._adjacent[b].append(a)
        self.start = rng.choice(self.places)

    @property
    def indoor(self) -> bool:
        return self.theme.setting == "indoor"

    # Planting

    def sites(self, category: str) -> list[Place]:
        """The places where such a thing belongs."""
        return [p for p in self.places if category in p.kind.has and not p.isolated]

    def plant(
        self,
        category: str,
        *,
        place: Place | None = None,
        truth: dict[str, bool] | None = None,
        mine: bool | None = None,
    ) -> Thing | None:
        """Add a thing where it belongs; None when it belongs nowhere here, or no more of it may be added."""
        if not self.can_add(category):
            return None
        if place is None:
            sites = self.sites(category)
            if not sites:
                return None
            place = self.rng.choice(sites)
        self.claim(place)
        return self._add(category, place, dict(truth or {}), mine)

    def can_add(self, category: str) -> bool:
        concept = categories()[category].concept
        if len(self.things) >= self.room:
            return False
        return concept not in self.closed and self._category_of.get(concept, category) == category

    def close(self, *categories_: str) -> None:
        """No more of these will be added."""
        self.closed.update(categories()[c].concept for c in categories_)

    def isolate(self, place: Place) -> None:
        """Cut a place off from all paths. It must be a leaf, so that the rest stays connected."""
        place.isolated = True
        self.edges = [edge for edge in self.edges if place.index not in edge]
        for other in self._adjacent.pop(place.index):
            self._adjacent[other].remove(place.index)
        self._adjacent[place.index] = []

    def claim(self, place: Place) -> Place:
        """A task is about this place, which therefore stays connected."""
        self._claimed.add(place.index)
        return place

    def loose_ends(self) -> list[Place]:
        """Empty places at the end of a path that no task is about: they may be isolated."""
        return [
            p
            for p in self.places
            if len(self._adjacent[p.index]) == 1
            and p is not self.start
            and not p.things
            and p.index not in self._claimed
        ]

    # Completion

    def fill(self) -> None:
        """Add clutter until there is no room for more."""
        rng, count = self.rng, self.room
        places = [p for p in self.places if not p.isolated]
        tries = 0
        while len(self.things) < count and tries < 4 * count:
            tries += 1
            place = rng.choice(places)
            name = rng.choice(tuple(place.kind.has))
            if not self.can_add(name):
                continue
            present = any(t.category.name == name for t in place.things)
            if present and not (place.kind.has[name] and rng.random() < 0.5):
                continue
            self._add(name, place, {}, None)

    def describe(self, defaults: dict[str, float]) -> None:
        """Decide what is seen of each thing. defaults: how likely a property holds that no task settled;
        half of the time for those that are not listed."""
        for thing in self.things:
            self._describe(thing, defaults)

    def hide(self, regions: float, objects: float) -> None:
        """Hide about these shares of what is there. The start and isolated places are known; what can be
        known at the start of the rest stays reachable except where a hidden place lies between."""
        rng = self.rng
        count = min(round(regions * len(self.places)), len(self.places) - _LEAST_KNOWN)
        near = self.near_m * 0.8
        order = [p for p in self.places if p is not self.start and not p.isolated]
        rng.shuffle(order)
        # What tasks are about first, most often, so that they need exploration.
        for place in sorted(order, key=lambda p: p.index not in self._claimed or rng.random() < 0.3):
            if count <= 0:
                break
            place.hidden = True
            if self._all_found(near):
                count -= 1
            else:
                place.hidden = False
        for thing in self.things:
            thing.hidden = thing.place.hidden or rng.random() < objects

    # What is true of it

    def find(self, concept: str) -> list[Thing]:
        """The things that a word for this concept may mean."""
        return [t for t in self.things if concept in kinds_of(t.concept)]

    def ambiguous(self, category: Category) -> bool:
        """Whether something else might be called so as well: a coffee table is also a table."""
        heads = {words.rsplit(" ", 1)[-1] for words in category.words}
        return any(
            t.category is not category
            and {t.word.rsplit(" ", 1)[-1], t.category.name.rsplit(" ", 1)[-1]} & heads
            for t in self.things
        )

    def find_places(self, concept: str) -> list[Place]:
        return [p for p in self.places if concept in kinds_of(p.concept)]

    def near(self, place: Place) -> list[str]:
        """The regions from which an exploration may have covered a place; mapping it included."""
        return [p.name for p in self.places if not p.isolated and math.dist(p.at, place.at) <= self.near_m]

    def reachable(self, allowed: Callable[[Place], bool], start: Place | None = None) -> set[int]:
        """The indices of places that can be reached over allowed places, the start among them."""
        seen = {(start or self.start).index}
        queue = deque(seen)
        while queue:
            for other in self._adjacent[queue.popleft()]:
                if other not in seen and allowed(self.places[other]):
                    seen.add(other)
                    queue.append(other)
        return seen

    def known(self) -> set[int]:
        """The places that are known and can be reached at the start."""
        return self.reachable(lambda p: not p.hidden)

    def between(self, goal: Place) -> list[Place]:
        """The places that lie on every path from the start to the goal, the goal last."""
        found = [
            p
            for p in self.places
            if p is not goal
            and p is not self.start
            and goal.index not in self.reachable(lambda q, p=p: q is not p)  # type: ignore[misc]
        ]
        return [*found, goal]

    # Inside

    def _add_places(self, layout: Layout) -> None:
        rng, theme = self.rng, self.theme
        pool = list(theme.regions)
        used: dict[str, str] = {}
        for i, at in enumerate(layout.points):
            if i < layout.ways:
                kind = region_kinds()[
                    theme.ways[0] if i < 2 or rng.random() < 0.75 else rng.choice(theme.ways)
                ]
            else:
                kind = self._pick_kind(pool, used)
            used.setdefault(kind.concept, kind.name)
            word = kind.name if rng.random() < 0.7 or not kind.synonyms else rng.choice(kind.synonyms)
            same = [p.word for p in self.places if p.kind is kind and not p.description]
            if same and rng.random() < 0.9:
                word = same[0]
            description = ""
            if i >= layout.ways and rng.random() < 0.07:
                description = word
                word = {"indoor": "room"}.get(theme.setting, "area")
            self.places.append(Place(i, self._name(word), kind, word, at, description))

    def _pick_kind(self, pool: list[str], used: dict[str, str]) -> RegionKind:
        rng, theme = self.rng, self.theme
        for _ in range(20):
            name = rng.choice(pool)
            kind = region_kinds()[name]
            if used.get(kind.concept, name) != name:
                continue
            if name in used.values() and (not theme.regions[name] or rng.random() < 0.4):
                continue
            return kind
        fitting = [n for n in pool if used.get(region_kinds()[n].concept, n) == n]
        return region_kinds()[rng.choice(fitting)]

    def _name(self, word: str) -> str:
        stem = word.replace(" ", "_").replace("-", "_").replace("'", "")
        self._numbers[stem] = self._numbers.get(stem, 0) + 1
        return f"{stem}_{self._numbers[stem]}"

    def _add(self, name: str, place: Place, truth: dict[str, bool], mine: bool | None) -> Thing:
        rng = self.rng
        category = categories()[name]
        self._category_of.setdefault(category.concept, name)
        other = (*category.synonyms, *category.kinds)
        word = rng.choice(other) if other and rng.random() < _SYNONYM_SHARE else name
        reach = self._spacing * 0.3
        angle = rng.uniform(0, 2 * math.pi)
        away = rng.uniform(0.3, 1.0) * reach
        at = (
            round(place.at[0] + away * math.cos(angle), 1),
            round(place.at[1] + away * math.sin(angle), 1),
        )
        thing = Thing(self._name(word), category, word, at, place, mine=mine, truth=truth)
        self.things.append(thing)
        place.things.append(thing)
        return thing

    def _describe(self, thing: Thing, defaults: dict[str, float]) -> None:
        rng = self.rng
        colour = rng.choice(COLOURS)
        if thing.mine is not None or (thing.category.own and rng.random() < 0.35):
            whose = {True: "mine", False: "other", None: "plain"}[thing.mine]
            thing.description = rng.choice(looks()[whose]).format(thing=thing.category.name, colour=colour)
        settled = [
            n for n in thing.category.traits if traits()[n].property in thing.truth or n in thing.shown
        ]
        rest = [n for n in thing.category.traits if n not in settled]
        for name in (*settled, *rest):
            trait = traits()[name]
            if trait.property == "shaded" and self.indoor:
                continue
            sure = name in settled or name in self.always
            if not sure and (len(thing.attributes) >= _FACTS or rng.random() < 0.5):
                continue
            if not trait.property:
                key, text = rng.choice(trait.holds)
                if not (key == "colour" and thing.description):
                    thing.attributes[key] = self._filled(text)
                continue
            holds = thing.truth.get(trait.property)
            if holds is None and trait.property in _EXCLUSIVE and _EXCLUSIVE & thing.truth.keys():
                continue
            if holds is None:
                holds = rng.random() < defaults.get(trait.property, 0.5)
            # Two facts under one name would hide each other.
            free = [
                pair for pair in (trait.holds if holds else trait.lacks) if pair[0] not in thing.attributes
            ]
            if free:
                key, text = rng.choice(free)
                thing.attributes[key] = self._filled(text)
                thing.truth[trait.property] = holds

    def _filled(self, text: str) -> str:
        if "{" not in text:
            return text
        rng = self.rng
        return text.format(
            n=rng.randint(2, 9),
            year=rng.randint(2015, 2024),
            hours=f"{rng.randint(8, 18)}:{rng.choice((0, 15, 30, 45)):02d}",
        )

    def _all_found(self, radius: float) -> bool:
        """Whether exploring with this radius, again and again, finds and reaches all connected places."""
        found = {p.index for p in self.places if not p.hidden}
        while True:
            seen = self.reachable(lambda p, found=found: p.index in found)  # type: ignore[misc]
            more = {
                p.index
                for p in self.places
                if p.index not in found and any(math.dist(p.at, self.places[i].at) <= radius for i in seen)
            }
            if not more:
                break
            found |= more
        return all(p.isolated or p.index in seen for p in self.places)
