"""What a language model is asked to write: a world with tasks, as JSON in the terms of `prism-scenario/1`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from prism_planner.worlds.envelope import SCENARIO_FORMAT
from prism_planner.worlds.scenario import ScenarioError, parse_scenario
from prism_planner.worlds.spine_scenario import SpineScenario, SpineWorld

AnswerFault = Literal["prose", "cut_off", "invalid", "no_task"]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*_[0-9]+")
_KEYS = ("description", "platform", "world", "tasks")
_APART_M: Final = 1.0
_LONGEST_PATH_M: Final = {"ugv": 80.0, "uav": 250.0}
_FARTHEST_VIEW_M: Final = {"ugv": 30.0, "uav": 100.0}
_MOST_PROBLEMS = 8


class AnswerError(ValueError):
    """An answer is no usable scenario. fault: for counting. str(): what to mend, for the model."""

    def __init__(self, fault: AnswerFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


def read_answer(text: str, *, name: str, nodes: tuple[int, int]) -> SpineScenario:
    """The scenario in a model's answer, with or without prose and code fences around it.

    nodes: how many regions and objects it may have. Raises AnswerError.
    """
    written = {key: _plain(key, value) for key, value in _first_object(text).items() if key in _KEYS}
    for task in written["tasks"] if isinstance(written.get("tasks"), list) else ():
        if isinstance(task, dict):
            # The one is worked out from the world, the other is for the expert alone.
            task.pop("kind", None)
            task.pop("intent", None)
    document = {"format": SCENARIO_FORMAT, "domain": "spine", "name": name, **written}
    try:
        scenario = parse_scenario(json.dumps(document, ensure_ascii=False), Path("answer"))
    except ScenarioError as error:
        # All of it stands on one line, so that its number says nothing.
        raise AnswerError("invalid", _listed(re.sub(r"^\d+: ", "", p) for p in error.problems)) from None
    assert isinstance(scenario, SpineScenario)
    if problems := list(_implausible(scenario, nodes)):
        raise AnswerError("invalid", _listed(problems))
    return scenario


def answer_schema() -> dict[str, Any]:
    """The JSON schema of an answer, of the kind that endpoints take as strict: every key is required, and
    facts are a list of pairs. What is not there is null."""
    text = {"type": "string"}
    perhaps = {"type": ["string", "null"]}
    truth = {"type": "boolean"}
    names = _list_of(text)
    point = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    deeds = ("visited", "mapped", "explored", "inspected", "ended_at")
    criteria = _list_of(
        {
            "anyOf": [
                *(_object({deed: names}) for deed in ("visited", "mapped", "inspected", "ended_at")),
                _object({"order": _list_of({"anyOf": [_object({deed: names}) for deed in deeds]})}),
                _object({"answer_mentions": names}),
                _object({"answer_says": {"type": "string", "enum": ["yes", "no"]}}),
                _object({"answer_matches": text}),
            ]
        }
    )
    node = {"name": text, "at": point, "hidden": truth, "description": perhaps}
    facts = _list_of(_object({"fact": text, "value": text}))
    return _object(
        {
            "description": text,
            "platform": {"type": "string", "enum": ["ugv", "uav"]},
            "world": _object(
                {
                    "robot": text,
                    "regions": _list_of(_object(node)),
                    "objects": _list_of(
                        _object({**node, "category": text, "seen_from": names, "attributes": facts})
                    ),
                    "edges": _list_of({"type": "array", "items": text, "minItems": 2, "maxItems": 2}),
                }
            ),
            "tasks": _list_of(
                _object(
                    {
                        "instruction": text,
                        "specification": {"type": "string", "enum": ["full", "under"]},
                        "success": criteria,
                        "any_success": _list_of(criteria),
                    }
                )
            ),
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _first_object(text: str) -> dict[str, Any]:
    """The first JSON object in a text that has a world. Raises AnswerError."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            data, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        # The parts of an object that is cut off or misspelt are objects as well, but no scenarios.
        if isinstance(data, dict) and "world" in data:
            return data
        start = text.find("{", end)
    raise AnswerError(
        "prose",
        "The answer is not one whole JSON object with the keys description, platform, world and tasks.",
    )


def _plain(key: str, value: Any) -> Any:
    """As the scenario format has it: facts as a mapping, and no key for what is not there."""
    if isinstance(value, dict):
        return {k: _plain(k, v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        if key == "attributes" and all(isinstance(v, dict) and v.keys() == {"fact", "value"} for v in value):
            return {str(pair["fact"]): pair["value"] for pair in value}
        return [_plain("", item) for item in value]
    return value


def _implausible(scenario: SpineScenario, nodes: tuple[int, int]) -> Iterator[str]:
    """What the format allows, but no place is like."""
    world: SpineWorld = scenario.world
    if not nodes[0] <= len(world.nodes) <= nodes[1]:
        yield (
            f"world: has {len(world.nodes)} regions and objects together; expected {nodes[0]} to {nodes[1]}"
        )
    if not scenario.tasks:
        yield "tasks: is empty; write the tasks that were asked for"
    for kind, members in (("regions", world.regions), ("objects", world.objects)):
        for i, node in enumerate(members):
            if not _NAME.fullmatch(node.name):
                yield (
                    f"world.{kind}[{i}].name: expected lower-case words and a number joined by `_`, as in "
                    f"parking_lot_1, got {node.name!r}"
                )
    for i, thing in enumerate(world.objects):
        if not thing.seen_from:
            yield f"world.objects[{i}].seen_from: is empty; name the regions from which {thing.name} is seen"
    at = {region.name: region.at for region in world.regions}
    for i, region in enumerate(world.regions):
        for other in world.regions[:i]:
            if math.dist(region.at, other.at) < _APART_M:
                yield f"world.regions[{i}].at: {region.name} is where {other.name} is; keep them apart"
    for i, (a, b) in enumerate(world.edges):
        if (length := math.dist(at[a], at[b])) > (most := _LONGEST_PATH_M[scenario.platform]):
            yield (
                f"world.edges[{i}]: from {a} to {b} it is {length:.0f} m; at most {most:.0f} m: put a region "
                "between them, or move them closer"
            )
    for i, thing in enumerate(world.objects):
        for name in thing.seen_from:
            if (length := math.dist(thing.at, at[name])) > (most := _FARTHEST_VIEW_M[scenario.platform]):
                yield (
                    f"world.objects[{i}].at: {thing.name} is {length:.0f} m from {name}, from which it is "
                    f"seen; at most {most:.0f} m"
                )


def _listed(problems: Iterator[str] | list[str]) -> str:
    found = [problem.strip() for problem in problems]
    shown = found[:_MOST_PROBLEMS]
    if len(found) > len(shown):
        shown.append(f"and {len(found) - len(shown)} more")
    return "\n".join(f"- {problem}" for problem in shown)
