"""The interface between a planner and whatever it acts in: an emulated world or a real robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from prism_planner.cancellation import CancelToken
from prism_planner.skills.skill import Skill, SkillCode

ObservationT = TypeVar("ObservationT")
ObservationT_co = TypeVar("ObservationT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class StepResult(Generic[ObservationT]):
    """What came of one skill. The observation's feedback already says it in words."""

    observation: ObservationT
    code: SkillCode = SkillCode.SUCCEEDED

    @property
    def ok(self) -> bool:
        return self.code == SkillCode.SUCCEEDED


class Environment(Protocol[ObservationT]):
    """Where a planner acts. Emulated worlds and the ROS robot both look like this."""

    def observe(self) -> ObservationT:
        """What is known before the first action."""

    def step(self, skill: Skill, cancel: CancelToken | None = None) -> StepResult[ObservationT]:
        """Execute one skill to its end. A failed or refused skill is a result, not an exception;
        raises Cancelled when `cancel` is set meanwhile."""
