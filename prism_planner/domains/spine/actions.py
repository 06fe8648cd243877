"""SPINE's actions and plan (PRISM paper, appendices C.1 and C.2) and its observation (C.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from prism_planner.worlds.observation import GraphObservation


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    if not line:
        raise ValueError("must not be blank")
    if any("\ud800" <= char <= "\udfff" for char in line):
        raise ValueError("holds half of a surrogate pair, which is not text")
    return line


Line = Annotated[str, AfterValidator(_one_line)]
"""Text on one line, so that every text form of a plan can be read back without loss."""


class _Action(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Goto(_Action):
    """Go to a region by the shortest known path."""

    action: Literal["goto"] = "goto"
    region: str


class MapRegion(_Action):
    """Go to a region and look for objects."""

    action: Literal["map_region"] = "map_region"
    region: str


class ExploreRegion(_Action):
    """Go to a region and explore within `radius` metres: finds regions, edges and objects."""

    action: Literal["explore_region"] = "explore_region"
    region: str
    radius: float = Field(gt=0, allow_inf_nan=False)


class Inspect(_Action):
    """Go to where an object can be seen and look for the attributes that `query` describes."""

    action: Literal["inspect"] = "inspect"
    object: str
    query: Line


class Answer(_Action):
    """End the task with a message to the user."""

    action: Literal["answer"] = "answer"
    message: Line


Action = Annotated[Goto | MapRegion | ExploreRegion | Inspect | Answer, Field(discriminator="action")]


class SpinePlan(BaseModel):
    """The planner's output (C.2). Only the first action is executed before replanning.

    relevant_graph: names of the nodes that matter to the goal.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    primary_goal: Line
    relevant_graph: tuple[str, ...] = ()
    reasoning: Line
    plan: tuple[Action, ...] = Field(min_length=1)


SpineObservation = GraphObservation
