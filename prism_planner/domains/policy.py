"""Who decides: a language model or an expert, behind one interface.

A policy lives for one episode. It owns the conversation, including what to do when the context
window is full, so that the planning loop sees plans only.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from prism_planner.cancellation import CancelToken
from prism_planner.domains.domain import Domain, Expert, InvalidPlanError, Style
from prism_planner.language.model import (
    Completion,
    ContextFullError,
    LanguageModel,
    Limits,
    Message,
    OnText,
    Session,
    Timing,
    Usage,
)

ObservationT = TypeVar("ObservationT")
ObservationT_contra = TypeVar("ObservationT_contra", contravariant=True)
PlanT = TypeVar("PlanT", bound=BaseModel)

# The share of the context window that a restarted conversation may fill, so that turns fit after it.
_RESTART_SHARE = 0.5
# Characters per token at worst for the budget of a rendered graph; names and digits tokenise densely.
_CHARS_PER_TOKEN = 2.0


@dataclass(frozen=True, slots=True)
class Decision(Generic[PlanT]):
    """One planning step: the plan, or None when every attempt was invalid."""

    plan: PlanT | None
    raw: str
    rejected: tuple[tuple[str, str], ...] = ()
    usage: Usage = field(default_factory=Usage)
    timing: Timing = field(default_factory=Timing)


class Policy(Protocol[ObservationT_contra, PlanT]):
    """Decides, observation by observation, for one task."""

    def decide(
        self,
        observation: ObservationT_contra,
        *,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Decision[PlanT]: ...

    def close(self) -> None: ...


def prefetch(
    *,
    domain: Domain[ObservationT, PlanT],
    model: LanguageModel,
    observation: ObservationT,
    style: Style,
    cancel: CancelToken | None = None,
) -> None:
    """Let the model read what is known while there is no task: the next task's first step is then short.

    Works because a first message says the observation before the task. Raises Cancelled and
    LanguageModelError.
    """
    with contextlib.suppress(ContextFullError):
        messages = opening(domain, "", observation, style=style, context_length=model.context_length)
        model.prefill(messages, cancel=cancel)


class ModelPolicy(Generic[ObservationT, PlanT]):
    """A language model in a growing conversation.

    An invalid plan is answered with what is wrong and what exists instead, at most `retries` times.
    When the context is full the conversation starts again from the whole current observation,
    rendered within half the window; nothing the robot knows is lost, only the dialogue.
    """

    def __init__(
        self,
        *,
        domain: Domain[ObservationT, PlanT],
        model: LanguageModel,
        task: str,
        style: Style = "distilled",
        constrained: bool = True,
        retries: int = 2,
        seed: int = 0,
        temperature: float = 0.0,
        timeout_s: float | None = None,
    ) -> None:
        self._domain = domain
        self._model = model
        self._task = task
        self._style: Style = style
        self._constrained = constrained
        self._retries = retries
        self._limits = Limits(
            max_tokens=domain.limits(style), temperature=temperature, seed=seed, timeout_s=timeout_s
        )
        self._previous: PlanT | None = None
        self._session: Session | None = None

    def decide(
        self, observation: ObservationT, *, cancel: CancelToken | None = None, on_text: OnText | None = None
    ) -> Decision[PlanT]:
        session = self._observe(observation)
        rejected: list[tuple[str, str]] = []
        usage, timing = Usage(), Timing()
        for _ in range(self._retries + 1):
            session, completion = self._generate(session, observation, cancel, on_text)
            usage, timing = _add_usage(usage, completion.usage), _add_timing(timing, completion.timing)
            try:
                if completion.finish == "length":
                    raise InvalidPlanError("The answer was too long and was cut off. Answer shorter.")
                plan = self._domain.parse(
                    completion.text, observation, style=self._style, previous=self._previous
                )
            except InvalidPlanError as error:
                rejected.append((completion.text, str(error)))
                session.append(Message("user", str(error)))
                continue
            self._previous = plan
            return Decision(plan, completion.text, tuple(rejected), usage, timing)
        return Decision(None, rejected[-1][0], tuple(rejected), usage, timing)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _observe(self, observation: ObservationT) -> Session:
        if self._session is None:
            return self._restart(observation)
        self._session.append(
            Message("user", self._domain.render(self._task, observation, style=self._style, first=False))
        )
        return self._session

    def _restart(self, observation: ObservationT, share: float = _RESTART_SHARE) -> Session:
        self.close()
        self._previous = None
        self._session = self._model.session(
            opening(
                self._domain,
                self._task,
                observation,
                style=self._style,
                context_length=self._model.context_length,
                share=share,
            )
        )
        return self._session

    def _generate(
        self,
        session: Session,
        observation: ObservationT,
        cancel: CancelToken | None,
        on_text: OnText | None,
    ) -> tuple[Session, Completion]:
        share = _RESTART_SHARE
        while True:
            constraint = (
                self._domain.constraint(observation, style=self._style, first=self._previous is None)
                if self._constrained
                else None
            )
            try:
                return session, session.generate(
                    constraint=constraint, limits=self._limits, cancel=cancel, on_text=on_text
                )
            except ContextFullError:
                if share < _RESTART_SHARE / 16:
                    raise
                session = self._restart(observation, share)
                share /= 2


class ExpertPolicy(Generic[ObservationT, PlanT]):
    """A domain's offline teacher; its text is what the distilled model should have written."""

    def __init__(
        self,
        *,
        domain: Domain[ObservationT, PlanT],
        expert: Expert[ObservationT, PlanT],
        style: Style = "distilled",
    ) -> None:
        self._domain = domain
        self._expert = expert
        self._style: Style = style
        self._previous: PlanT | None = None

    def decide(
        self, observation: ObservationT, *, cancel: CancelToken | None = None, on_text: OnText | None = None
    ) -> Decision[PlanT]:
        if cancel is not None:
            cancel.raise_if_cancelled()
        started = time.perf_counter()
        plan = self._expert.plan(observation)
        raw = self._domain.encode(plan, style=self._style, previous=self._previous)
        timing = Timing(generation_s=time.perf_counter() - started)
        if on_text is not None:
            on_text(raw)
        self._previous = plan
        return Decision(plan, raw, timing=timing)

    def close(self) -> None:
        """Nothing to free."""


def opening(
    domain: Domain[ObservationT, PlanT],
    task: str,
    observation: ObservationT,
    *,
    style: Style,
    context_length: int,
    share: float = _RESTART_SHARE,
) -> list[Message]:
    """How a conversation begins: instructions, and the observation in at most `share` of the window of
    `context_length` tokens."""
    budget = int(context_length * share * _CHARS_PER_TOKEN)
    text = domain.render(task, observation, style=style, first=True, budget=budget)
    return [*domain.system(style), Message("user", text)]


def _add_usage(a: Usage, b: Usage) -> Usage:
    return Usage(
        prompt=b.prompt,
        evaluated=a.evaluated + b.evaluated,
        generated=a.generated + b.generated,
        forced=a.forced + b.forced,
    )


def _add_timing(a: Timing, b: Timing) -> Timing:
    return Timing(a.prompt_s + b.prompt_s, a.generation_s + b.generation_s)
