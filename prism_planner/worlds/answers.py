"""Reading an answer in English: what it mentions, and whether it says yes or no."""

from __future__ import annotations

import re
from typing import Literal

Polarity = Literal["yes", "no"]


def mentions(answer: str, name: str, category: str | None = None) -> bool:
    """Whether an answer names a node: by its name, or by its category word, singular or plural.

    `bench_1` is also mentioned as `bench 1`, and by the bare word `bench`, but not by `bench_2`.
    Something that the answer says was not found is not mentioned.
    """
    text = _spaced(answer)
    if _occurs(rf"{re.escape(_spaced(name))}(?! ?\d)", text):
        return True
    word = _spaced(category or re.sub(r"[_ -]?\d+$", "", name))
    forms = "|".join(re.escape(form) for form in _forms(word))
    # "car 2" is another car, "car 20 m ahead" is a car.
    return _occurs(rf"(?:{forms})(?! #?\d(?!\d* ?(?:m|meters?|metres?)\b))", text)


def polarity(answer: str, question: str = "") -> Polarity | None:
    """Whether an answer says yes or no to a question; None when it says neither, or both.

    A clause that begins with yes or no decides. Otherwise what is asserted or denied about the
    property the question asks for: "the path is blocked" says no to "is the path clear?" and yes to
    "is something blocking the path?".
    """
    clauses = _clauses(answer)
    for clause in clauses:
        if (said := _leading(clause)) is not None:
            return said
    if any(_UNDECIDED.search(clause) for clause in clauses):
        return None
    return _about_property(clauses, question)


# Mentions

_IRREGULAR_PLURALS = {"person": "people", "man": "men", "woman": "women", "child": "children"}

# "I could not find bench_1" names bench_1 without reporting it; "could not find a chair at desk_1"
# reports desk_1. So only what directly follows the verb is denied.
_NOT_FOUND = re.compile(
    r"(?:n't|not|cannot|unable to|failed to|never) (?:able to )?"
    r"(?:find|found|locate|see|spot|identify|detect)"
    r"(?: (?!(?:on|in|at|near|by|from|along|under)\b)[\w']+){0,3} $"
    # "There is no car", "no red car was found".
    r"|\bno (?!(?:one|longer)\b)(?:[\w']+ )?$"
)


def _spaced(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).strip().casefold()


def _forms(word: str) -> list[str]:
    """The word and its plurals."""
    forms = [word, f"{word}s", f"{word}es"]
    if word.endswith("y"):
        forms.append(f"{word[:-1]}ies")
    if word.endswith(("f", "fe")):
        forms.append(re.sub(r"fe?$", "ves", word))
    head, space, last = word.rpartition(" ")
    if last in _IRREGULAR_PLURALS:
        forms.append(f"{head}{space}{_IRREGULAR_PLURALS[last]}")
    return forms


def _occurs(pattern: str, text: str) -> bool:
    return any(
        not _NOT_FOUND.search(text[: match.start()])
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)
    )


# Polarity

# Properties a question can ask about: words that assert one, words that assert its opposite. The first
# that the question names and the answer speaks of counts.
_PROPERTIES = tuple(
    (frozenset(positive.split()), frozenset(negative.split()))
    for positive, negative in (
        (
            "block blocks blocked blocking obstruct obstructs obstructed obstructing impassable closed",
            "clear open free passable unobstructed unblocked unaffected",
        ),
        (
            "clear passable traversable open unobstructed unblocked navigable",
            "block blocks blocked blocking obstruct obstructs obstructed obstructing impassable closed "
            "debris rubble obstacle obstacles obstruction obstructions barrier barriers construction",
        ),
        (
            "debris rubble litter branch branches obstacle obstacles",
            "clear clean unobstructed",
        ),
        (
            "damaged damage damages dent dents dented scratch scratched broken cracked leak leaks leaking",
            "undamaged intact unharmed fine good",
        ),
        (
            "occupied taken full unavailable busy sitting sits seated",
            "unoccupied free empty available vacant",
        ),
        (
            "space spaces room free available vacant empty unoccupied",
            "full occupied taken",
        ),
        (
            "dangerous danger dangers hazard hazards hazardous unsafe",
            "safe harmless",
        ),
        (
            "built finished complete completed constructed",
            "unbuilt unfinished incomplete construction",
        ),
        (
            "get reach reached reachable accessible access arrived connected",
            "unreachable inaccessible disconnected blocked closed",
        ),
        ("construction", ""),
    )
)
# Words that make a question about such a property, but say nothing in an answer ("space 1 is taken").
_TOPICS = frozenset(("space", "spaces", "room"))

_LEADING = re.compile(
    r"(?:(?:answer|result|so|well|sorry|unfortunately|the answer is|the answer) )*"
    r"(?:(?P<yes>yes|yeah|yep|yup|affirmative)\b|(?P<no>no|nope|negative|none)\b)(?P<rest>.*)"
)
# After a "no" that answers. Before anything else it is a determiner: "no debris was found".
_AFTER_ANSWERING_NO = re.compile(
    r" (?:it|they|there|the|this|that|these|those|you|your|i|we|my|not|all|both)\b"
)
_UNDECIDED = re.compile(
    r"(?:n't|not|cannot|unable to) (?:yet )?(?:be )?(?:able to )?"
    r"(?:determine|determined|tell|verify|confirm|know|known|say|assess|sure|certain)|\bunknown\b|\bunsure\b"
)
_NEGATOR = re.compile(r"not|no|never|without|none|nothing|neither|nor|cannot|nobody|unlikely|\w+n't")
_NONE_OF = re.compile(r"(?:none|neither|not one|not any) of ")
_FREE_OF = re.compile(r"\b(?:free|clear) (?:of|from)(?: \w+){0,2} $")
_DENIED_AFTER = re.compile(r" (?:\w+ ){0,3}(?:not|\w+n't)\b|-free")
_PURPOSE = re.compile(r"\b(?:for|whether|if|check|checked|checking|inspected|searched)\b")
_EXISTENTIAL = re.compile(r"\b(?:is|are) there\b|\bany\b|\banything\b")
_THERE_IS = re.compile(r"there(?:'s| is| are) (?P<no>no|not|none|nothing)?\b")


def _clauses(text: str) -> list[str]:
    text = _spaced(re.sub(r"[^.!?\n]*\?", " ", text.replace("-", "\N{NON-BREAKING HYPHEN}")))
    parts = re.split(
        r"[.,;:!\n()\[\]\"]+|\s\N{NON-BREAKING HYPHEN}+\s|[\N{EN DASH}\N{EM DASH}]"
        r"|\b(?:but|and|however|although|though|while|because|since)\b",
        text,
    )
    return [clause.replace("\N{NON-BREAKING HYPHEN}", "-") for part in parts if (clause := part.strip())]


def _leading(clause: str) -> Polarity | None:
    match = _LEADING.match(clause)
    if match is None:
        return None
    if match["yes"]:
        return "yes"
    return "no" if not match["rest"] or _AFTER_ANSWERING_NO.match(match["rest"]) else None


def _about_property(clauses: list[str], question: str) -> Polarity | None:
    question = question.casefold()
    existential = bool(_EXISTENTIAL.search(question))
    asked = set(re.findall(r"[\w']+", question))
    for positive, negative in _PROPERTIES:
        wanted, opposite = (positive, negative) if asked & positive else (negative, positive)
        if not asked & wanted:
            continue
        found = {
            asserted == meaning
            for clause in clauses
            for words, meaning in ((wanted - _TOPICS, True), (opposite - wanted - _TOPICS, False))
            if (asserted := _asserted(clause, words)) is not None
        }
        if len(found) == 1 or (found and existential):
            return "yes" if True in found else "no"
        if found:
            return None
    return _there_is(clauses) if existential else None


def _asserted(clause: str, words: frozenset[str]) -> bool | None:
    """Whether a clause asserts (True) or denies (False) one of `words`; None when it does not say."""
    for match in re.finditer(r"[\w']+", clause):
        before, after = clause[: match.start()], clause[match.end() :]
        if match.group() not in words or _PURPOSE.search(before):
            continue
        return not (
            _NONE_OF.match(clause)
            or any(_NEGATOR.fullmatch(word) for word in re.findall(r"[\w']+", before)[-5:])
            or _FREE_OF.search(before)
            or _DENIED_AFTER.match(after)
        )
    return None


def _there_is(clauses: list[str]) -> Polarity | None:
    """The answer to "is there ...?" by "there is (no) ..."."""
    for clause in clauses:
        if (match := _THERE_IS.match(clause)) is not None:
            return "no" if match["no"] else "yes"
        if re.search(r"\b(?:none|nothing|nobody)\b", clause):
            return "no"
    return None
