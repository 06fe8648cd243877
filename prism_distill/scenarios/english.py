"""A little English: articles and plurals of nouns."""

from __future__ import annotations

_MASS = frozenset(
    ("bread", "trash", "medicine", "medication", "scaffolding", "scaffold", "luggage", "grass", "coffee",
     "soda", "lumber", "debris", "scrap metal")
)  # fmt: skip
_PAIRS = frozenset(
    ("glasses", "eyeglasses", "spectacles", "headphones", "stairs", "bleachers", "chips", "goggles")
)
_IRREGULAR = {"person": "people", "man": "men", "woman": "women", "child": "children", "shelf": "shelves",
              "knife": "knives", "sheep": "sheep", "deer": "deer"}  # fmt: skip


def with_article(noun: str) -> str:
    """`a chair`, `an oven`, `some bread`."""
    last = noun.rsplit(" ", 1)[-1]
    if noun in _MASS or last in _MASS or last in _PAIRS:
        return f"some {noun}"
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def plural(noun: str) -> str:
    """`chairs`, `benches`, `people`; what has no plural stays as it is."""
    head, space, last = noun.rpartition(" ")
    if noun in _MASS or last in _MASS or last in _PAIRS:
        return noun
    if noun.startswith(("group of", "pile of", "chest of", "cluster of")):
        first, _, rest = noun.partition(" ")
        return f"{plural(first)} {rest}"
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last.endswith(("s", "x", "ch", "sh")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        last = f"{last[:-1]}ies"
    else:
        last += "s"
    return f"{head}{space}{last}"


def countable(noun: str) -> bool:
    return plural(noun) != noun
