"""What is kept for evaluation: sentences and worlds that are never generated."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache

from prism_distill.scenarios.lexicon import data

_POLITE = re.compile(
    r"^(?:please|hello|hey|robot|now|okay|kindly|can you|could you|will you|would you please|would you"
    r"|i need you to|i want you to|i would like you to|your task is to|tell me|please tell me|quick question"
    r"|one question|excuse me|listen)\b ?"
    r"|(?: please| thanks| thank you| help| please help me| can you help)$"
)


@cache
def normalised(sentence: str) -> str:
    """A sentence in comparable form: lower case, words only, without what is only polite."""
    text = " ".join(re.findall(r"[a-z0-9']+", sentence.lower().replace("_", " ")))
    while (bare := _POLITE.sub("", text)) != text:
        text = bare
    return text


def layout_digest(regions: Iterable[str], edges: Iterable[tuple[str, str]]) -> str:
    """Two worlds with the same digest have the same regions, connected in the same way."""
    joined = ",".join(sorted("-".join(sorted(edge)) for edge in edges))
    return hashlib.blake2b(f"{','.join(sorted(regions))}|{joined}".encode(), digest_size=12).hexdigest()


@cache
def sentences() -> frozenset[str]:
    """The reserved sentences, normalised."""
    return frozenset(normalised(sentence) for sentence in data("reserved")["sentences"])


@cache
def layouts() -> frozenset[str]:
    """The layout digests of reserved worlds."""
    return frozenset(data("reserved")["layouts"].values())
