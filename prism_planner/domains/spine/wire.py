"""The distilled text of a plan: short, line by line, mostly decisions.

    goal: find a shady place to read
    about: bench_1, grove_1
    why: bench_1 is seen from grove_1 and affords sitting; shade is not known yet
    do: inspect bench_1: shade

It expands to SPINE's output (PRISM paper, appendix C.2) without loss. What the labels and the names
spell is forced by the grammar and costs no decisions. `goal` is written once; a plan without it keeps
that of the turn before. `about` and `why` come before `do`, so that the deciding facts
are on paper when the action is chosen.
"""

from __future__ import annotations

import re

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
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.language.constraint import free_text, one_of

# Budgets in tokens of the free-text fields, and the longest lists; together they bound an answer.
GOAL_TOKENS = 12
WHY_TOKENS = 24
QUERY_TOKENS = 8
MESSAGE_TOKENS = 40
MAX_ABOUT = 4

_NOTHING = "-"
_FORMAT = "Write the lines goal:, about:, why: and do:, each on its own."
_ACTION_FORMAT = (
    "Actions are: goto REGION | map_region REGION | explore_region REGION: RADIUS | "
    "inspect OBJECT: QUERY | answer: MESSAGE"
)


def encode(plan: SpinePlan, *, previous: SpinePlan | None) -> str:
    """The wire text of a plan; `previous` is the plan of the turn before, if any."""
    lines = []
    if previous is None or plan.primary_goal != previous.primary_goal:
        lines.append(f"goal: {plan.primary_goal}")
    lines.append(f"about: {', '.join(plan.relevant_graph) or _NOTHING}")
    lines.append(f"why: {plan.reasoning}")
    lines.extend(f"do: {_encode_action(action)}" for action in plan.plan)
    return "\n".join(lines) + "\n"


def decode(text: str, *, previous: SpinePlan | None) -> SpinePlan:
    """Read a wire text. Raises InvalidPlanError, with feedback on what is missing or malformed."""
    fields: dict[str, str] = {}
    actions: list[Action] = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        label, separator, value = line.partition(":")
        value = value.strip()
        if separator and label == "do":
            actions.append(_decode_action(value))
        elif separator and label in ("goal", "about", "why") and label not in fields:
            fields[label] = value
        else:
            raise InvalidPlanError(f"This line is not part of a plan: {line[:80]!r}. {_FORMAT}")
    if "goal" not in fields and previous is not None:
        fields["goal"] = previous.primary_goal
    missing = [f"{label}:" for label in ("goal", "about", "why") if not fields.get(label)]
    if not actions:
        missing.append("do:")
    if missing:
        raise InvalidPlanError(f"The plan lacks {' and '.join(missing)}. {_FORMAT}")
    about = fields["about"]
    try:
        return SpinePlan(
            primary_goal=fields["goal"],
            relevant_graph=() if about == _NOTHING else tuple(n.strip() for n in about.split(",")),
            reasoning=fields["why"],
            plan=tuple(actions),
        )
    except ValidationError as error:
        raise InvalidPlanError(f"The plan is malformed: {error.errors()[0]['msg']}. {_FORMAT}") from error


def grammar(graph: SceneGraph, *, first: bool) -> str:
    """The llguidance Lark grammar of the wire texts that make sense on this graph.

    It admits one action: the next is planned when this one has been executed.
    """
    regions, objects = list(graph.regions), list(graph.objects)
    verbs = ["answer"]
    rules = [
        'answer: "answer:" message',
        "message" + free_text(MESSAGE_TOKENS),
    ]
    if regions:
        verbs += ["goto", "map", "explore"]
        rules += [
            f"region: {one_of(regions)}",
            'goto: "goto " region',
            'map: "map_region " region',
            'explore: "explore_region " region ": " radius',
            r"radius: /[1-9][0-9]{0,2}(\.[0-9])?/",
        ]
    if objects:
        verbs.append("inspect")
        rules += [
            f"object: {one_of(objects)}",
            'inspect: "inspect " object ":" query',
            "query" + free_text(QUERY_TOKENS),
        ]
    names = [*regions, *objects]
    about = f'"{_NOTHING}"'
    if names:
        rules.append(f"name: {one_of(names)}")
        about += f' | name (", " name){{0,{MAX_ABOUT - 1}}}'
    if first:
        rules += ['goal: "goal:" goal_text "\\n"', "goal_text" + free_text(GOAL_TOKENS)]
    return "\n".join(
        [
            f'start: {"goal " if first else ""}"about: " about "\\n" "why:" why "\\n" "do: " action "\\n"',
            f"about: {about}",
            "why" + free_text(WHY_TOKENS),
            f"action: {' | '.join(verbs)}",
            *rules,
        ]
    )


def _encode_action(action: Action) -> str:
    match action:
        case Goto() | MapRegion():
            return f"{action.action} {action.region}"
        case ExploreRegion():
            return f"{action.action} {action.region}: {repr(action.radius).removesuffix('.0')}"
        case Inspect():
            return f"{action.action} {action.object}: {action.query}"
        case Answer():
            return f"{action.action}: {action.message}"


_CALL = re.compile(r"(?P<verb>\w+)(?: (?P<target>[^:]+))?(?::\s*(?P<text>.*))?")


def _decode_action(text: str) -> Action:
    call = _CALL.fullmatch(text)
    if call is None:
        raise InvalidPlanError(f"{text[:80]!r} is not an action. {_ACTION_FORMAT}")
    verb, target, extra = call["verb"], (call["target"] or "").strip(), call["text"] or ""
    try:
        match verb:
            case "goto" if target and not extra:
                return Goto(region=target)
            case "map_region" if target and not extra:
                return MapRegion(region=target)
            case "explore_region" if target:
                return ExploreRegion(region=target, radius=float(extra))
            case "inspect" if target:
                return Inspect(object=target, query=extra)
            case "answer" if not target:
                return Answer(message=extra)
    except (ValueError, ValidationError) as error:
        raise InvalidPlanError(f"{text[:80]!r} is malformed. {_ACTION_FORMAT}") from error
    raise InvalidPlanError(f"{text[:80]!r} is not an action. {_ACTION_FORMAT}")
