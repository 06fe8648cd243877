# ruff: noqa: ARG002 - protocols fix the arguments, these implementations need few of them
"""A minimal domain, a line of places and a language model that follows a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from prism_planner.cancellation import CancelToken
from prism_planner.domains.domain import Domain, InvalidPlanError, InvalidTaskError, Style
from prism_planner.language.model import (
    Completion,
    Constraint,
    Limits,
    Message,
    OnText,
    Timing,
    Usage,
)
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.world import StepResult

PLACES = ("a", "b", "c")
Reply = str | Completion | Exception | Callable[["ScriptedSession", CancelToken | None], Completion]


class LinePlan(BaseModel):
    """`go`: the place to go to; None when `say` ends the task."""

    go: str | None = None
    say: str = ""


@dataclass(frozen=True)
class LineObservation:
    place: str
    changed: bool = False
    feedback: tuple[str, ...] = ()


class LineDomain(Domain[LineObservation, LinePlan]):
    """Says `go PLACE` or `say MESSAGE`."""

    name = "line"

    def system(self, style: Style) -> Sequence[Message]:
        return [Message("system", f"rules in {style}")]

    def render(
        self, task: str, observation: LineObservation, *, style: Style, first: bool, budget: int | None = None
    ) -> str:
        return f"{task}: at {observation.place}, budget {budget}" if first else f"now {observation.place}"

    def constraint(self, observation: LineObservation, *, style: Style, first: bool) -> Constraint:
        return Constraint(grammar=f"start: first={first}")

    def parse(
        self, text: str, observation: LineObservation, *, style: Style, previous: LinePlan | None
    ) -> LinePlan:
        verb, _, rest = text.partition(" ")
        if verb == "say":
            return LinePlan(say=rest)
        if verb == "go" and rest in (*PLACES, "nowhere"):
            return LinePlan(go=rest)
        raise InvalidPlanError(f"{text!r} is not a plan; places are {', '.join(PLACES)}")

    def encode(self, plan: LinePlan, *, style: Style, previous: LinePlan | None) -> str:
        return f"go {plan.go}" if plan.go else f"say {plan.say}"

    def next_skill(self, plan: LinePlan) -> Skill | None:
        return Skill(name="goto", target=plan.go) if plan.go else None

    def answer(self, plan: LinePlan) -> str:
        return plan.say

    def record(self, observation: LineObservation, *, first: bool) -> dict[str, Any]:
        return {"place": observation.place, "first": first}

    def recall(self, records: Iterable[tuple[dict[str, Any], Sequence[str]]]) -> Iterator[LineObservation]:
        for record, feedback in records:
            yield LineObservation(record["place"], feedback=tuple(feedback))

    def plan(self, record: dict[str, Any]) -> LinePlan:
        return LinePlan.model_validate(record)

    def feedback(self, observation: LineObservation) -> list[str]:
        return list(observation.feedback)

    def informative(self, observation: LineObservation) -> bool:
        return observation.changed

    def expert(self, task: str, intent: dict[str, Any] | None = None) -> LineExpert:
        if not task.isascii():
            raise InvalidTaskError(f"{task!r} is not understood")
        return LineExpert()

    def limits(self, style: Style) -> int:
        return 16


class LineExpert:
    """Goes to `c`, then says so."""

    def plan(self, observation: LineObservation) -> LinePlan:
        return LinePlan(say="done") if observation.place == "c" else LinePlan(go="c")


@dataclass
class LineWorld:
    """Environment: going to a place works, going `nowhere` is refused."""

    place: str = "a"
    cancel_after: int | None = None
    gone: bool = False
    steps: list[Skill] = field(default_factory=list)

    def observe(self) -> LineObservation:
        return LineObservation(self.place)

    def step(self, skill: Skill, cancel: CancelToken | None = None) -> StepResult[LineObservation]:
        if cancel is not None:
            cancel.raise_if_cancelled()
        self.steps.append(skill)
        if cancel is not None and len(self.steps) == self.cancel_after:
            cancel.cancel()
            cancel.raise_if_cancelled()
        if self.gone:
            observation = LineObservation(self.place, feedback=("the robot does not answer",))
            return StepResult(observation, SkillCode.ROBOT_UNAVAILABLE)
        if skill.target not in PLACES:
            observation = LineObservation(self.place, feedback=(f"{skill.target} is unreachable",))
            return StepResult(observation, SkillCode.UNREACHABLE)
        changed, self.place = skill.target != self.place, skill.target
        return StepResult(LineObservation(self.place, changed=changed, feedback=(f"at {self.place}",)))


class ScriptedSession:
    def __init__(self, model: ScriptedModel, messages: Sequence[Message]) -> None:
        self.model = model
        self.messages = list(messages)
        self.closed = False

    def append(self, message: Message) -> None:
        assert not self.closed
        self.messages.append(message)

    def generate(
        self,
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        assert not self.closed
        self.model.constraints.append(constraint)
        reply = self.model.script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            reply = reply(self, cancel)
        if isinstance(reply, str):
            reply = Completion(reply, usage=Usage(10, 4, 3, 1), timing=Timing(0.5, 0.25))
        if on_text is not None:
            on_text(reply.text)
        self.messages.append(Message("assistant", reply.text))
        return reply

    def close(self) -> None:
        self.closed = True


class ScriptedModel:
    """Implements LanguageModel; every generation takes the next reply of the script."""

    name = "scripted"
    context_length = 1000

    def __init__(self, *script: Reply) -> None:
        self.script = list(script)
        self.sessions: list[ScriptedSession] = []
        self.constraints: list[Constraint | None] = []
        self.prefilled: list[tuple[Message, ...]] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    def session(self, messages: Sequence[Message] = ()) -> ScriptedSession:
        self.sessions.append(ScriptedSession(self, messages))
        return self.sessions[-1]

    def generate(self, messages: Sequence[Message], **options: Any) -> Completion:
        return self.session(messages).generate(**options)

    def prefill(self, messages: Sequence[Message], *, cancel: CancelToken | None = None) -> None:
        self.prefilled.append(tuple(messages))

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture(scope="session")
def domain() -> LineDomain:
    return LineDomain()


@pytest.fixture
def world() -> LineWorld:
    return LineWorld()


@pytest.fixture(scope="session")
def new_world() -> type[LineWorld]:
    return LineWorld


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedModel]:
    return ScriptedModel
