"""How an evaluation is shown: a table for people, one JSON object for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from prism_planner.evaluation.episode import EpisodeResult
from prism_planner.evaluation.metrics import CELLS, Rate, Summary, summarise


def as_json(results: Sequence[EpisodeResult], **context: Any) -> dict[str, Any]:
    """The stable keys that scripts read, and `context` (model, mask, ...) beside them.

    `success` and the interval are rates from 0 to 1; in `tasks` it is whether that episode succeeded.
    """
    summary = summarise(results)
    return {
        "episodes": summary.overall.episodes,
        "success": summary.overall.value,
        "ci_low": summary.overall.low,
        "ci_high": summary.overall.high,
        "cells": {
            cell: {"episodes": r.episodes, "success": r.value, "ci_low": r.low, "ci_high": r.high}
            for cell, r in summary.cells.items()
        },
        "invalid_actions": summary.invalid_actions,
        "steps": summary.steps,
        "median_step_s": summary.median_step_s,
        "tasks": [
            {
                "scenario": result.scenario,
                "instruction": result.instruction,
                "success": result.success,
                "turns": result.turns,
                "reason": result.reason,
                "cell": result.cell,
                "seed": result.seed,
                "answer": result.answer,
            }
            for result in results
        ],
        **context,
    }


def as_table(results: Sequence[EpisodeResult], *, title: str, failures: int = 10) -> RenderableType:
    """Success in the layout of the paper's table 2, then at most `failures` of the failed tasks."""
    summary = summarise(results)
    parts: list[RenderableType] = [_cells(summary, title)]
    failed = [result for result in results if not result.success]
    if failed and failures:
        parts.append(_failures(failed, failures))
    return Group(*parts)


def _cells(summary: Summary, title: str) -> Table:
    table = Table(title=title, title_justify="left", caption=_caption(summary), caption_justify="left")
    table.add_column("")
    for heading in ("fully specified", "under-specified"):
        table.add_column(heading, justify="right")
    for kind in ("mapping", "exploration"):
        table.add_row(kind, *(_shown(summary.cells.get(f"{kind}/{spec}")) for spec in ("full", "under")))
    for cell in summary.cells:
        if cell not in CELLS:
            table.add_row(cell, _shown(summary.cells[cell]), "")
    table.add_section()
    table.add_row("all", _shown(summary.overall), "", style="bold")
    return table


def _shown(rate: Rate | None) -> str:
    if rate is None:
        return "-"
    return f"{rate.successes}/{rate.episodes}  {rate.value:.0%}  [dim]{rate.low:.0%} to {rate.high:.0%}[/dim]"


def _caption(summary: Summary) -> str:
    return (
        f"95% Wilson intervals; {summary.steps} planning steps, median {_seconds(summary.median_step_s)}; "
        f"{summary.invalid_actions} invalid actions"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1000:.1f} ms"


def _failures(failed: Sequence[EpisodeResult], limit: int) -> Table:
    more = f", the first {limit} of {len(failed)}" if len(failed) > limit else ""
    table = Table(title=f"failed tasks{more}", title_justify="left")
    for heading in ("scenario", "task", "turns", "why"):
        table.add_column(heading, justify="right" if heading == "turns" else "left", overflow="fold")
    for result in failed[:limit]:
        # Text, not markup: instructions and answers may contain square brackets.
        table.add_row(Text(result.scenario), Text(result.instruction), str(result.turns), Text(result.reason))
    return table
