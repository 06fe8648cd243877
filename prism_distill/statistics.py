"""What a dataset consists of, counted row by row."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from prism_distill.near_duplicates import NearDuplicates
from prism_distill.scenarios.reserved import normalised


@dataclass
class SplitStatistics:
    """rows, characters: of what is kept. worlds, phrasings: different ones. dropped: episodes that did not
    become rows, by reason. cells, intents, actions: how often; turns: rows by number of planning steps."""

    rows: int = 0
    characters: int = 0
    worlds: set[str] = field(default_factory=set)
    phrasings: set[str] = field(default_factory=set)
    dropped: Counter[str] = field(default_factory=Counter)
    cells: Counter[str] = field(default_factory=Counter)
    intents: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    turns: Counter[int] = field(default_factory=Counter)

    def add(self, row: dict[str, Any]) -> None:
        self.rows += 1
        self.characters += len(row["trace"])
        self.worlds.add(row["world"])
        self.phrasings.add(row["phrasing"])
        self.cells[row["cell"]] += 1
        self.intents[row["intent"]] += 1
        self.turns[row["turns"]] += 1
        self.actions.update(_actions(row["trace"]))

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "worlds": len(self.worlds),
            "sentences": len(self.phrasings),
            "characters": self.characters,
            "dropped": dict(self.dropped.most_common()),
            "cells": dict(sorted(self.cells.items())),
            "intents": dict(self.intents.most_common()),
            "actions": dict(self.actions.most_common()),
            "turns": {str(turns): rows for turns, rows in sorted(self.turns.items())},
        }


class Repetition:
    """How much the rows of one split repeat each other: `exact` in sentence and world, `near` by their words,
    those of the sentence and the names in the first observation."""

    def __init__(self, similarity: float) -> None:
        self.similarity = similarity
        self._exact: set[tuple[str, str]] = set()
        self._near = NearDuplicates(similarity)

    def add(self, row: dict[str, Any]) -> None:
        self._exact.add((row["world"], row["phrasing"]))
        first = json.loads(row["trace"].split("\n", 2)[1])
        names = (node["name"] for node in first["observation"].get("add_nodes", ()))
        self._near.add([*(f"say {word}" for word in normalised(row["instruction"]).split()), *names])

    def as_json(self) -> dict[str, float]:
        rows = max(1, self._near.seen)
        return {
            "exact": 1 - len(self._exact) / rows if self._near.seen else 0.0,
            "near": self._near.rate,
            "similarity": self.similarity,
        }


def _actions(trace: str) -> list[str]:
    """The names of the skills of a trace, and `answer` where it ended with one."""
    turns = [json.loads(line) for line in trace.split("\n")[1:]]
    skills = [turn["skill"].partition("(")[0] for turn in turns if turn.get("skill")]
    return skills + ["answer"] * (turns[-1].get("status") == "succeeded")
