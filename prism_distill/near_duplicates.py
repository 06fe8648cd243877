"""How much a collection repeats itself: near-duplicates by MinHash, in one pass and little memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_BANDS, _ROWS = 8, 8
_PRIME = np.uint64((1 << 61) - 1)


class NearDuplicates:
    """Sets of words, one at a time; counts those that resemble an earlier one.

    similarity: estimated Jaccard index from which on two sets count as near-duplicates. Pairs that are less
    alike than about 0.75 are rarely noticed at all.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        rng = np.random.default_rng(0)
        # Factors under 2^29, so that products with 32-bit hashes stay in 64 bits.
        self._factors = rng.integers(1, 1 << 29, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
        self._offsets = rng.integers(0, 1 << 61, size=(_BANDS * _ROWS, 1), dtype=np.uint64)
        self._signatures: list[NDArray[np.uint32]] = []
        self._buckets: dict[bytes, int] = {}
        self.seen = 0
        self.found = 0

    @property
    def rate(self) -> float:
        return self.found / self.seen if self.seen else 0.0

    def add(self, words: Iterable[str]) -> bool:
        """Whether this set resembles one before."""
        self.seen += 1
        hashes = np.array([zlib.crc32(word.encode()) for word in set(words)] or [0], dtype=np.uint64)
        values = (self._factors * hashes + self._offsets) % _PRIME
        signature = values.min(axis=1).astype(np.uint32)
        keys = [
            bytes([band]) + signature[band * _ROWS : (band + 1) * _ROWS].tobytes() for band in range(_BANDS)
        ]
        near = {self._buckets[key] for key in keys if key in self._buckets}
        if any((self._signatures[other] == signature).mean() >= self._similarity for other in near):
            self.found += 1
            return True
        for key in keys:
            self._buckets.setdefault(key, len(self._signatures))
        self._signatures.append(signature)
        return False
