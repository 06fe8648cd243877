"""The `prism-scenario/1` envelope: what scenarios of all domains share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

SCENARIO_FORMAT: Final = "prism-scenario/1"

Location = tuple[str | int, ...]
Problem = tuple[Location, str]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _plain_text(value: object) -> object:
    """YAML reads an unquoted `no` as false and `3` as a number; as a fact about the world both are text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}"
    return value


PlainText = Annotated[str, BeforeValidator(_plain_text)]


class StrictModel(BaseModel):
    """Frozen, and without unknown keys: a misspelt key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Mask(StrictModel):
    """Extra random hiding (paper section 3.2): the fraction of what is known at the start to hide."""

    regions: float = Field(default=0.0, ge=0, le=1)
    objects: float = Field(default=0.0, ge=0, le=1)


class Task(StrictModel):
    """One instruction and how its outcome is judged.

    specification, kind: the cells of the paper's table 2; None when the source does not say.
    success: criteria that must all hold at the end. any_success: alternatives, one of which must
    hold too. intent: what the sentence means, structured; only the expert reads it.
    """

    instruction: Text
    specification: Literal["full", "under"] | None = None
    kind: Literal["mapping", "exploration"] | None = None
    success: tuple[Any, ...] = ()
    any_success: tuple[tuple[Any, ...], ...] = ()
    intent: dict[str, Any] | None = None

    @property
    def cell(self) -> str:
        """The cell of the paper's table 2, e.g. `mapping/full`."""
        return f"{self.kind or 'any'}/{self.specification or 'any'}"


class Scenario(StrictModel):
    """A world, and tasks to do in it. Domains subclass it with their own `world` and criteria."""

    format: Literal["prism-scenario/1"]
    domain: str
    name: Text
    description: str = ""
    platform: Literal["ugv", "uav"] = "ugv"
    world: Any
    mask: Mask = Mask()
    tasks: tuple[Any, ...] = ()

    def problems(self) -> Iterator[Problem]:
        """What is wrong beyond the shape of the fields: location of the field, and what to do."""
        yield from ()
