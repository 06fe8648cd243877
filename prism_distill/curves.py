"""Training curves from a training log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prism_distill.run import whole

_SMOOTHING = 0.95


def draw_curves(log: Path, picture: Path) -> None:
    """Loss, closed-loop success and throughput by step, from the lines of `training.jsonl`, as a PNG.

    Raises RunError when it cannot be written.
    """
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line.strip()]
    steps = [record for record in records if "rate" in record]
    validations = [record for record in records if "turns" in record]
    with whole(picture) as partial:
        _draw(partial, steps, validations)


def _draw(path: Path, steps: Sequence[dict[str, Any]], validations: Sequence[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 9), layout="constrained")
    loss, validation, throughput = figure.subplots(3, 1, sharex=True)
    at = [record["step"] for record in steps]
    losses = [record["loss"] for record in steps]
    loss.plot(at, losses, color="#4878a8", alpha=0.25, linewidth=0.8)
    loss.plot(at, _smooth(losses), color="#4878a8", label="training")
    seen = [record["step"] for record in validations]
    loss.plot(seen, [record["loss"] for record in validations], "o-", color="#c44e52", label="validation")
    loss.set_yscale("log")
    loss.set_ylabel("loss, nats per action token")
    loss.legend()
    right = [record["turns"] for record in validations]
    validation.plot(seen, right, "o-", color="#dd8452", label="answers right in every token")
    tried = [record for record in validations if record["success"] is not None]
    if tried:
        solved = [record["success"] for record in tried]
        validation.plot(
            [record["step"] for record in tried], solved, "o-", color="#55a868", label="solved in closed loop"
        )
    validation.set_ylim(0, 1)
    validation.set_ylabel("share on validation")
    if validations:
        validation.legend()
    throughput.plot(at, [record["supervised_per_s"] for record in steps], color="#8172b3")
    throughput.set_ylabel("action tokens per second")
    throughput.set_xlabel("step")
    throughput.set_ylim(bottom=0)
    figure.savefig(path, dpi=120, format="png")


def _smooth(values: Sequence[float]) -> list[float]:
    """Exponential moving average, without the bias of its start."""
    smoothed, total, weight = [], 0.0, 0.0
    for value in values:
        total = _SMOOTHING * total + (1 - _SMOOTHING) * value
        weight = _SMOOTHING * weight + (1 - _SMOOTHING)
        smoothed.append(total / weight)
    return smoothed
