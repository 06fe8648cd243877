"""Words: lower case, singular, without underscores. What names and sentences are compared by."""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR = {
    "people": "person", "men": "man", "women": "woman", "children": "child", "kids": "kid", "mice": "mouse",
    "shelves": "shelf", "bookshelves": "bookshelf", "knives": "knife", "leaves": "leaf", "scarves": "scarf",
    "benches": "bench", "boxes": "box", "wolves": "wolf", "lives": "life", "geese": "goose", "feet": "foot",
    "teeth": "tooth", "loaves": "loaf", "trolleys": "trolley", "buses": "bus", "calves": "calf",
    "pathes": "path", "axes": "axe", "oxen": "ox", "shoes": "shoe", "canoes": "canoe", "hoes": "hoe",
    "movies": "movie", "cookies": "cookie", "pies": "pie", "ties": "tie", "gases": "gas", "lenses": "lens",
}  # fmt: skip
_INVARIANT = frozenset(
    [
        "glasses",
        "scissors",
        "stairs",
        "debris",
        "chips",
        "clothes",
        "headphones",
        "goggles",
        "weights",
        "news",
        "series",
        "species",
        "bus",
        "gas",
        "canvas",
        "binoculars",
        "works",
        "crossroads",
        "bleachers",
        "fireworks",
    ]
)


def singular(word: str) -> str:
    """`benches` -> `bench`. Words that are no plural come back as they are."""
    if word in _INVARIANT:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            return word[:-3] + "y"
        if word.endswith(("ches", "shes", "sses", "xes", "zes")):
            return word[:-2]
        return word[:-1]
    return word


@lru_cache(maxsize=16384)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a name or phrase: `picnicTable_2` -> picnic, table, 2."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    return tuple(
        re.findall(
            r"[^\W\d_]+(?:['-][^\W\d_]+)*|\d+[^\W\d_]+(?![\w])|\d+",
            text.lower().replace("_", " ").replace("’", "'"),
        )
    )


@lru_cache(maxsize=16384)
def lemma(text: str) -> str:
    """A phrase in comparable form: words in lower case, the last in the singular, no number at the end."""
    words = list(tokens(text))
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if words:
        words[-1] = singular(words[-1])
    return " ".join(words)


@lru_cache(maxsize=16384)
def number(text: str) -> str | None:
    """The number at the end of a name: `sidewalk_2` -> "2"."""
    words = tokens(text)
    return str(int(words[-1])) if len(words) > 1 and words[-1].isdigit() else None


def shown(names: list[str] | tuple[str, ...], limit: int = 4) -> str:
    """`a, b and c` for a sentence."""
    names = list(names)
    if len(names) > limit:
        names = [*names[:limit], f"{len(names) - limit} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
