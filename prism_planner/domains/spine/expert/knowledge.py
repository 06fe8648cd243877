"""General knowledge of the world: kinds of things and places, what they afford, where things are.

The data are the YAML files in `data/`. A *concept* is a canonical word such as `bench` or `parking lot`;
objects and regions share one vocabulary, so that "the playground" is the same whichever it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import yaml

from prism_planner.domains.spine.expert.words import lemma, singular, tokens


@dataclass(frozen=True, slots=True)
class Concept:
    """A kind of thing or place.

    kinds: the more general concepts it belongs to, nearest first. found: region types where one would look
    for it, likeliest first. near: things it tends to be next to. setting: of a region type.
    """

    name: str
    synonyms: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    is_object: bool = False
    is_region: bool = False
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something one may want to do; see `data/activities.yaml` for the fields."""

    name: str
    verbs: tuple[str, ...]
    needs: tuple[str, ...]
    objects: tuple[str, ...]
    pinch: tuple[str, ...]
    regions: tuple[str, ...]
    place: bool
    requires: dict[str, bool] = field(hash=False)
    look: str


@dataclass(frozen=True, slots=True)
class Roles:
    """What things are to safety and passage; see `data/roles.yaml`."""

    hazards: dict[str, str]
    possible_hazards: tuple[str, ...]
    obstacles: tuple[str, ...]
    obstacles_on_ways: tuple[str, ...]
    ways: tuple[str, ...]
    fixtures: tuple[str, ...]
    parts: dict[str, tuple[str, ...]]
    shade_givers: tuple[str, ...]


class Knowledge:
    """All of it, with lookup by words."""

    def __init__(self, concepts: dict[str, Concept], activities: dict[str, Activity], roles: Roles) -> None:
        self.concepts = concepts
        self.activities = activities
        self.roles = roles
        self._by_words: dict[str, str] = {}
        for name, concept in concepts.items():
            for words in (name, *concept.synonyms):
                other = self._by_words.setdefault(lemma(words), name)
                if other != name:
                    raise ValueError(f"{words!r} names both {other!r} and {name!r}; keep one")
        self._kinds = {name: self._all_kinds(name) for name in concepts}
        self._concept = lru_cache(maxsize=16384)(self._find_concept)

    def concept(self, words: str) -> str | None:
        """The concept that a name or noun phrase names: its longest known ending, else part."""
        return self._concept(words)

    def exact(self, words: str) -> str | None:
        """The concept that these words name as a whole."""
        return self._by_words.get(lemma(words))

    def kinds(self, concept: str) -> tuple[str, ...]:
        """The concept itself and all it belongs to, nearest first."""
        return self._kinds.get(concept, (concept,))

    def is_a(self, concept: str, general: str) -> bool:
        return general in self.kinds(concept)

    def rank(self, concept: str, ranking: tuple[str, ...]) -> int | None:
        """The first place in `ranking` that the concept, or a kind of it, holds."""
        kinds = self.kinds(concept)
        return next((i for i, entry in enumerate(ranking) if entry in kinds), None)

    def _find_concept(self, words: str) -> str | None:
        parts = [w for w in tokens(words) if not w.isdigit()]
        for size in range(len(parts), 0, -1):
            if (found := self._lookup(parts[-size:])) is not None:
                return found
        for size in range(len(parts) - 1, 0, -1):
            for start in range(len(parts) - size - 1, -1, -1):
                if (found := self._lookup(parts[start : start + size])) is not None:
                    return found
        return None

    def _lookup(self, parts: list[str]) -> str | None:
        text = " ".join(parts)
        last = " ".join([*parts[:-1], singular(parts[-1])])
        return self._by_words.get(text) or self._by_words.get(last)

    def _all_kinds(self, name: str) -> tuple[str, ...]:
        found = [name]
        for kind in found:
            found.extend(k for k in self.concepts[kind].kinds if k not in found)
        return tuple(found)


@cache
def knowledge() -> Knowledge:
    """The shipped knowledge, loaded once."""
    return Knowledge(_concepts(), _activities(), _roles())


def data(name: str) -> Any:
    """One of the YAML files in `data/`."""
    text = (resources.files(__package__) / "data" / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _concepts() -> dict[str, Concept]:
    tables = data("objects")
    concepts: dict[str, Concept] = {}
    for name, kind in tables["kinds"].items():
        concepts[name] = Concept(name, tuple(kind["words"]), tuple(kind.get("is", ())), is_object=True)
    for group in tables["groups"]:
        for name, synonyms in group["objects"].items():
            if name in concepts:
                raise ValueError(f"objects.yaml: {name!r} is listed twice")
            concepts[name] = Concept(
                name,
                tuple(map(str, synonyms)),
                tuple(group.get("is", ())),
                tuple(group.get("found", ())),
                tuple(group.get("near", ())),
                is_object=True,
            )
    for name, region in data("regions").items():
        thing = concepts.get(name, Concept(name))
        concepts[name] = Concept(
            name,
            (*thing.synonyms, *region["words"]),
            (*thing.kinds, *region.get("is", ())),
            thing.found,
            thing.near,
            is_object=thing.is_object,
            is_region=True,
            setting=region["setting"],
        )
    return concepts


def _activities() -> dict[str, Activity]:
    return {
        name: Activity(
            name,
            tuple(entry["verbs"]),
            tuple(entry["needs"]),
            tuple(entry["objects"]),
            tuple(entry.get("pinch", ())),
            tuple(entry["regions"]),
            bool(entry.get("place", False)),
            dict(entry["requires"]),
            entry["look"],
        )
        for name, entry in data("activities").items()
    }


def _roles() -> Roles:
    tables = data("roles")
    return Roles(
        dict(tables["hazards"]),
        tuple(tables["possible_hazards"]),
        tuple(tables["obstacles"]),
        tuple(tables["obstacles_on_ways"]),
        tuple(tables["ways"]),
        tuple(tables["fixtures"]),
        {part: tuple(wholes) for part, wholes in tables["parts"].items()},
        tuple(tables["shade_givers"]),
    )
