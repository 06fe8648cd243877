"""The SPINE expert: a teacher that plans for a task from partial observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.spine.actions import Action, Answer, SpineObservation, SpinePlan
from prism_planner.domains.spine.expert.goals import goal
from prism_planner.domains.spine.expert.groundwork import cut
from prism_planner.domains.spine.expert.intent import INTENT, Intent, Sequence
from prism_planner.domains.spine.expert.memory import Memory
from prism_planner.domains.spine.expert.reading import read
from prism_planner.domains.spine.expert.strategies import Next, Report, Strategist
from prism_planner.domains.spine.expert.view import View

MAX_STEPS = 28
"""After so many actions the expert answers with what it knows."""
_GOAL_CHARACTERS = 60
_REASON_CHARACTERS = 110
_JOINED_CHARACTERS = 150
"""The length to which the answers of several steps are cut together."""
_RELEVANT = 4


class SpineExpert:
    """Plans one episode of one task, one action at a time (paper section 3.2, in the place of GPT-4o).

    task: the sentence. intent: what it means, as plain data of `Intent`; None to read the sentence.
    Raises InvalidTaskError when the sentence is not understood or the intent is malformed.
    Deterministic: the same observations give the same plans.
    """

    def __init__(self, task: str, intent: dict[str, Any] | None = None) -> None:
        self.intent = read(task) if intent is None else _validated(intent)
        self._goal = goal(self.intent)[:_GOAL_CHARACTERS]
        self._memory = Memory()
        self._last: Action | None = None
        self._step = 0
        self._since = 0
        self._reports: list[Report] = []

    def plan(self, observation: SpineObservation) -> SpinePlan:
        """The next action, or the answer. Observations arrive in the order of the episode."""
        self._memory.observe(observation, self._last)
        view = View(observation.graph, self._memory.lost, self._memory.radius)
        self._memory.radius = view.radius
        closing = self._memory.steps >= MAX_STEPS
        try:
            report = self._pursue(view, closing=closing)
        except Next as step:
            return self._planned(step.action, step.reason, step.about, view)
        message = f"As far as I could see: {report.message}" if closing else report.message
        return self._planned(Answer(message=message), report.reason, report.about, view)

    def _pursue(self, view: View, *, closing: bool) -> Report:
        """The report on the whole intent; raises Next until everything is done."""
        steps = tuple(_steps(self.intent))
        while self._step < len(steps):
            report = Strategist(view, self._memory, self._since, closing=closing).run(steps[self._step])
            self._reports.append(report)
            self._step += 1
            self._since = len(self._memory.deeds)
        if len(self._reports) == 1:
            return self._reports[0]
        share = _JOINED_CHARACTERS // len(self._reports)
        message = " ".join(cut(report.message, share) for report in self._reports)
        about = tuple(name for report in reversed(self._reports) for name in report.about)
        return Report(message, self._reports[-1].reason, about, all(r.found for r in self._reports))

    def _planned(self, action: Action, reason: str, about: tuple[str, ...], view: View) -> SpinePlan:
        self._last = action
        relevant = [name for name in dict.fromkeys(about) if name in view.graph][:_RELEVANT]
        return SpinePlan(
            primary_goal=self._goal,
            relevant_graph=tuple(relevant),
            reasoning=reason
            if len(reason) <= _REASON_CHARACTERS
            else reason[: _REASON_CHARACTERS - 3] + "...",
            plan=(action,),
        )


def _steps(intent: Intent) -> Iterator[Intent]:
    """The steps of an intent in their order, sequences within sequences included."""
    if isinstance(intent, Sequence):
        for step in intent.steps:
            yield from _steps(step)
    else:
        yield intent


def _validated(intent: dict[str, Any]) -> Intent:
    try:
        return INTENT.validate_python(intent)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "intent"
        raise InvalidTaskError(f"the intent is malformed: {where}: {first['msg']}") from error
