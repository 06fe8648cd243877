"""Reading an answer in English: what it mentions, and whether it says yes or no."""

from __future__ import annotations

import re
from typing import Literal

Polarity = Literal["yes", "no"]

_IRREGULAR_PLURALS = {"person": "people", "man": "men", "woman": "women", "child": "children"}

# "I could not find bench_1" names bench_1 but does not report it.
_NOT_FOUND = re.compile(
    r"(?:could ?n[o']t|can ?n[o']t|cannot|unable to|did ?n[o']t|did not|could not|can not|failed to|not able to|"
    r"never)"
    r" (?:find|found|locate|see|spot|identify|detect)(?: (?!on\b|in\b|at\b|near\b|by\b|from\b|along\b|under\b)[\w']+){0,3} $"
)


def mentions(answer: str, name: str, category: str | None = None) -> bool:
    """Whether an answer names a node: by its name, or by its category word, singular or plural.

    `bench_1` is also mentioned as `bench 1`, and by the bare word `bench`, but not by `bench_2`.
    Something that the answer says was not found is not mentioned.
    """
    text = _spaced(answer)
    exact = _spaced(name)
    if _occurs(rf"{re.escape(exact)}(?! ?\d)", text):
        return True
    word = _spaced(category or re.sub(r"[_ -]?\d+$", "", name))
    plurals = "|".join(re.escape(form) for form in _forms(word))
    return _occurs(rf"(?:{plurals})(?! #?\d+\b(?! ?(?:m|meters?|metres?)\b))", text)


def _spaced(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text).strip().casefold()


def _forms(word: str) -> list[str]:
    """The word and its plurals, longest first so that alternation prefers them."""
    forms = {word, f"{word}s", f"{word}es"}
    if word.endswith("y"):
        forms.add(f"{word[:-1]}ies")
    if word.endswith(("f", "fe")):
        forms.add(re.sub(r"fe?$", "ves", word))
    head, _, last = word.rpartition(" ")
    if last in _IRREGULAR_PLURALS:
        forms.add(f"{head} {_IRREGULAR_PLURALS[last]}".strip())
    return sorted(forms, key=len, reverse=True)


def _occurs(pattern: str, text: str) -> bool:
    return any(
        not _NOT_FOUND.search(text[: match.start()])
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)
    )


# Properties a yes/no question can ask about: words that assert one, and words that assert its opposite.
_PROPERTIES: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(positive.split()), frozenset(negative.split()))
    for positive, negative in (
        (
            "clear unobstructed passable traversable open unblocked navigable",
            "blocked obstructed impassable closed blocking blocks obstructing obstructs debris obstacle obstacles "
            "construction barrier barriers rubble obstruction obstructions",
        ),
        (
            "damaged damage dented dent scratched broken cracked leaking leak leaks",
            "undamaged intact unharmed",
        ),
        (
            "occupied taken full unavailable busy sitting seated someone",
            "unoccupied free empty available vacant",
        ),
        ("debris rubble litter obstacle obstacles branches branch rocks", "clear clean unobstructed"),
        ("dangerous danger dangers hazard hazards hazardous unsafe", "safe harmless"),
        ("space spaces room free available vacant spot spots empty", "full occupied taken"),
        ("built finished complete completed constructed", "unbuilt unfinished incomplete construction"),
        ("reachable reach accessible connected get access", "unreachable inaccessible disconnected blocked"),
        (
            "blocking blocks blocked obstructed obstructing obstructs block",
            "clear open passable unobstructed unblocked",
        ),
    )
)

_YES = r"yes|yeah|yep|yup|affirmative|correct|indeed|definitely|certainly"
_NO = r"no|nope|nah|negative"
_OPENERS = (
    r"(?:(?:answer|result|so|well|sorry|unfortunately|okay|ok|and|but|the answer is|the answer)\b[ :]*)*"
)
_LEADING = re.compile(rf"{_OPENERS}(?:(?P<yes>{_YES})\b|(?P<no>{_NO})\b)(?P<rest>.*)")
# After a "no" that answers; before anything else, "no" is a determiner ("no debris was found").
_ANSWERING_NO = re.compile(
    r" (?:it|they|there|the|this|that|these|those|you|your|i|we|my|none|nothing|not|both|all)\b"
)
_NEGATOR = re.compile(
    r"(?:not|\w+n't|no|never|without|none|nothing|neither|nor|cannot|nobody|isnt|arent|unlikely)"
)
_PURPOSE = re.compile(
    r"\b(?:for|whether|if|to check|checked|checking|inspected|inspecting|searched|searching)\b"
)


def polarity(answer: str, question: str = "") -> Polarity | None:
    """Whether an answer says yes or no to a question; None when it says neither, or both.

    A clause that begins with yes or no decides. Otherwise what is asserted or denied about the
    property the question asks for ("is the path clear?": "the path is blocked" says no).
    """
    clauses = _clauses(answer)
    for clause in clauses:
        if (said := _leading(clause)) is not None:
            return said
    return _about_property(clauses, question) or _plain_negation(clauses)


def _clauses(text: str) -> list[str]:
    text = text.casefold().replace("’", "'").replace("_", " ")
    parts = re.split(
        r"[.,;:!?\n()\[\]\"]+|\s[-–—]+\s|—|\b(?:but|and|however|although|though|while|because|since)\b", text
    )
    return [clause for part in parts if (clause := " ".join(part.split()))]


def _leading(clause: str) -> Polarity | None:
    match = _LEADING.match(clause)
    if match is None:
        return None
    if match["yes"]:
        return "yes"
    rest = match["rest"]
    return "no" if not rest or _ANSWERING_NO.match(rest) else None


def _about_property(clauses: list[str], question: str) -> Polarity | None:
    asked = set(re.findall(r"[\w']+", question.casefold()))
    for positive, negative in _PROPERTIES:
        if asked & positive:
            wanted, opposite = positive, negative
        elif asked & negative:
            wanted, opposite = negative, positive
        else:
            continue
        found = {
            said
            for clause in clauses
            for words, meaning in ((wanted, True), (opposite - wanted, False))
            if (asserted := _asserts(clause, words)) is not None
            for said in ["yes" if asserted == meaning else "no"]
        }
        if len(found) == 1:
            return "yes" if "yes" in found else "no"
        if found:
            return None
    return None


def _asserts(clause: str, words: frozenset[str]) -> bool | None:
    """Whether a clause asserts (True) or denies (False) one of `words`; None when it does not say."""
    for match in re.finditer(r"[\w']+", clause):
        if match.group() not in words:
            continue
        before = clause[: match.start()]
        if _PURPOSE.search(before):
            continue
        after = clause[match.end() :]
        denied = any(_NEGATOR.fullmatch(word) for word in re.findall(r"[\w']+", before)[-5:])
        denied |= bool(re.search(r"\b(?:free of|clear of|free from)(?: \w+){0,2} $", before))
        denied |= bool(re.match(r" (?:\w+ ){0,3}(?:not|no|n't)\b|-free", after))
        return not denied
    return None


def _plain_negation(clauses: list[str]) -> Polarity | None:
    """The polarity of an answer whose only clue is its verb."""
    for clause in clauses:
        if re.search(
            r"\b(?:there (?:is|are) (?:no|none|nothing|not)|cannot|can't|can not|could not|couldn't)\b",
            clause,
        ):
            return "no"
        if re.search(
            r"\b(?:is|are|was|were|has|have|do|does|did)(?: not|n't)\b|\b(?:none|nothing|nobody)\b", clause
        ):
            return "no"
        if re.match(r"(?:you can|there (?:is|are)|it (?:is|has)|they (?:are|have))\b", clause):
            return "yes"
    return None
