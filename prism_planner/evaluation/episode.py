"""One evaluation episode: a task of a scenario, planned in the emulated world and judged."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from prism_planner.cancellation import CancelToken
from prism_planner.domains.domain import Domain, InvalidTaskError, Style
from prism_planner.domains.planner import OnEvent, Planner, PlannerLimits, check_task
from prism_planner.domains.policy import ExpertPolicy, ModelPolicy, Policy
from prism_planner.domains.trace import PlanTrace, TraceHeader, TraceOutcome
from prism_planner.language.model import LanguageModel, OnText
from prism_planner.skills.skill import SkillCode
from prism_planner.worlds.envelope import Mask, Scenario, Task
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.success import judge

EXPERT = "expert"

# Skills that no robot could have tried: the API was called wrongly (the paper's second failure mode).
_INVALID_CALLS = {SkillCode.UNKNOWN_TARGET, SkillCode.INVALID_ARGUMENT}


@dataclass(frozen=True, slots=True)
class EpisodeOptions:
    """How episodes are run.

    mask: extra hiding instead of the scenario's own; None keeps the scenario's. constrained: whether
    a model's answers are held to the language of valid plans while it writes.
    """

    mask: Mask | None = None
    seed: int = 0
    style: Style = "distilled"
    constrained: bool = True
    max_steps: int = PlannerLimits().max_steps


class EpisodeResult(BaseModel):
    """What one episode came to.

    reason: why it failed, empty on success. turns: planning steps. invalid_actions: answers of the
    model that were no valid plan, and skills called with a target or argument that does not exist.
    step_s: seconds of planning, step by step. seconds: the whole episode.
    """

    model_config = ConfigDict(extra="forbid")

    scenario: str
    task: int
    instruction: str
    cell: str
    seed: int
    success: bool
    reason: str = ""
    status: str
    answer: str = ""
    turns: int
    invalid_actions: int = 0
    step_s: list[float] = Field(default_factory=list)
    seconds: float = 0.0


def default_style(model: str) -> Style:
    """How to talk to a model: at length with a hosted one, as shortly as distillation taught otherwise."""
    return "source" if model.startswith("openai:") else "distilled"


def make_policy(
    domain: Domain[Any, Any],
    model: LanguageModel | None,
    *,
    task: str,
    intent: dict[str, Any] | None = None,
    style: Style = "distilled",
    constrained: bool = True,
    seed: int = 0,
) -> Policy[Any, Any]:
    """The model's policy for one task, or the expert's when `model` is None.

    Raises InvalidTaskError when the expert does not understand the task.
    """
    if model is None:
        return ExpertPolicy(domain=domain, expert=domain.expert(task, intent), style=style)
    return ModelPolicy(domain=domain, model=model, task=task, style=style, constrained=constrained, seed=seed)


def run_episode(
    *,
    domain: Domain[Any, Any],
    model: LanguageModel | None,
    scenario: Scenario,
    task: int,
    options: EpisodeOptions | None = None,
    cancel: CancelToken | None = None,
    on_event: OnEvent | None = None,
    on_text: OnText | None = None,
) -> tuple[EpisodeResult, PlanTrace]:
    """Run task number `task` of the scenario. A model of None is the expert."""
    options = options or EpisodeOptions()
    goal: Task = scenario.tasks[task]
    world = SemanticGraphWorld(scenario, task=scenario.tasks[task], mask=options.mask, seed=options.seed)
    header = TraceHeader(
        task=goal.instruction,
        domain=domain.name,
        model=model.name if model is not None else EXPERT,
        style=options.style,
        seed=options.seed,
        scenario=scenario.name,
    )
    started = time.perf_counter()
    try:
        policy = make_policy(
            domain,
            model,
            task=check_task(goal.instruction),
            intent=goal.intent,
            style=options.style,
            constrained=options.constrained,
            seed=options.seed,
        )
    except InvalidTaskError as error:
        outcome = TraceOutcome(status="aborted", reason="invalid_task", detail=str(error))
        trace = PlanTrace(header=header, outcome=outcome)
    else:
        planner = Planner(domain=domain, policy=policy, limits=PlannerLimits(max_steps=options.max_steps))
        trace = planner.run(world, header, cancel=cancel, on_event=on_event, on_text=on_text)
    return _judged(trace, world, scenario, task=task, seconds=time.perf_counter() - started), trace


def _judged(
    trace: PlanTrace, world: SemanticGraphWorld, scenario: Scenario, *, task: int, seconds: float
) -> EpisodeResult:
    outcome = trace.outcome or TraceOutcome(status="aborted", detail="the episode has no outcome")
    goal: Task = scenario.tasks[task]
    if outcome.status == "succeeded":
        world.record.finish(outcome.answer)
        verdict = judge(scenario.tasks[task], world.record)
        success, reason = verdict.success, verdict.reason
    else:
        success, reason = False, f"{outcome.reason or outcome.status}: {outcome.detail}"
    return EpisodeResult(
        scenario=scenario.name,
        task=task,
        instruction=goal.instruction,
        cell=goal.cell,
        seed=trace.header.seed,
        success=success,
        reason=reason,
        status=outcome.status,
        answer=outcome.answer,
        turns=len(trace.turns),
        invalid_actions=trace.invalid_plans + sum(turn.code in _INVALID_CALLS for turn in trace.turns),
        step_s=[turn.timing.prompt_s + turn.timing.generation_s for turn in trace.turns],
        seconds=seconds,
    )
