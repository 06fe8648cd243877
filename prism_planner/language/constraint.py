r"""Pieces of llguidance Lark grammars, built safely from text that nobody vetted.

A grammar is a list of lines `name: expression`, whose rule `start` matches the whole answer. Names of
rules are lower case. Put the pieces where an expression goes; put `free_text` right behind the name of
a rule of its own:

>>> grammar = "\n".join([
...     'start: "why:" why "\\n" step',
...     "why" + free_text(24, forbid=";"),
...     f'step: "goto " {one_of(["road_1", "field_2"])} | {literal("stop")}',
... ])
>>> print(grammar)
start: "why:" why "\n" step
why[max_tokens=24]: / ?[^\s\p{Cc}\p{Zl}\p{Zp}\x{3b}][^\p{Cc}\p{Zl}\p{Zp}\x{3b}]*/
step: "goto " /(?:road_1|field_2)/ | "stop"

What follows a piece must not be a continuation of it: a separator behind `free_text` belongs into
`forbid` (a newline always works), and names that contain the separator behind `one_of` shadow their
own prefixes. Start text behind a colon rather than behind a space: tokens carry their leading space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_ ]")
_LINE = r"\p{Cc}\p{Zl}\p{Zp}"


def literal(text: str) -> str:
    """An expression that matches exactly `text`. Raises ValueError for lone surrogates."""
    _check_encodable(text)
    return json.dumps(text)


def one_of(names: Iterable[str]) -> str:
    """An expression that matches exactly one of `names`; order and repetition do not matter.

    It is one terminal, which stays fast for 10,000 names (a rule with as many alternatives does not
    compile). Raises ValueError when there is no name, or for an empty name.
    """
    unique = dict.fromkeys(names)
    if not unique:
        raise ValueError("one_of needs at least one name: leave the alternative out of the grammar instead")
    if "" in unique:
        raise ValueError("one_of cannot match an empty name")
    return "/(?:" + "|".join(_regex(name) for name in unique) + ")/"


def free_text(max_tokens: int, *, forbid: str = "") -> str:
    """The rest of a rule, behind its name, that matches one line of text of at most `max_tokens` tokens.

    The text is not blank and has no control characters and none of the characters in `forbid`. When
    the budget is used up, the grammar goes on with what follows the rule, so that the answer as a whole
    still ends as it should. A character that the budget cuts in two decodes to U+FFFD.
    """
    if max_tokens < 2:
        raise ValueError("free_text needs a budget of at least 2 tokens")
    exclude = _LINE + "".join(rf"\x{{{ord(char):x}}}" for char in forbid)
    return rf"[max_tokens={max_tokens}]: / ?[^\s{exclude}][^{exclude}]*/"


def _regex(text: str) -> str:
    _check_encodable(text)
    return "".join(char if _PLAIN.match(char) else rf"\x{{{ord(char):x}}}" for char in text)


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!r} is not valid Unicode text: {error.reason}") from None
