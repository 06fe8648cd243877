"""A stable division into training, validation and test, by hashing what must not be shared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal

Split = Literal["train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = ("train", "validation", "test")

WORLD_SHARES: Final[dict[Split, float]] = {"train": 0.8, "validation": 0.1, "test": 0.1}
_HELD_OUT_SHARE: Final = 8
"""One phrasing in so many is held out for validation, and one for test."""
_FEWEST: Final = 4
"""Of fewer phrasings none are held out."""


def number(text: str) -> int:
    """64 bits that depend on the text alone, the same on every machine and run."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def split_of_world(digest: str) -> Split:
    """Where a world with this layout digest belongs."""
    at = number(f"world:{digest}") / 2**64
    for split in SPLITS:
        at -= WORLD_SHARES[split]
        if at < 0:
            return split
    return "test"


def split_phrasings(
    phrasings: Sequence[str], settled: Mapping[str, Split] | None = None
) -> dict[Split, tuple[str, ...]]:
    """Which phrasings of one list belong where. Every split gets some, but of a short list all
    are for training.

    settled: where phrasings belong that occur in another list as well.
    """
    if len(phrasings) < _FEWEST:
        return {"train": tuple(phrasings), "validation": (), "test": ()}
    parts: dict[Split, list[str]] = {split: [] for split in SPLITS}
    ranked = sorted(phrasings, key=lambda text: number(f"phrasing:{text}"))
    held = -(-len(ranked) // _HELD_OUT_SHARE)
    for text in ranked:
        if settled is not None and text in settled:
            parts[settled[text]].append(text)
    for text in ranked:
        if settled is None or text not in settled:
            split: Split = next((s for s in ("test", "validation") if len(parts[s]) < held), "train")
            parts[split].append(text)
    return {split: tuple(texts) for split, texts in parts.items()}
