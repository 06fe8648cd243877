"""How alike scenarios are, however their nodes are numbered: for near-duplicates, and for diversity."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

from prism_distill.scenarios.reserved import normalised
from prism_planner.worlds.spine_scenario import ObjectSpec, SpineScenario

Features = frozenset[tuple[str, int]]
"""Shingles, each with how often it occurred before in the same scenario."""

_PAIRS = 2000
_LONGEST_GRAM = 3


def features(scenario: SpineScenario) -> Features:
    """Paths between kinds of regions, things at kinds of regions, and pairs of words of the sentences."""
    world = scenario.world
    found = [f"{stem(r.name)}|{r.description or ''}" for r in world.regions]
    found += ["-".join(sorted(map(stem, edge))) for edge in world.edges]
    found += [f"{_kind(thing)}@{stem(region)}" for thing in world.objects for region in thing.seen_from]
    for task in scenario.tasks:
        words = ["", *normalised(task.instruction).split(), ""]
        found += [f"{a} {b}" for a, b in pairwise(words)]
    seen: Counter[str] = Counter()
    result = set()
    for shingle in found:
        result.add((shingle, seen[shingle]))
        seen[shingle] += 1
    return frozenset(result)


def similarity(a: Features, b: Features) -> float:
    """Jaccard index, 0 to 1."""
    both = len(a & b)
    return both / (len(a) + len(b) - both) if both else 0.0


def stem(name: str) -> str:
    """`parking_lot_1` -> `parking lot`."""
    return re.sub(r"_?\d+$", "", name).replace("_", " ")


def diversity(scenarios: Sequence[SpineScenario]) -> dict[str, Any]:
    """How varied they are.

    distinct_1 to distinct_3: of all sequences of so many words in the sentences, the share that differ.
    regions, objects: different kinds. similarity: mean Jaccard index of two scenarios (of 2000 pairs).
    """
    sentences = [normalised(task.instruction).split() for s in scenarios for task in s.tasks]
    return {
        "sentences": len(sentences),
        "distinct_sentences": len({" ".join(words) for words in sentences}),
        **{f"distinct_{n}": _distinct(sentences, n) for n in range(1, _LONGEST_GRAM + 1)},
        "regions": len({stem(r.name) for s in scenarios for r in s.world.regions}),
        "objects": len({_kind(o) for s in scenarios for o in s.world.objects}),
        "similarity": _mean_similarity([features(s) for s in scenarios]),
    }


def _distinct(sentences: Iterable[Sequence[str]], n: int) -> float:
    grams = [tuple(words[i : i + n]) for words in sentences for i in range(len(words) - n + 1)]
    return round(len(set(grams)) / len(grams), 4) if grams else 0.0


def _mean_similarity(found: Sequence[Features]) -> float:
    count = len(found)
    if count * (count - 1) // 2 <= _PAIRS:
        pairs = list(combinations(found, 2))
    else:
        rng = random.Random(0)
        pairs = [(a, b) for a, b in (rng.sample(found, 2) for _ in range(_PAIRS))]
    return round(sum(similarity(a, b) for a, b in pairs) / len(pairs), 4) if pairs else 0.0


def _kind(thing: ObjectSpec) -> str:
    return thing.category or stem(thing.name)
