"""SPINE as a domain: mapping, navigation and exploration on a scene graph (PRISM paper, appendix C)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from prism_planner.domains.domain import Domain, InvalidPlanError, Style
from prism_planner.domains.spine import source, wire
from prism_planner.domains.spine.actions import (
    Answer,
    ExploreRegion,
    Inspect,
    SpineObservation,
    SpinePlan,
)
from prism_planner.domains.spine.expert import SpineExpert
from prism_planner.domains.spine.validation import check_plan
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.graph.text import describe, describe_delta, one_line
from prism_planner.language.model import Constraint, Message
from prism_planner.skills.skill import Skill

# Tokens of the longest answer that the grammars admit, with room for long names.
_LIMITS: dict[Style, int] = {"distilled": 256, "source": 512}
# Characters of one sentence of feedback; what it found stands in the changes below it too.
_FEEDBACK = 800


class SpineDomain(Domain[SpineObservation, SpinePlan]):
    """Five actions (C.1), a plan of four fields (C.2), a scene graph with updates (C.3)."""

    name = "spine"

    def system(self, style: Style) -> Sequence[Message]:
        return _system(style)

    def render(
        self,
        task: str,
        observation: SpineObservation,
        *,
        style: Style,
        first: bool,
        budget: int | None = None,
    ) -> str:
        graph = observation.graph
        # Feedback quotes the world, where a sign may read "task: ...": a sentence cannot start a line.
        sentences = [one_line(sentence, _FEEDBACK) for sentence in observation.feedback]
        if style == "distilled" and (observation.delta.add_nodes or observation.delta.update_node_attributes):
            # What was found is told by the changes; a small model pays for every token it reads twice.
            sentences = [sentence.partition(": ")[0] for sentence in sentences]
        feedback = "\n".join(sentences)
        if first:
            if style == "source":
                text = source.render_graph(graph)
                if budget is not None and len(text) > budget:
                    text = describe(graph, budget=budget, focus=_mentioned(task, graph))
            else:
                text = describe(graph, budget=budget, focus=_mentioned(task, graph))
            # The task comes last: what stands before it is known, and evaluated, before the task arrives.
            return "\n".join(filter(None, (text, feedback, f"task: {task}")))
        changes = (
            source.render_updates(observation.delta)
            if style == "source"
            else describe_delta(observation.delta, graph)
        )
        return "\n".join(filter(None, (feedback, changes))) or "Nothing changed."

    def constraint(self, observation: SpineObservation, *, style: Style, first: bool) -> Constraint:
        if style == "source":
            return Constraint(json_schema=source.json_schema(observation.graph))
        return Constraint(grammar=wire.grammar(observation.graph, first=first))

    def parse(
        self, text: str, observation: SpineObservation, *, style: Style, previous: SpinePlan | None
    ) -> SpinePlan:
        plan = source.decode(text) if style == "source" else wire.decode(text, previous=previous)
        check_plan(plan, observation.graph)
        return plan

    def encode(self, plan: SpinePlan, *, style: Style, previous: SpinePlan | None) -> str:
        return source.encode(plan) if style == "source" else wire.encode(plan, previous=previous)

    def next_skill(self, plan: SpinePlan) -> Skill | None:
        action = plan.plan[0]
        match action:
            case Answer():
                return None
            case Inspect():
                return Skill(name="inspect", target=action.object, query=action.query)
            case ExploreRegion():
                return Skill(name="explore_region", target=action.region, radius=action.radius)
            case _:
                return Skill(name=action.action, target=action.region)

    def answer(self, plan: SpinePlan) -> str:
        action = plan.plan[0]
        if not isinstance(action, Answer):
            raise InvalidPlanError("the plan does not end the task")
        return action.message

    def record(self, observation: SpineObservation, *, first: bool) -> dict[str, Any]:
        delta = observation.graph.as_delta() if first else observation.delta
        return delta.model_dump(mode="json", exclude_defaults=True)

    def recall(self, records: Iterable[tuple[dict[str, Any], Sequence[str]]]) -> Iterator[SpineObservation]:
        graph = SceneGraph()
        for index, (record, feedback) in enumerate(records):
            delta = GraphDelta.model_validate(record)
            graph.apply(delta)
            yield SpineObservation(graph, GraphDelta() if index == 0 else delta, tuple(feedback))

    def plan(self, record: dict[str, Any]) -> SpinePlan:
        return SpinePlan.model_validate(record)

    def feedback(self, observation: SpineObservation) -> list[str]:
        return list(observation.feedback)

    def informative(self, observation: SpineObservation) -> bool:
        return bool(observation.delta)

    def expert(self, task: str, intent: dict[str, Any] | None = None) -> SpineExpert:
        return SpineExpert(task, intent)

    def limits(self, style: Style) -> int:
        return _LIMITS[style]


@cache
def _system(style: Style) -> tuple[Message, ...]:
    prompts = files(__package__) / "prompts"
    instructions = Message("system", (prompts / f"{style}.txt").read_text(encoding="utf-8").strip())
    if style == "distilled":
        return (instructions,)
    messages = [instructions]
    for example in json.loads((prompts / "source_examples.json").read_text(encoding="utf-8")):
        for index, turn in enumerate(example["turns"]):
            user = turn["user"] if index else f"{turn['user']}\ntask: {example['task']}"
            messages.append(Message("user", user))
            messages.append(Message("assistant", json.dumps(turn["plan"], ensure_ascii=False)))
    return tuple(messages)


def _mentioned(task: str, graph: SceneGraph) -> list[str]:
    """Nodes whose name or category occurs in the task: they stay when a large graph is cut to a budget."""
    words = " ".join(task.lower().replace("_", " ").split())

    def occurs(text: str) -> bool:
        return text.lower().replace("_", " ") in words

    return [
        name for name in (*graph.regions, *graph.objects) if occurs(name) or occurs(graph.node(name).category)
    ]
