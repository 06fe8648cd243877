"""A model card: what an exported planner is, how good, how it was made, and what it is not for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from prism_distill.export.gguf_file import written_whole
from prism_distill.export.record import ExportRecord, File, Score

CARD = "README.md"

_LIMITS = (
    "It plans in the {domain} domain only, from the domain's own short prompt (style `distilled`), with its "
    "answers constrained to the names and actions of the world at hand. As a chat model it is of no use.",
    "It learnt from the plans of {teacher} in synthetic worlds, described in English. Other languages, and "
    "tasks of a kind that the training data lacks, are out of its reach.",
    "What it may do is not its own decision: see docs/safety.md for its limits and keep-out regions.",
    "Scores hold for the base and the number format that they were measured with; measure again when you "
    "change either.",
)


def write_card(
    record: ExportRecord, path: Path, *, name: str, model: str, scores: Mapping[str, Score] | None = None
) -> None:
    """Write the card of a planner called `name`, which `load_model` finds as `model`; whole or not at all.

    scores: closed-loop success by what it was measured on. Raises ExportError.
    """
    with written_whole(path) as partial:
        partial.write_text("\n".join(_lines(record, name, model, scores or {})) + "\n", encoding="utf-8")


def _lines(record: ExportRecord, name: str, model: str, scores: Mapping[str, Score]) -> Iterable[str]:
    made = record.provenance
    yield f"# {name}"
    yield ""
    yield (
        f"A planner for the {made.domain} domain: a LoRA adapter for {made.base}, distilled from "
        f"{made.teacher} as in the PRISM paper. It runs under llama.cpp, without a network."
    )
    yield from (
        "",
        "```bash",
        f"prism evaluate --domain {made.domain} --scenarios scenarios/{made.domain} --model {model}",
        "```",
    )
    yield from ("", "## Files", "")
    yield from _table(("file", "format", "MB", "SHA-256"), map(_file_row, (record.adapter, *record.merged)))
    yield from ("", "## Base, data and licence", "")
    yield f"- Base: {made.base}"
    yield f"- Licence: {record.licence}"
    yield (
        f"- Training data: {made.episodes} episodes of {made.teacher} in synthetic worlds, without human "
        f"labels; SHA-256 `{made.training_data}`"
    )
    yield from ("", "## Training", "")
    yield f"LoRA of rank {record.rank}, alpha {record.alpha:g}. Losses are of the planner's actions only."
    yield ""
    yield from _table(("setting", "value"), ((key, str(value)) for key, value in made.training.items()))
    yield from ("", "## Scores", "")
    if scores:
        yield "Tasks solved in closed loop, with 95% intervals."
        yield ""
        yield from _table(
            ("measured on", "success", "95% interval", "episodes"), map(_score_row, scores.items())
        )
    else:
        yield "Not measured yet: `prism report` does."
    yield from ("", "## Agreement with the trained model", "")
    yield (
        "transformers (F32) with the trained adapter against llama.cpp with the file (and an F16 base), on "
        "prompts that were not trained on. Identical: greedy continuations that are the same in every token."
    )
    yield ""
    heads = (
        "file",
        "identical",
        "95% interval",
        "prompts",
        "same top token",
        "KL (nats)",
        "largest difference",
    )
    yield from _table(heads, (_agreement_row(*item) for item in record.agreement.items()))
    yield from ("", "## Make it again", "", "```bash", made.command, "```")
    yield from ("", "## Limits", "")
    for limit in _LIMITS:
        yield f"- {limit.format(domain=made.domain, teacher=made.teacher)}"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _file_row(file: File) -> tuple[str, ...]:
    return f"`{file.name}`", file.kind, f"{file.size / 1e6:.1f}", f"`{file.sha256}`"


def _score_row(item: tuple[str, Score]) -> tuple[str, ...]:
    name, score = item
    return name, f"{score.success:.3f}", f"{score.ci_low:.3f} to {score.ci_high:.3f}", str(score.episodes)


def _agreement_row(name: str, found: Mapping[str, float]) -> tuple[str, ...]:
    return (
        f"`{name}`",
        f"{found['identical']:.3f}",
        f"{found['ci_low']:.3f} to {found['ci_high']:.3f}",
        str(found["prompts"]),
        f"{found['top1']:.4f}",
        f"{found['divergence']:.2g}",
        f"{found['max_difference']:.3f}",
    )
