"""Pictures of the tables and of latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from prism_distill.report.table import Part, ResultTable

_COLOURS = ("#8a94a0", "#2f9e6b", "#52718c", "#e4572e")
_INK = "#1f2933"
_GROUP = 0.8


def draw_table(path: Path, table: ResultTable) -> None:
    """Bars with intervals, and the paper's figures as diamonds; one panel for each part of the table."""
    figure = Figure(figsize=(9, 3.4 * len(table.parts)), dpi=110, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(table.parts), 1, squeeze=False)[:, 0]
    for axes, part in zip(panels, table.parts, strict=True):
        _bars(axes, table, part)
    panels[0].legend(loc="lower left", bbox_to_anchor=(0, 1.12), ncols=4, frameon=False, fontsize=8)
    _save(figure, path)


def draw_latencies(path: Path, curves: Mapping[str, Sequence[float]], *, title: str) -> None:
    """Violins of seconds, one a curve, with their medians. Each needs at least one value."""
    figure = Figure(figsize=(8, 4.5), dpi=110, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places = range(1, len(curves) + 1)
    parts = axes.violinplot(list(curves.values()), list(places), showmedians=True, widths=_GROUP)
    bodies: Any = parts["bodies"]
    for body, colour in zip(bodies, _COLOURS[1:] * len(curves), strict=False):
        body.set_facecolor(colour)
        body.set_alpha(0.6)
    for name in ("cmedians", "cbars", "cmins", "cmaxes"):
        parts[name].set_color(_INK)
        parts[name].set_linewidth(1)
    axes.set_xticks(list(places), list(curves))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("seconds for one plan")
    axes.set_title(title, loc="left", fontsize=9, color=_INK)
    _tidy(axes)
    _save(figure, path)


def _bars(axes: Axes, table: ResultTable, part: Part) -> None:
    width = _GROUP / len(table.rows)
    for number, (row, cells) in enumerate(table.rows.items()):
        offset = (number - (len(table.rows) - 1) / 2) * width
        shown = [(i + offset, cells[c]) for i, c in enumerate(part.columns) if c in cells]
        at = [x for x, _ in shown]
        rates = [cell.rate for _, cell in shown]
        low = [rate.value - rate.low for rate in rates]
        high = [rate.high - rate.value for rate in rates]
        colour = _COLOURS[number % len(_COLOURS)]
        axes.bar(at, [rate.value for rate in rates], width * 0.9, color=colour, label=row)
        axes.errorbar(at, [r.value for r in rates], [low, high], fmt="none", ecolor=_INK, lw=1, capsize=3)
        paper = [(x, cell.paper) for x, cell in shown if cell.paper is not None]
        if paper:
            label = "paper" if number == 0 else None
            x, y = zip(*paper, strict=True)
            axes.scatter(x, y, marker="D", s=22, color="white", edgecolors=_INK, zorder=3, label=label)
    axes.set_xticks(range(len(part.columns)), list(part.columns.values()), fontsize=8)
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_title(f"{table.title}{part.title}", loc="left", fontsize=9, color=_INK)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
