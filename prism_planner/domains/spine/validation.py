"""What a plan must satisfy now, with feedback that says what is wrong and what exists instead."""

from __future__ import annotations

from prism_planner.domains.domain import InvalidPlanError
from prism_planner.domains.spine.actions import Action, Answer, Inspect, SpinePlan
from prism_planner.graph.scene_graph import SceneGraph

_LISTED = 12


def check_plan(plan: SpinePlan, graph: SceneGraph) -> None:
    """Raise InvalidPlanError unless every action takes a node that exists and is of the right kind.

    `answer` ends a plan, so nothing may follow it.
    """
    for index, action in enumerate(plan.plan):
        if isinstance(action, Answer):
            if index + 1 < len(plan.plan):
                raise InvalidPlanError("answer ends the task: nothing may follow it in the plan.")
            return
        _check_target(action, graph)


def _check_target(action: Action, graph: SceneGraph) -> None:
    if isinstance(action, Answer):
        return
    wanted = "object" if isinstance(action, Inspect) else "region"
    target = action.object if isinstance(action, Inspect) else action.region
    if target not in graph:
        raise InvalidPlanError(f"There is no {wanted} named {target}. {_alternatives(target, wanted, graph)}")
    kind = graph.node(target).kind
    if kind == wanted:
        return
    if kind == "object":
        seen_from = ", ".join(graph.seen_from(target)) or "no known region"
        raise InvalidPlanError(
            f"{target} is an object, and {action.action} takes a region. {target} is seen from {seen_from}."
        )
    raise InvalidPlanError(
        f"{target} is a region, and {action.action} takes an object. "
        f"Use map_region or explore_region there. {_alternatives(target, wanted, graph)}"
    )


def _alternatives(name: str, kind: str, graph: SceneGraph) -> str:
    existing = graph.objects if kind == "object" else graph.regions
    if not existing:
        return f"No {kind} is known yet: map or explore first."
    close = [other for other in graph.suggest(name) if graph.node(other).kind == kind]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    listed = ", ".join(list(existing)[:_LISTED])
    more = len(existing) - _LISTED
    return f"Known {kind}s: {listed}" + (f" and {more} more." if more > 0 else ".")
