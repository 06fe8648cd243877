"""Figure 5 as a table, Markdown, JSON and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from prism_distill.report.latency import Curve
from prism_distill.report.paper import FIGURE5, FIGURE5_OURS

TITLE = "Figure 5, latency of a plan"
HEADINGS = ("", "queries", "mean ± std", "median", "95% below", "characters, median", "paper: mean ± std")


def as_json(curves: Mapping[str, Curve]) -> dict[str, Any]:
    return {name: curve.as_json() for name, curve in curves.items()}


def as_rich(curves: Mapping[str, Curve]) -> Table:
    table = Table(title=TITLE, title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading else "left")
    for row in _rows(curves):
        table.add_row(*row)
    return table


def as_markdown(curves: Mapping[str, Curve], notes: tuple[str, ...]) -> str:
    lines = [f"**{TITLE}**", "", f"| {' | '.join(HEADINGS)} |", f"|---|{'---:|' * (len(HEADINGS) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(curves)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes), ""])


def caption(endpoint: str | None) -> str:
    """The picture's title, which says who answers. endpoint: as in `notes`."""
    return f"{TITLE}. Endpoint: {endpoint or 'the same small model on this same machine, not GPT-4o'}"


def notes(ours: str, endpoint: str | None) -> tuple[str, ...]:
    """What a reader must know. endpoint: model and address; None for the server on this machine."""
    who = (
        f"The endpoint is {endpoint}, asked with the source's prompt."
        if endpoint is not None
        else "The endpoint runs the same small model on this same machine (llama-cpp-python's server): it is "
        "not GPT-4o, nor any hosted model. The curves differ in network, runtime and constraint."
    )
    return (
        f"On board: {ours}, in closed loop, decoding constrained. The endpoint answers the same "
        "conversations, without a constraint.",
        who,
        "The network is simulated: a proxy holds every byte back for half the round trip each way, and "
        "opening a connection takes one more.",
    )


def _rows(curves: Mapping[str, Curve]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for curve in curves.values():
        figures = curve.as_json()
        paper = FIGURE5.get(curve.round_trip_ms) if curve.round_trip_ms is not None else None
        beside = f"GPT-4o {paper.mean_s:.2f} ± {paper.std_s:.2f} s" if paper else ""
        rows.append(
            (
                curve.label,
                str(figures["queries"]),
                f"{figures['mean_s']:.2f} ± {figures['std_s']:.2f} s",
                f"{figures['median_s']:.2f} s",
                f"{figures['p95_s']:.2f} s",
                f"{figures['median_characters']:g}",
                beside if curve.round_trip_ms is not None else FIGURE5_OURS,
            )
        )
    return rows
