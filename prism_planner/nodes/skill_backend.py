"""What a skill server needs of whatever drives the robot: a simulation, or Nav2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from prism_planner.cancellation import CancelToken
from prism_planner.skills.skill import Skill, SkillCode


@dataclass(frozen=True, slots=True)
class SkillResult:
    """How a skill ended.

    message: the reason in words, empty on success. feedback: sentences for the planner.
    graph_revision: of the scene graph that holds everything discovered, 0 when nothing was.
    """

    code: SkillCode
    message: str = ""
    feedback: tuple[str, ...] = ()
    graph_revision: int = 0

    @classmethod
    def failed(cls, code: SkillCode, message: str) -> SkillResult:
        """A failure whose reason is all that the planner is told."""
        return cls(code, message, (message,))


@dataclass(frozen=True, slots=True)
class RobotProgress:
    """Where the robot is (metres and radians in `map`) and how far its path still is, metres."""

    x: float
    y: float
    z: float
    yaw: float
    remaining_m: float = 0.0


class SkillBackend(Protocol):
    """Executes one skill at a time.

    `prepare` and `execute` are called in the worker thread, everything else in the executor's.
    """

    def prepare(self, cancel: CancelToken) -> str:
        """Get ready; empty, or why no skill can be executed. Called again until it succeeds."""

    def execute(self, skill: Skill, cancel: CancelToken) -> SkillResult:
        """Execute a skill that the safety monitor has admitted, to its end.

        Once `cancel` is set the robot is stopped and the result is CANCELLED.
        """

    @property
    def progress(self) -> RobotProgress | None:
        """Where the robot is now; None when that is not known."""

    def stop(self) -> None:
        """Brake now. `execute`, if running, is also cancelled by its token."""

    def close(self) -> None: ...
