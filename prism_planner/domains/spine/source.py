"""The source text of a plan: SPINE's JSON (PRISM paper, appendix C.2), as a large model writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from prism_planner.domains.domain import InvalidPlanError
from prism_planner.domains.spine.actions import (
    Action,
    Answer,
    ExploreRegion,
    Goto,
    Inspect,
    MapRegion,
    SpinePlan,
)
from prism_planner.graph import spine_json
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.graph.text import one_line

MAX_ACTIONS = 6
MAX_TEXT = 400

_FORMAT = (
    'Reply with one JSON object with the keys "primary_goal", "relevant_graph", "reasoning" and "plan", '
    "where plan is a list of actions."
)
_ACTIONS = (
    "Actions are: goto(region), map_region(region), explore_region(region, radius), "
    "inspect(object, query), answer(message)."
)


def render_graph(graph: SceneGraph) -> str:
    """The whole graph as SPINE's JSON, on one line: a model pays for every space."""
    return json.dumps(json.loads(spine_json.dumps(graph)), ensure_ascii=False)


def render_updates(delta: GraphDelta) -> str:
    """A change as calls of SPINE's update API (C.3), one a line."""
    return "\n".join(_update_calls(delta))


def _update_calls(delta: GraphDelta) -> Iterator[str]:
    def edges(connections: tuple[tuple[str, str], ...]) -> str:
        return json.dumps([list(edge) for edge in connections], ensure_ascii=False)

    if delta.remove_connections:
        yield f"remove_connections({edges(delta.remove_connections)})"
    if delta.remove_nodes:
        yield f"remove_nodes({', '.join(delta.remove_nodes)})"
    if delta.add_nodes:
        nodes = [
            {"name": n.name, "kind": n.kind, "coords": list(n.coords), **_facts(n.attributes)}
            for n in delta.add_nodes
        ]
        yield f"add_nodes({json.dumps(nodes, ensure_ascii=False)})"
    if delta.add_connections:
        yield f"add_connections({edges(delta.add_connections)})"
    for name, attributes in delta.update_node_attributes.items():
        yield f"update_node_attributes({name}, {json.dumps(_facts(attributes), ensure_ascii=False)})"
    if delta.update_robot_location is not None:
        yield f"update_robot_location({delta.update_robot_location})"


def _facts(attributes: Mapping[str, str]) -> dict[str, str]:
    """Attributes at a length that fits in a conversation, without what could open a chat turn."""
    return {key: one_line(value, MAX_TEXT) for key, value in attributes.items()}


def encode(plan: SpinePlan) -> str:
    return json.dumps(
        {
            "primary_goal": plan.primary_goal,
            "relevant_graph": list(plan.relevant_graph),
            "reasoning": plan.reasoning,
            "plan": [_encode_action(action) for action in plan.plan],
        },
        ensure_ascii=False,
    )


def decode(text: str) -> SpinePlan:
    """Read a model's JSON, with or without prose and code fences around it. Raises InvalidPlanError."""
    data = _first_object(text)
    missing = [key for key in ("primary_goal", "reasoning", "plan") if not data.get(key)]
    if missing:
        raise InvalidPlanError(f"The plan lacks {' and '.join(missing)}. {_FORMAT}")
    relevant = data.get("relevant_graph") or []
    if isinstance(relevant, str):
        relevant = [name.strip() for name in relevant.strip("[]").split(",")]
    steps = data["plan"]
    if isinstance(steps, str):
        steps = _split_calls(steps)
    if not isinstance(steps, list) or not isinstance(relevant, list):
        raise InvalidPlanError(_FORMAT)
    try:
        return SpinePlan(
            primary_goal=data["primary_goal"],
            relevant_graph=tuple(str(name) for name in relevant),
            reasoning=data["reasoning"],
            plan=tuple(_decode_action(step) for step in steps),
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidPlanError(f"{field} is malformed: {first['msg']}. {_FORMAT}") from error


def json_schema(graph: SceneGraph) -> dict[str, Any]:
    """The JSON schema of valid answers on this graph: names of nodes are enumerated."""
    regions, objects = list(graph.regions), list(graph.objects)
    text = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
    free = r"[^()\"\\\x00-\x1f][^\"\\\x00-\x1f]{0,200}"
    calls = [rf"answer\({free}\)"]
    if regions:
        region = "(" + "|".join(re.escape(name) for name in regions) + ")"
        calls += [
            rf"goto\({region}\)",
            rf"map_region\({region}\)",
            rf"explore_region\({region}, [1-9][0-9]{{0,2}}\)",
        ]
    if objects:
        calls.append(rf"inspect\(({'|'.join(re.escape(name) for name in objects)}), {free}\)")
    return {
        "type": "object",
        "properties": {
            "primary_goal": text,
            "relevant_graph": {
                "type": "array",
                "items": {"type": "string", "enum": [*regions, *objects] or [""]},
                "maxItems": 8,
            },
            "reasoning": text,
            "plan": {
                "type": "array",
                "items": {"type": "string", "pattern": f"^({'|'.join(calls)})$"},
                "minItems": 1,
                "maxItems": MAX_ACTIONS,
            },
        },
        "required": ["primary_goal", "relevant_graph", "reasoning", "plan"],
        "additionalProperties": False,
    }


def _first_object(text: str) -> dict[str, Any]:
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            data, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(data, dict):
            return data
        start = text.find("{", start + 1)
    raise InvalidPlanError(f"The reply is not JSON. {_FORMAT}")


def _encode_action(action: Action) -> str:
    match action:
        case Goto() | MapRegion():
            return f"{action.action}({action.region})"
        case ExploreRegion():
            return f"{action.action}({action.region}, {repr(action.radius).removesuffix('.0')})"
        case Inspect():
            return f"{action.action}({action.object}, {action.query})"
        case Answer():
            return f"{action.action}({action.message})"


_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)


def _decode_action(step: Any) -> Action:
    call = _CALL.fullmatch(step) if isinstance(step, str) else None
    if call is None:
        raise InvalidPlanError(f"{str(step)[:80]!r} is not an action. {_ACTIONS}")
    verb, arguments = call[1], call[2]
    target, _, extra = (part.strip().strip("\"'") for part in arguments.partition(","))
    try:
        match verb:
            case "answer":
                return Answer(message=_unquoted(arguments))
            case "goto" if not extra:
                return Goto(region=target)
            case "map_region" if not extra:
                return MapRegion(region=target)
            case "explore_region":
                return ExploreRegion(region=target, radius=float(extra))
            case "inspect":
                return Inspect(object=target, query=extra)
    except (ValueError, ValidationError) as error:
        raise InvalidPlanError(f"{step[:80]!r} is malformed. {_ACTIONS}") from error
    raise InvalidPlanError(f"{step[:80]!r} is not an action. {_ACTIONS}")


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _split_calls(text: str) -> list[str]:
    """The calls of a plan written as one string: `[goto(a), answer(x, y)]` has two."""
    calls, depth, current = [], 0, ""
    for char in text.strip().removeprefix("[").removesuffix("]"):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            calls.append(current)
            current = ""
        else:
            current += char
    calls.append(current)
    return [call.strip() for call in calls if call.strip()]
