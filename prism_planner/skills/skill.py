"""Skills: what a robot can execute, whichever planner asked for it."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

SkillName = Literal["goto", "map_region", "explore_region", "inspect"]


class Skill(BaseModel):
    """One thing for the robot to do.

    target: a region (goto, map_region, explore_region) or an object (inspect).
    radius: metres, explore_region only. query: what to look for, inspect only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: SkillName
    target: str
    radius: float = 0.0
    query: str = ""

    @field_validator("radius")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"radius must be a finite number of metres, 0 or more, not {value}")
        return value

    def __str__(self) -> str:
        extra = {"explore_region": f", {self.radius:g}", "inspect": f", {self.query}"}.get(self.name, "")
        return f"{self.name}({self.target}{extra})"


class SkillCode(IntEnum):
    """Outcome of a skill; the same numbers as `prism_msgs/action/ExecuteSkill`."""

    SUCCEEDED = 0
    UNKNOWN_TARGET = 100
    UNREACHABLE = 101
    INVALID_ARGUMENT = 102
    REFUSED_BY_SAFETY = 200
    STUCK = 300
    TIMED_OUT = 301
    SENSOR_FAILED = 302
    CANCELLED = 400
    ROBOT_UNAVAILABLE = 500
