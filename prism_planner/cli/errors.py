"""How the command fails: one message on stderr, one exit code, never a traceback."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback

EXIT_CODES = {
    0: "done",
    1: "the task was not completed, or a check failed",
    2: "wrong options or unusable input",
    3: "the model cannot be loaded or cannot answer",
    4: "ROS 2 or the robot's nodes are not there",
    5: "the planner is busy with another task",
    70: "a bug in prism",
    130: "cancelled",
}

FAILED, BAD_INPUT, NO_MODEL, NO_ROBOT, BUSY, BUG, CANCELLED = 1, 2, 3, 4, 5, 70, 130


class CommandError(Exception):
    """A command cannot go on. The message says why and what to do; code is the exit code."""

    def __init__(self, message: str, code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code


def report(error: BaseException) -> int:
    """Tell the user about an error that ended the command; the exit code."""
    if isinstance(error, KeyboardInterrupt):
        _say("cancelled")
        return CANCELLED
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone, as in `prism graph show FILE | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, OSError) and error.filename is not None:
        _say(f"{error.filename}: {error.strerror}")
        return BAD_INPUT
    code = _known(error)
    if code is not None:
        _say(str(error))
        return code
    with tempfile.NamedTemporaryFile("w", prefix="prism-error-", suffix=".txt", delete=False) as file:
        file.write(f"{' '.join(sys.argv)}\n\n{''.join(traceback.format_exception(error))}")
    _say(
        f"a bug in prism: {type(error).__name__}: {error}\n"
        f"The details are in {file.name}; please report it with that file."
    )
    return BUG


def _say(message: str) -> None:
    print(f"prism: {message}", file=sys.stderr)


def _known(error: BaseException) -> int | None:
    """The exit code of an error that is the user's to mend; None for any other."""
    # Imported here: by now time does not matter, and what raised them is imported anyway.
    from prism_planner.domains.domain import InvalidTaskError
    from prism_planner.domains.registry import UnknownDomainError
    from prism_planner.domains.trace import TraceError
    from prism_planner.evaluation.evaluate import EvaluationError
    from prism_planner.evaluation.store import StoreError
    from prism_planner.graph.spine_json import GraphFormatError
    from prism_planner.language.model import LanguageModelError
    from prism_planner.nodes.supervisor import StackError
    from prism_planner.worlds.scenario import ScenarioError

    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, LanguageModelError):
        return NO_MODEL
    if isinstance(error, StackError):
        return NO_ROBOT
    bad_input = (
        InvalidTaskError,
        UnknownDomainError,
        TraceError,
        EvaluationError,
        StoreError,
        GraphFormatError,
        ScenarioError,
    )
    return BAD_INPUT if isinstance(error, bad_input) else None
