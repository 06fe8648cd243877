"""What a planner family must declare to be run, evaluated, replayed and distilled.

PRISM's claim (paper section 1) is that the user "simply provides the planner with its action and
observation spaces". A `Domain` is exactly that, as a plug-in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from prism_planner.language.model import Constraint, Message
from prism_planner.skills.skill import Skill

Style = Literal["source", "distilled"]

ObservationT = TypeVar("ObservationT")
ObservationT_contra = TypeVar("ObservationT_contra", contravariant=True)
PlanT = TypeVar("PlanT", bound=BaseModel)
PlanT_co = TypeVar("PlanT_co", bound=BaseModel, covariant=True)


class InvalidPlanError(Exception):
    """A model's text is not a plan that makes sense now. `str(error)` is feedback for the model:
    what is wrong and what exists instead."""


class Expert(Protocol[ObservationT_contra, PlanT_co]):
    """A teacher for one episode: sees what any planner sees, plus what the sentence means."""

    def plan(self, observation: ObservationT_contra) -> PlanT_co:
        """The plan from here on. Observations arrive in the order of the episode."""


class Domain(ABC, Generic[ObservationT, PlanT]):
    """One source planner: observations, plans, how both are text, and what may be said now.

    A conversation in `style` is `system(style)`, then per turn a user message `render(...)` and an
    assistant message that `parse` reads. `encode` is parse's inverse, used by experts and datasets.
    """

    name: str

    @abstractmethod
    def system(self, style: Style) -> Sequence[Message]:
        """The messages before the first observation: instructions and, in `source`, few-shot turns."""

    @abstractmethod
    def render(
        self, task: str, observation: ObservationT, *, style: Style, first: bool, budget: int | None = None
    ) -> str:
        """The user message for an observation.

        first: the whole observation with the task; otherwise only what changed and the feedback.
        budget: at most about this many characters; what is least relevant is left out, and said so.
        """

    @abstractmethod
    def constraint(self, observation: ObservationT, *, style: Style, first: bool) -> Constraint:
        """The language of valid answers now: the plan's schema and the names that exist."""

    @abstractmethod
    def parse(self, text: str, observation: ObservationT, *, style: Style, previous: PlanT | None) -> PlanT:
        """Read and validate a model's answer; raises InvalidPlanError. `previous` is the plan of the turn
        before, whose goal a distilled answer may leave implied."""

    @abstractmethod
    def encode(self, plan: PlanT, *, style: Style, previous: PlanT | None) -> str:
        """The text that `parse` reads back as `plan`."""

    @abstractmethod
    def next_skill(self, plan: PlanT) -> Skill | None:
        """The first action of the plan as a skill (receding horizon), or None when it ends the task."""

    @abstractmethod
    def answer(self, plan: PlanT) -> str:
        """The message to the user of a plan that ends the task."""

    @abstractmethod
    def record(self, observation: ObservationT, *, first: bool) -> dict[str, Any]:
        """The observation as JSON-able data for a trace: whole when `first`, otherwise the change."""

    @abstractmethod
    def recall(self, records: Iterable[tuple[dict[str, Any], Sequence[str]]]) -> Iterator[ObservationT]:
        """The observations of an episode again, from what `record` and `feedback` made of them, in order.

        Each is valid until the next one is taken. Raises ValueError for records that are not from here.
        """

    @abstractmethod
    def plan(self, record: dict[str, Any]) -> PlanT:
        """A plan of a trace (`TraceTurn.plan`) again. Raises ValueError for one that is not from here."""

    @abstractmethod
    def feedback(self, observation: ObservationT) -> list[str]:
        """The sentences about the last action that the observation carries."""

    @abstractmethod
    def informative(self, observation: ObservationT) -> bool:
        """Whether the last action changed anything; repeating one that did not is a loop."""

    @abstractmethod
    def expert(self, task: str, intent: dict[str, Any] | None = None) -> Expert[ObservationT, PlanT]:
        """A teacher for this task. Raises InvalidTaskError when it does not understand the sentence."""

    @abstractmethod
    def limits(self, style: Style) -> int:
        """The most tokens an answer needs."""


class InvalidTaskError(Exception):
    """The task is empty, too long or not understood; the message tells the user what to change."""
