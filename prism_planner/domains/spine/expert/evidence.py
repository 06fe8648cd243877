"""What attribute texts say about a property: "occupied: no, it is empty" lacks `occupied`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from prism_planner.domains.spine.expert.intent import Condition
from prism_planner.domains.spine.expert.knowledge import data
from prism_planner.domains.spine.expert.words import lemma

_NEGATORS = [
    "not",
    "no",
    "never",
    "without",
    "none",
    "nothing",
    "neither",
    "nor",
    "cannot",
    "hardly",
    "nobody",
    "zero",
    "0",
    "isn't",
    "aren't",
    "wasn't",
    "weren't",
    "hasn't",
    "haven't",
    "don't",
    "doesn't",
    "didn't",
    "can't",
    "won't",
    "un",
    "free-of",
    "little",
    "barely",
    "almost-none",
    "unlikely",
]
_NEGATED = re.compile(
    rf"(?:\b(?:{'|'.join(map(re.escape, _NEGATORS))})|n't|\b(?:free|clear|clean|empty) of|"
    r"\bfree from)"
    r"(?:\s+(?!but\b|and\b|however\b)[\w'-]+){0,3}\s*$"
)
_NEGATED_AFTER = re.compile(
    r"^(?:\s+\w+)?\s+(?:not|no longer|nowhere|was removed|were removed|has been removed|"
    r"removed)\b|^-free\b"
)
_CLAUSES = re.compile(r"[.;,:()]|\bbut\b|\bhowever\b|\balthough\b|\bthough\b")
_YES = re.compile(r"^\s*(?:yes|true|y|full|fully|present)\b[\s,.;:-]*", re.I)
_NO = re.compile(
    r"^\s*(?:no(?=\s*(?:[,.;:-]|$|it\b|they\b|there\b))|false|none|n|0|zero|nil|nothing|"
    r"absent)\b[\s,.;:-]*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Property:
    """One entry of `data/evidence.yaml`."""

    name: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    query: str
    grave: bool
    keys: frozenset[str]
    keys_not: frozenset[str]
    for_: re.Pattern[str]
    against: re.Pattern[str]

    def judge_text(self, text: str) -> bool | None:
        """What a text says; None when it says nothing about the property."""
        verdict: bool | None = None
        for clause in _CLAUSES.split(text.lower()):
            for said in self._judge_clause(clause):
                if said and self.grave:
                    return True
                if verdict is None:
                    verdict = said
        return verdict

    def _judge_clause(self, clause: str) -> list[bool]:
        found: list[tuple[int, bool]] = []
        # Phrases against are taken first: "not in use" and "no free space" are not also a sign for.
        for pattern, meaning in ((self.against, False), (self.for_, True)):
            for match in list(pattern.finditer(clause)):
                before, after = clause[: match.start()], clause[match.end() :]
                negated = bool(_NEGATED.search(before) or _NEGATED_AFTER.search(after))
                found.append((match.start(), meaning != negated))
                clause = before + " " * len(match.group()) + after
        return [meaning for _, meaning in sorted(found)]

    def judge(self, attributes: Mapping[str, str]) -> bool | None:
        """What the attributes of a node say; its category says nothing, its name is not an attribute."""
        verdict: bool | None = None
        for key, value in attributes.items():
            said = self._judge_attribute(key_words(key), value) if key != "category" else None
            if said is None:
                continue
            if key_words(key) in self.keys or key_words(key) in self.keys_not:
                return said
            if verdict is None or (said and self.grave):
                verdict = said
        return verdict

    def _judge_attribute(self, key: str, value: str) -> bool | None:
        meaning = True if key in self.keys else False if key in self.keys_not else None
        yes, no = _YES.match(value), _NO.match(value)
        if meaning is not None:
            if yes or no:
                return meaning == bool(yes)
            said = self.judge_text(value)
            if said is not None:
                return said
            return meaning != bool(
                _NEGATED.search(value.lower() + " ")
                or value.strip().lower().startswith(("almost none", "not ", "no "))
            )
        if key == "description" or not (yes or no):
            return self.judge_text(f"{key} {value}" if key not in _GENERIC_KEYS else value)
        return self.judge_text((yes or no).string[(yes or no).end() :])  # type: ignore[union-attr]


COLOURS = frozenset(
    [
        "red",
        "green",
        "blue",
        "yellow",
        "black",
        "white",
        "grey",
        "gray",
        "orange",
        "purple",
        "brown",
        "pink",
        "silver",
        "golden",
        "beige",
    ]
)

_GENERIC_KEYS = frozenset(
    [
        "description",
        "condition",
        "state",
        "status",
        "note",
        "notes",
        "details",
        "appearance",
        "observation",
        "info",
        "remark",
        "text",
        "view",
        "look",
    ]
)


def key_words(key: str) -> str:
    """An attribute's name in comparable form: `in_use` is "in use"."""
    return " ".join(key.lower().replace("_", " ").replace("-", " ").split())


@cache
def properties() -> dict[str, Property]:
    """All properties of the lexicon, by name."""
    return {name: _property(name, entry) for name, entry in data("evidence").items()}


def _property(name: str, entry: dict[str, list[str]]) -> Property:
    positive, negative = _texts(entry["is"]), _texts(entry["is_not"])
    return Property(
        name=name,
        positive=positive,
        negative=negative,
        query=str(entry["query"]),
        grave=bool(entry.get("grave")),
        keys=frozenset(_texts(entry["keys"])),
        keys_not=frozenset(_texts(entry["keys_not"])),
        for_=_pattern((*positive, *_texts(entry["for"]))),
        against=_pattern((*negative, *_texts(entry["against"]))),
    )


def _texts(entries: Iterable[object]) -> tuple[str, ...]:
    # YAML reads a bare `on` or `off` as a truth value.
    return tuple(
        {True: "on", False: "off"}.get(e, str(e)) if isinstance(e, bool) else str(e) for e in entries
    )


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    parts = []
    for phrase in sorted(set(phrases), key=len, reverse=True):
        body = re.escape(phrase.rstrip("*")).replace(r"\ ", r"\s+")
        parts.append(body + (r"\w*" if phrase.endswith("*") else ""))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(parts)})(?![\w-])")


@lru_cache(maxsize=1)
def _adjectives() -> dict[str, Condition]:
    table: dict[str, Condition] = {}
    for prop in properties().values():
        for words, value in ((prop.positive, True), (prop.negative, False)):
            for word in words:
                table.setdefault(word, Condition(property=prop.name, value=value))
    return table


def adjective(words: str) -> Condition | None:
    """The condition that an adjective states: `free` is `occupied: false`."""
    return _adjectives().get(words.strip().lower())


@lru_cache(maxsize=8192)
def _judge_cached(prop: str, items: tuple[tuple[str, str], ...]) -> bool | None:
    return properties()[prop].judge(dict(items))


def judge(prop: str, attributes: Mapping[str, str], name: str = "") -> bool | None:
    """Whether a node with these attributes has the property; None when they do not say.

    A word that is no property of the lexicon ("red") holds when it occurs in the name or an attribute, and
    is not known otherwise.
    """
    if prop in properties():
        return _judge_cached(prop, tuple(attributes.items()))
    wanted = lemma(prop)
    if wanted in COLOURS:
        stated = [v.lower() for k, v in attributes.items() if key_words(k) in ("colour", "color")]
        if stated:
            return any(wanted in v for v in stated)
    text = f" {name.replace('_', ' ')} {' '.join(attributes.values())} ".lower()
    match = re.search(rf"(?<!\w){re.escape(wanted)}s?(?!\w)", text)
    if match is None:
        return None
    return not _NEGATED.search(text[: match.start()])


def holds(condition: Condition, attributes: Mapping[str, str], name: str = "") -> bool | None:
    """Whether the condition is met; None when the attributes do not say."""
    said = judge(condition.property, attributes, name)
    return None if said is None else said == condition.value


def relevant(attributes: Mapping[str, str], props: Iterable[str]) -> str:
    """What the attributes say about these properties, in words: "the rear bumper is dented"."""
    said = []
    for key, value in attributes.items():
        if key != "category" and any(judge(p, {key: value}) is not None for p in props):
            rest = _YES.sub("", value, count=1) if _YES.match(value) else _NO.sub("", value, count=1)
            said.append(rest.strip(" .,;:-"))
    return "; ".join(filter(None, said))


def words_for(condition: Condition) -> str:
    """The adjective that states a condition: `free` for `occupied: false`."""
    entry = properties().get(condition.property)
    if entry is None:
        return condition.property if condition.value else f"not {condition.property}"
    return (entry.positive if condition.value else entry.negative)[0]


def query(prop: str) -> str:
    """What to ask when inspecting for a property."""
    entry = properties().get(prop)
    return entry.query if entry else f"is it {prop}"


_OWN = re.compile(r"\b(?:you|your|yours|user|users|user's|the user|mine|my)\b")
_OTHERS = re.compile(
    r"\b\w+'s\b|\b(?:taxi|cab|permit|rental|rented|company|police|staff|faculty|visitor|"
    r"delivery|belongs to|owned by|"
    r"name tag|somebody else|someone else|neighbou?r|official|public|municipal|city|fleet|"
    r"patrol|stray|guard)\b"
)


def ownership(attributes: Mapping[str, str]) -> bool | None:
    """Whether a thing is the user's: True, False, or None when nothing says."""
    for key, value in attributes.items():
        text = value.lower()
        if key == "category":
            continue
        if _OWN.search(text):
            return not _NEGATED.search(text[: _OWN.search(text).start()])  # type: ignore[union-attr]
        if key_words(key) in ("owner", "belongs to", "owned by", "property of"):
            return None if text.strip() in ("unknown", "", "none", "not known") else False
        if _OTHERS.search(text):
            return False
    return None
