"""What a task means, structured: what the expert plans for, whoever read the sentence.

A generator of tasks may pass an intent as plain data (`Intent` in JSON form); otherwise `reading`
derives it from the sentence. Words that name things are resolved with `knowledge`: any synonym, or a
word that the knowledge does not have, may be used. Nothing here refers to a particular world.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from prism_planner.domains.spine.expert.knowledge import knowledge

Direction = Literal[
    "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest", "center"
]
Pick = Literal[
    "any", "all", "nearest", "farthest",
    "northernmost", "southernmost", "easternmost", "westernmost", "last", "first",
]  # fmt: skip


def _known_activity(name: str) -> str:
    if name not in knowledge().activities:
        raise ValueError(f"{name!r} is no known activity; known are {', '.join(knowledge().activities)}")
    return name


ActivityName = Annotated[str, AfterValidator(_known_activity)]
"""An activity of `data/activities.yaml`."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Condition(_Model):
    """A property that a thing has (`value` true) or lacks.

    property: one of the evidence lexicon (`occupied`, `damaged`, `blocked`, `shaded`, ...), or any other
    word ("red", "wooden"), which then has to occur in the thing's name or attributes.
    """

    property: str
    value: bool = True


class Target(_Model):
    """What thing or place is meant.

    words: as said, "parking lot 1", "ground_1", "vehicle"; a number makes it one particular node.
    mine: it belongs to the user. also: other words that would do as well ("chair" or "bench").
    conditions: it must have these. near: it is at, on, under or next to this other thing.
    pick: which one, when several fit.
    """

    words: str = Field(min_length=1)
    also: tuple[str, ...] = ()
    mine: bool = False
    conditions: tuple[Condition, ...] = ()
    near: Target | None = None
    pick: Pick = "any"


class GoTo(_Model):
    """Be at a region, or where an object is seen from."""

    kind: Literal["goto"] = "goto"
    target: Target


class Map(_Model):
    """Look for objects at a place. around: at whatever region is near the target ("the area near X")."""

    kind: Literal["map"] = "map"
    target: Target | None = None
    around: bool = False


class Explore(_Model):
    """Find out what else there is around a place (None: here). radius in metres, when the user gave one."""

    kind: Literal["explore"] = "explore"
    target: Target | None = None
    radius: float | None = Field(None, gt=0)


class InspectIt(_Model):
    """Look at an object and report; query: the attribute asked about ("colour"), or empty for all."""

    kind: Literal["inspect"] = "inspect"
    target: Target
    query: str = ""


class Find(_Model):
    """Find an object. clues: where it may be: activities ("work"), or words for places or things."""

    kind: Literal["find"] = "find"
    target: Target
    clues: tuple[str, ...] = ()


class FindPlace(_Model):
    """Find a place, or thing, that affords an activity of the knowledge ("sit", "watch a movie")."""

    kind: Literal["find_place"] = "find_place"
    activity: ActivityName
    conditions: tuple[Condition, ...] = ()
    near: Target | None = None


class Ask(_Model):
    """Whether things have a property. "Is my car damaged", "are the chairs under the trees occupied".

    any: true when one instance suffices for a yes ("has rain damaged any roofs").
    """

    kind: Literal["ask"] = "ask"
    target: Target
    condition: Condition
    any: bool = False


class Exists(_Model):
    """Whether there is such a thing (at a place). "Is there debris on the path"."""

    kind: Literal["exists"] = "exists"
    target: Target


class Capacity(_Model):
    """Whether there is room for an activity. "Is there space to park my car"."""

    kind: Literal["capacity"] = "capacity"
    activity: ActivityName
    near: Target | None = None


class Passage(_Model):
    """Whether a way is clear.

    place: the way itself ("the path"); destination: where it leads ("the exit"). At least one is given.
    obstacle: what is suspected to be in the way ("construction"); None for anything. blocked: whether
    the question is phrased as "is it blocked", so that yes means that it is.
    """

    kind: Literal["passage"] = "passage"
    place: Target | None = None
    destination: Target | None = None
    obstacle: Target | None = None
    blocked: bool = False

    @model_validator(mode="after")
    def _somewhere(self) -> Passage:
        if self.place is None and self.destination is None:
            raise ValueError("give a place, a destination or both")
        return self


class Reach(_Model):
    """Whether one can get to a place."""

    kind: Literal["reach"] = "reach"
    target: Target


class Around(_Model):
    """What is near something."""

    kind: Literal["around"] = "around"
    target: Target


class Hazards(_Model):
    """Whether anything is dangerous (at a place)."""

    kind: Literal["hazards"] = "hazards"
    where: Target | None = None


class Part(_Model):
    """Go to the part of the scene in a direction, seen from its middle."""

    kind: Literal["part"] = "part"
    direction: Direction


class Home(_Model):
    """Go back to where the robot started; land: to the landing site where there is one."""

    kind: Literal["home"] = "home"
    land: bool = False


class ListThings(_Model):
    """Say which things of a kind there are, or how many. target None: everything that is seen."""

    kind: Literal["list"] = "list"
    target: Target | None = None
    where: Target | None = None
    count: bool = False


class Sequence(_Model):
    """One after the other. "A then B", "A and then return to where you started"."""

    kind: Literal["sequence"] = "sequence"
    steps: tuple[Intent, ...] = Field(min_length=2)


Intent = Annotated[
    GoTo | Map | Explore | InspectIt | Find | FindPlace | Ask | Exists | Capacity | Passage | Reach | Around
    | Hazards | Part | Home | ListThings | Sequence,
    Field(discriminator="kind"),
]  # fmt: skip

Target.model_rebuild()
Sequence.model_rebuild()

INTENT: TypeAdapter[Intent] = TypeAdapter(Intent)
"""Validates and dumps an intent as plain data."""
