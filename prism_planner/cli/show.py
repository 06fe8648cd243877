"""Plans, steps and answers as lines on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from prism_planner.nodes.task_client import TaskProgress


class _Console(Console):
    """Leaves it to the command what a reader that has gone means; rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console() -> Console:
    """Standard output. Where it is no terminal, lines of text are not wrapped and tables are wide."""
    terminal = sys.stdout.isatty()
    return _Console(soft_wrap=not terminal, width=None if terminal else 160, highlight=False)


class StepPrinter:
    """Prints the progress of a task, one short block a step."""

    def __init__(self, out: Console, *, verbose: bool = False) -> None:
        """verbose: also the model's own text."""
        self._out = out
        self._verbose = verbose
        self._goal = ""

    def __call__(self, progress: TaskProgress) -> None:
        if progress.kind == "plan":
            show_plan(
                self._out,
                head=f"{progress.step:2}",
                goal=progress.goal if progress.goal != self._goal else "",
                reasoning=progress.reasoning,
                actions=progress.actions,
                seconds=progress.planning_s,
                rejected=progress.rejected,
            )
            self._goal = progress.goal
            if self._verbose and progress.raw_text:
                raw = progress.raw_text.strip().replace("\n", "\n             ")
                self._out.print(Text(f"     model   {raw}", style="dim"))
        elif progress.kind == "skill_ended":
            style = "" if progress.code == 0 else "yellow"
            for sentence in progress.observation:
                self._out.print(Text(f"     saw     {sentence}", style=style))


def show_plan(
    out: Console,
    *,
    head: str,
    goal: str,
    reasoning: str,
    actions: Sequence[str],
    seconds: float,
    rejected: int,
) -> None:
    """A plan: what it is for, why, and its actions; only the first is executed before planning again."""
    # Text, not markup: what a model or a scene graph says may contain square brackets.
    line = Text(f"{head}   ", style="bold")
    line.append(actions[0] if actions else "no valid plan", style="bold cyan" if actions else "bold red")
    line.append(f"   planned in {_duration(seconds)}", style="dim")
    if rejected:
        line.append(f", after {rejected} rejected", style="yellow")
    out.print(line)
    if goal:
        out.print(Text(f"     goal    {goal}", style="dim"))
    if reasoning:
        out.print(Text(f"     because {reasoning}"))
    if len(actions) > 1:
        out.print(Text(f"     then    {', '.join(actions[1:])}", style="dim"))


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.0f} ms"
