"""The closed loop that every planner runs: observe, decide, act, observe again (paper section 3.2)."""

from __future__ import annotations

import json
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.domains.domain import Domain, InvalidTaskError
from prism_planner.domains.policy import Decision, Policy
from prism_planner.domains.trace import (
    AbortReason,
    PlanTrace,
    TraceHeader,
    TraceOutcome,
    TraceTurn,
    TurnTiming,
)
from prism_planner.language.model import LanguageModelError, OnText
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.world import Environment

ObservationT = TypeVar("ObservationT")
PlanT = TypeVar("PlanT", bound=BaseModel)

MAX_TASK_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class PlannerLimits:
    """When an episode is given up.

    max_steps: planning steps. max_repeats: how often the same action may come to the same end, with
    nothing new found in between, before the episode counts as a loop (the paper's validation, section 4.4).
    """

    max_steps: int = 30
    max_repeats: int = 3


@dataclass(frozen=True, slots=True)
class PlannerEvent:
    """Progress: a plan was decided, a skill starts, a skill ended."""

    kind: Literal["plan", "skill_started", "skill_ended"]
    step: int
    turn: TraceTurn
    skill: Skill | None = None
    feedback: tuple[str, ...] = ()


OnEvent = Callable[[PlannerEvent], None]


def check_task(task: str) -> str:
    """The task on one line, without control characters.

    Raises InvalidTaskError when there is nothing a planner could work on.
    """
    task = " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in task).split())
    if any(unicodedata.category(c) == "Cs" for c in task):
        raise InvalidTaskError("the task is not valid Unicode text; write it in UTF-8")
    if not task:
        raise InvalidTaskError("the task is empty; say in one or two sentences what the robot should do")
    if len(task) > MAX_TASK_CHARACTERS:
        raise InvalidTaskError(
            f"the task has {len(task)} characters; at most {MAX_TASK_CHARACTERS} are accepted. "
            "Say it in one or two sentences"
        )
    return task


class Planner(Generic[ObservationT, PlanT]):
    """Runs one policy on one task in one environment, and records it as a `PlanTrace`."""

    def __init__(
        self,
        *,
        domain: Domain[ObservationT, PlanT],
        policy: Policy[ObservationT, PlanT],
        limits: PlannerLimits | None = None,
    ) -> None:
        self._domain = domain
        self._policy = policy
        self._limits = limits or PlannerLimits()

    def run(
        self,
        environment: Environment[ObservationT],
        header: TraceHeader,
        *,
        cancel: CancelToken | None = None,
        on_event: OnEvent | None = None,
        on_text: OnText | None = None,
    ) -> PlanTrace:
        """Plan and act until the plan answers, a limit is met or `cancel` is set.

        Never raises for a bad plan, a failing model or a failing skill: the outcome says what happened.
        """
        trace = PlanTrace(header=header)
        try:
            trace.outcome = self._loop(environment, trace, cancel or CancelToken(), on_event, on_text)
        except Cancelled:
            trace.outcome = TraceOutcome(
                status="cancelled", reason="cancelled", detail="cancelled by the user"
            )
        except LanguageModelError as error:
            trace.outcome = _aborted("model_error", str(error))
        except InvalidTaskError as error:
            trace.outcome = _aborted("invalid_task", str(error))
        finally:
            self._policy.close()
        return trace

    def _loop(
        self,
        environment: Environment[ObservationT],
        trace: PlanTrace,
        cancel: CancelToken,
        on_event: OnEvent | None,
        on_text: OnText | None,
    ) -> TraceOutcome:
        observation = environment.observe()
        recorded = self._domain.record(observation, first=True)
        feedback: list[str] = []
        repetition = _Repetition()
        for step in range(1, self._limits.max_steps + 1):
            cancel.raise_if_cancelled()
            decision = self._policy.decide(observation, cancel=cancel, on_text=on_text)
            turn = _turn(recorded, feedback, decision)
            trace.turns.append(turn)
            if on_event is not None:
                on_event(PlannerEvent("plan", step, turn))
            if decision.plan is None:
                return _aborted("invalid_plans", decision.rejected[-1][1])
            skill = self._domain.next_skill(decision.plan)
            if skill is None:
                return TraceOutcome(status="succeeded", answer=self._domain.answer(decision.plan))

            turn.skill = str(skill)
            if on_event is not None:
                on_event(PlannerEvent("skill_started", step, turn, skill))
            started = time.perf_counter()
            result = environment.step(skill, cancel)
            turn.timing.execution_s = time.perf_counter() - started
            turn.code = int(result.code)
            observation = result.observation
            recorded = self._domain.record(observation, first=False)
            feedback = self._domain.feedback(observation)
            if on_event is not None:
                on_event(PlannerEvent("skill_ended", step, turn, skill, tuple(feedback)))

            if result.code == SkillCode.ROBOT_UNAVAILABLE:
                return _aborted("world_error", " ".join(feedback) or f"{skill}: the robot is not available")
            repeats = repetition.count(skill, recorded if self._domain.informative(observation) else None)
            if repeats > self._limits.max_repeats:
                return _aborted("loop", f"{skill} was done {repeats} times and brought nothing new")
        return _aborted("step_limit", f"no answer after {self._limits.max_steps} steps")


class _Repetition:
    """Counts how often a skill came to the same end since something new was last found.

    The end is part of the key, so that going back and forth between two places is a loop too, while
    passing the same place again between discoveries is not.
    """

    def __init__(self) -> None:
        self._known: set[tuple[Skill, str]] = set()
        self._counts: Counter[tuple[Skill, str]] = Counter()

    def count(self, skill: Skill, change: dict[str, Any] | None) -> int:
        """How often now; `change` is what the skill changed, None when nothing."""
        key = (skill, "" if change is None else json.dumps(change, sort_keys=True))
        if change is not None and key not in self._known:
            self._counts.clear()
        self._known.add(key)
        self._counts[key] += 1
        return self._counts[key]


def _turn(recorded: dict[str, Any], feedback: list[str], decision: Decision[PlanT]) -> TraceTurn:
    return TraceTurn(
        observation=recorded,
        feedback=feedback,
        raw=decision.raw,
        plan=decision.plan.model_dump(mode="json") if decision.plan is not None else None,
        rejected=list(decision.rejected),
        prompt_tokens=decision.usage.prompt,
        evaluated_tokens=decision.usage.evaluated,
        generated_tokens=decision.usage.generated,
        forced_tokens=decision.usage.forced,
        timing=TurnTiming(prompt_s=decision.timing.prompt_s, generation_s=decision.timing.generation_s),
    )


def _aborted(reason: AbortReason, detail: str) -> TraceOutcome:
    return TraceOutcome(status="aborted", reason=reason, detail=detail)
