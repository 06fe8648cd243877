"""`PlanTrace`: one episode, as the dataset row, the replay record and the log alike.

On disk (`format: prism-trace/1`) a trace is JSON lines: a header, one line per turn, an outcome.
Observations are structured (SPINE: the whole graph, then deltas), so a trace can be rendered again
in any style and for any model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

FORMAT = "prism-trace/1"

Status = Literal["succeeded", "aborted", "cancelled"]
AbortReason = Literal[
    "", "step_limit", "loop", "invalid_plans", "model_error", "world_error", "invalid_task", "cancelled"
]


class TraceError(ValueError):
    """A trace file is not readable; the message names file, line, field and what was expected."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TraceHeader(_Record):
    format: Literal["prism-trace/1"] = "prism-trace/1"
    task: str
    domain: str
    model: str
    style: str = "distilled"
    seed: int = 0
    scenario: str = ""


class TurnTiming(_Record):
    """Seconds of one turn: model prompt and generation, then the robot's execution."""

    prompt_s: float = 0.0
    generation_s: float = 0.0
    execution_s: float = 0.0


class TraceTurn(_Record):
    """One planning step.

    observation: what the planner was shown, structured. raw: the model's text of the accepted plan.
    rejected: earlier texts of this turn with the feedback they got. skill/code: what was executed
    and how it ended (None for the turn that answers).
    """

    observation: dict[str, Any]
    feedback: list[str] = Field(default_factory=list)
    raw: str
    plan: dict[str, Any] | None
    rejected: list[tuple[str, str]] = Field(default_factory=list)
    skill: str | None = None
    code: int | None = None
    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    generated_tokens: int = 0
    forced_tokens: int = 0
    timing: TurnTiming = Field(default_factory=TurnTiming)

    @property
    def sent_tokens(self) -> int:
        """Prompt tokens of all requests of the turn, as an endpoint bills them; never less than they were."""
        requests = len(self.rejected) + (self.plan is not None)
        return self.prompt_tokens * requests


class TraceOutcome(_Record):
    """How the episode ended. `answer` is the message to the user."""

    status: Status
    reason: AbortReason = ""
    detail: str = ""
    answer: str = ""


class PlanTrace(_Record):
    header: TraceHeader
    turns: list[TraceTurn] = Field(default_factory=list)
    outcome: TraceOutcome | None = None

    @property
    def invalid_plans(self) -> int:
        return sum(len(turn.rejected) for turn in self.turns)

    def lines(self) -> Iterator[str]:
        yield self.header.model_dump_json()
        for turn in self.turns:
            yield turn.model_dump_json()
        if self.outcome is not None:
            yield self.outcome.model_dump_json()

    def write(self, path: Path) -> None:
        """Write atomically: whoever looks finds the whole trace or none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        partial.write_text("".join(line + "\n" for line in self.lines()), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def read(cls, path: Path) -> PlanTrace:
        """Read one trace file. Raises TraceError. A trace without an outcome (killed run) is read."""
        try:
            # Not splitlines(): JSON strings may hold U+2028 and its like, which that would split at.
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise TraceError(f"{path}: cannot be read: {error}") from error
        return cls.from_lines(lines, source=str(path))

    @classmethod
    def from_lines(cls, lines: Iterable[str], *, source: str) -> PlanTrace:
        numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip()]
        if not numbered:
            raise TraceError(f"{source}: empty; expected a header line with format: {FORMAT}")

        def parse(model: type[Any], number: int, line: str) -> Any:
            try:
                return model.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(str(part) for part in first["loc"]) or "record"
                raise TraceError(f"{source}, line {number}, {field}: {first['msg']}") from error

        trace = cls(header=parse(TraceHeader, *numbered[0]))
        for number, line in numbered[1:]:
            if trace.outcome is not None:
                raise TraceError(f"{source}, line {number}: nothing may follow the outcome")
            if _is_outcome(line):
                trace.outcome = parse(TraceOutcome, number, line)
            else:
                trace.turns.append(parse(TraceTurn, number, line))
        return trace


def _is_outcome(line: str) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "status" in record
