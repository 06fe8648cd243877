"""The words of the generator: kinds of objects, regions and places, and what a closer look shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from prism_planner.domains.spine.expert.knowledge import knowledge

Setting = Literal["indoor", "outdoor", "aerial"]


@dataclass(frozen=True, slots=True, eq=False)
class Category:
    """A kind of object.

    synonyms: words that mean just the same. kinds: special kinds of it, which may name a node but not a
    target. family: what tasks treat alike. own: it can belong to a person.
    """

    name: str
    synonyms: tuple[str, ...]
    kinds: tuple[str, ...]
    family: str
    traits: tuple[str, ...]
    own: bool

    @property
    def concept(self) -> str:
        return concept(self.name)

    @property
    def words(self) -> tuple[str, ...]:
        """How a person may call it."""
        return (self.name, *self.synonyms)


@dataclass(frozen=True, slots=True, eq=False)
class RegionKind:
    """A kind of region. has: the objects that belong there, and whether there are often several of them."""

    name: str
    synonyms: tuple[str, ...]
    has: dict[str, bool]

    @property
    def concept(self) -> str:
        return concept(self.name)

    @property
    def words(self) -> tuple[str, ...]:
        return (self.name, *self.synonyms)


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """A kind of place. ways: its skeleton. regions: what is attached to it, and whether often several."""

    name: str
    setting: Setting
    about: str
    ways: tuple[str, ...]
    regions: dict[str, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Trait:
    """What may be seen of a thing: (key, text) pairs that say that a property holds, or that it does not.

    property: one of the expert's evidence; empty for facts that no yes/no question is about, all in `holds`.
    """

    property: str
    holds: tuple[tuple[str, str], ...]
    lacks: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """An activity in words: verbs for "a place to ...", and needs that do not name it."""

    verbs: tuple[str, ...]
    needs: tuple[str, ...]


@cache
def concept(words: str) -> str:
    """What words mean, so that things with the same meaning are told apart from others."""
    return knowledge().concept(words) or words


@cache
def kinds_of(name: str) -> tuple[str, ...]:
    """A concept and all that it is a kind of."""
    return knowledge().kinds(name)


@cache
def categories() -> dict[str, Category]:
    found: dict[str, Category] = {}
    for group in data("objects"):
        for name, said in group["objects"].items():
            words = {"say": said} if isinstance(said, list) else said
            found[name] = Category(
                name=name,
                synonyms=tuple(words.get("say", ())),
                kinds=tuple(words.get("kinds", ())),
                family=group["family"],
                traits=tuple(group["traits"]),
                own=group.get("own", False),
            )
    return found


@cache
def region_kinds() -> dict[str, RegionKind]:
    return {
        name: RegionKind(name, tuple(entry["say"]), _with_many(entry["has"]))
        for name, entry in data("regions").items()
    }


@cache
def themes() -> dict[str, Theme]:
    return {
        name: Theme(
            name, entry["setting"], entry["about"], tuple(entry["ways"]), _with_many(entry["regions"])
        )
        for name, entry in data("themes").items()
    }


@cache
def traits() -> dict[str, Trait]:
    found = {}
    for name, entry in data("attributes").items():
        if name == "looks":
            continue
        if "property" in entry:
            holds, lacks = (tuple(_pair(text) for text in entry[side]) for side in ("holds", "lacks"))
            found[name] = Trait(entry["property"], holds, lacks)
        else:
            found[name] = Trait("", tuple((entry["key"], str(value)) for value in entry["values"]), ())
    return found


@cache
def looks() -> dict[str, tuple[str, ...]]:
    """How things look from afar: `mine`, `other` people's and `plain`."""
    return {whose: tuple(texts) for whose, texts in data("attributes")["looks"].items()}


@cache
def wishes() -> dict[str, Wish]:
    return {
        name: Wish(tuple(entry["verbs"]), tuple(entry["needs"])) for name, entry in data("activities").items()
    }


@cache
def data(name: str) -> Any:
    """One of the YAML files in `data/`."""
    text = (resources.files(__package__) / "data" / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _with_many(entries: list[str]) -> dict[str, bool]:
    return {entry.rstrip("*"): entry.endswith("*") for entry in entries}


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition(": ")
    return key, value
