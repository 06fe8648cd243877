"""A table of success rates, and how it is shown: on a terminal, in Markdown, as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from prism_distill.report.ratio import Ratio
from prism_planner.evaluation.metrics import Rate


@dataclass(frozen=True, slots=True)
class Cell:
    """rate: measured. paper: the paper's figure, 0 to 1. ratio: of this rate to the source's."""

    rate: Rate
    paper: float | None = None
    ratio: Ratio | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a table that is shown by itself: column -> heading."""

    title: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """rows: row -> column -> cell. models: row -> what plans. notes: what a reader must know."""

    name: str
    title: str
    rows: Mapping[str, Mapping[str, Cell]]
    models: Mapping[str, str]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        """`{row: {column: {episodes, success, ci_low, ci_high, model, paper?, ratio?}}}`, rates 0 to 1.

        A ratio is `{value, ci_low, ci_high}`; what is infinite or undefined is null.
        """
        return {
            row: {column: _plain(cell, self.models[row]) for column, cell in cells.items()}
            for row, cells in self.rows.items()
        }

    def as_rich(self) -> RenderableType:
        tables: list[RenderableType] = []
        for part in self.parts:
            table = Table(title=f"{self.title}{part.title}", title_justify="left", show_lines=True)
            table.add_column("")
            for heading in part.columns.values():
                table.add_column(heading, justify="right")
            for label, cells in self._lines(part):
                table.add_row(label, *("\n".join(lines) or "-" for lines in cells))
            tables.append(table)
        return Group(*tables, *(f"  {note}" for note in self.notes))

    def as_markdown(self) -> str:
        lines = []
        for part in self.parts:
            lines += ["", f"**{self.title}{part.title}**", ""]
            lines += [f"| | {' | '.join(part.columns.values())} |", f"|---|{'---:|' * len(part.columns)}"]
            lines += [
                f"| {label.replace(chr(10), '<br>')} | {' | '.join('<br>'.join(c) or '-' for c in cells)} |"
                for label, cells in self._lines(part)
            ]
        return "\n".join([*lines[1:], "", *(f"- {note}" for note in self.notes), ""])

    def _lines(self, part: Part) -> list[tuple[str, list[list[str]]]]:
        """Row by row: its label, and the lines of its cells."""
        shown: list[tuple[str, list[list[str]]]] = []
        for row, cells in self.rows.items():
            found = [cells.get(column) for column in part.columns]
            shown.append((f"{row}\n{self.models[row]}", [_lines(cell) if cell else [] for cell in found]))
            if any(cell is not None and cell.ratio is not None for cell in found):
                ratios = [self._ratio_lines(row, column) for column in part.columns]
                shown.append((f"{row} / source", ratios))
        return shown

    def _ratio_lines(self, row: str, column: str) -> list[str]:
        cell = self.rows[row].get(column)
        if cell is None or cell.ratio is None:
            return []
        lines = [
            f"{_times(cell.ratio.value)}  {_times(cell.ratio.low)} to {_times(cell.ratio.high)}",
        ]
        source = self.rows["source"][column].paper
        if cell.paper is not None and source:
            lines.append(f"paper {cell.paper / source:.2f}")
        return lines


def _plain(cell: Cell, model: str) -> dict[str, Any]:
    rate = cell.rate
    plain: dict[str, Any] = {
        "episodes": rate.episodes,
        "success": rate.value,
        "ci_low": rate.low,
        "ci_high": rate.high,
        "model": model,
    }
    if cell.paper is not None:
        plain["paper"] = cell.paper
    if cell.ratio is not None:
        plain["ratio"] = {
            key: value if math.isfinite(value) else None
            for key, value in zip(
                ("value", "ci_low", "ci_high"),
                (cell.ratio.value, cell.ratio.low, cell.ratio.high),
                strict=True,
            )
        }
    return plain


def _lines(cell: Cell) -> list[str]:
    rate = cell.rate
    lines = [f"{rate.value:.1%}  {rate.low:.0%} to {rate.high:.0%}", f"{rate.successes} of {rate.episodes}"]
    if cell.paper is not None:
        lines.append(f"paper {cell.paper:.1%}")
    return lines


def _times(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "∞" if math.isinf(value) else f"{value:.2f}"
