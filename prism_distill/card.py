"""The card of a dataset: README.md as dataset hubs show it, and a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_distill.run import Run, whole, write_whole
from prism_distill.scenarios.splits import SPLITS

if TYPE_CHECKING:
    from prism_distill.dataset import Row

CARD = "README.md"
PLOT = "distributions.png"

_MOST_INTENTS = 24


def write_card(folder: Path, run: Run, results: dict[str, Any], examples: Sequence[Row]) -> None:
    """Write the card of the dataset in `folder`. results: as in the manifest. Raises RunError."""
    with whole(folder / PLOT) as partial:
        _plot(partial, results["train"], title=run.config.name)
    write_whole(folder / CARD, "\n".join([*_lines(run, results, examples), ""]).encode())


def _lines(run: Run, results: dict[str, Any], examples: Sequence[Row]) -> Iterable[str]:
    config, elicited = run.config, run.manifest.stages["elicitation"].results
    yield from ("---", "configs:", "- config_name: default", "  data_files:")
    for split in SPLITS:
        yield from (f"  - split: {split}", f"    path: {split}.parquet")
    yield from ("---", "", f"# {config.name}", "")
    yield (
        f"Episodes of the planner family `{config.domain}`, planned by `{config.elicitation.teacher}` in "
        f"closed loop in emulated worlds. The scenarios come from {_source(run)}, seed {config.seed}."
    )
    yield ""
    yield (
        "A row is an episode: `trace` holds its PlanTrace, a JSON document a line. Rows of the same `world` "
        "and `mask_seed` begin with the same observation. Training shares neither worlds nor sentences with "
        "the other splits."
    )
    yield from ("", "## Sizes", "")
    head = ("split", "rows", "worlds", "sentences", "characters a row", "left out")
    body = (
        (
            split,
            f"{found['rows']:,}",
            f"{found['worlds']:,}",
            f"{found['sentences']:,}",
            f"{found['characters'] / max(1, found['rows']):,.0f}",
            ", ".join(f"{reason} {count}" for reason, count in found["dropped"].items()) or "none",
        )
        for split, found in ((split, results[split]) for split in SPLITS)
    )
    yield from _table(head, body)
    repeated = results["duplicates"]
    yield ""
    yield (
        f"Of {elicited['episodes']:,} episodes {elicited['kept']:,} were kept. Of the training rows "
        f"{repeated['exact']:.2%} have the sentence and the world of another, and {repeated['near']:.2%} are "
        f"near-duplicates (words alike to {repeated['similarity']:.0%}). Neither training nor validation "
        f"shares a sentence or a world with the {results['evaluation_files']} scenarios for evaluation."
    )
    yield from ("", "## Training rows", "", f"![distributions]({PLOT})", "")
    for title, key in (("cell", "cells"), ("action", "actions"), ("steps", "turns"), ("intent", "intents")):
        counts = results["train"][key]
        total = sum(counts.values())
        rows = ((name, f"{count:,}", f"{count / total:.1%}") for name, count in counts.items())
        yield from _table((title, "number", "share"), rows)
        yield ""
    yield from ("## Examples", "")
    for row in examples:
        yield from _example(row)


def _source(run: Run) -> str:
    source = run.config.scenarios.source
    return "the built-in generator" if source == "generator" else f"`{source}`"


def _example(row: Row) -> Iterable[str]:
    """What was planned, and, further in, what the world said to it."""
    yield from (f"**{row.instruction}** ({row.cell})", "", "```")
    for turn in row.plan_trace().turns:
        yield from (f"    {sentence}" for sentence in turn.feedback)
        yield turn.raw
    yield from ("```", "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _plot(path: Path, train: dict[str, Any], *, title: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    figure.suptitle(f"{title}: {train['rows']:,} training rows")
    axes = figure.subplots(2, 2)
    panels = (("cells", "cell"), ("actions", "action"), ("turns", "steps"), ("intents", "intent"))
    for axis, (key, label) in zip(axes.flat, panels, strict=True):
        counts = dict(list(train[key].items())[:_MOST_INTENTS])
        if key == "turns":
            axis.bar(list(map(int, counts)), list(counts.values()), color="#4878a8")
            axis.set_xlabel("planning steps")
            axis.set_ylabel("rows")
        else:
            names = list(counts)[::-1]
            axis.barh(names, [counts[name] for name in names], color="#4878a8")
            axis.set_title(f"by {label}")
    figure.savefig(path, dpi=120, format="png")
