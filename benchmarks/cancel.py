"""From a cancel to the end of generation, also in the middle of a long prompt.

    python benchmarks/cancel.py --json FILE

Each run cancels at a random moment: `cancel_p95_ms` while the model writes, `during_prefill_p95_ms`
while it reads a prompt of about 4,000 tokens. Robot stop is measured by robot_stop.py.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.language.model import Constraint, LanguageModel, Limits, Message
from prism_planner.language.registry import load_model

TARGET_MS = 100.0
LONG = "region_1 field_2 tree_3 gate_4 bench_5 path_6 " * 220
ENDLESS = Constraint(grammar="start: /[a-z ]{9999}/")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--model", default="smollm2-135m", help="default: smollm2-135m")
    parser.add_argument("--runs", type=int, default=40, help="cancels of each kind (default: 40)")
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    clock = random.Random(0)
    latencies: dict[str, list[float]] = {"during_prefill": [], "cancel": []}
    for _ in range(arguments.runs):
        # A number in front makes every prompt new, so that no prefix of it is evaluated already.
        prompt = [Message("user", f"{clock.random()} {LONG}")]
        latencies["during_prefill"].append(cancelled(model, prompt, after_s=clock.uniform(0.05, 1.0)))
        asked = [Message("user", "Describe a long walk.")]
        latencies["cancel"].append(cancelled(model, asked, after_s=clock.uniform(0.3, 1.0)))
    figures = {"runs": arguments.runs}
    for name, values in latencies.items():
        p95 = percentile(values, 95)
        figures |= {
            f"{name}_p95_ms": p95,
            f"{name}_median_ms": statistics.median(values),
            f"{name}_max_ms": max(values),
        }
        reached = "reached" if p95 <= TARGET_MS else "MISSED"
        print(f"{name}: p95 {p95:.1f} ms, max {max(values):.1f} ms (target {TARGET_MS:g} ms: {reached})")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def cancelled(model: LanguageModel, messages: Sequence[Message], *, after_s: float) -> float:
    """Milliseconds from the cancel to the end of the generation."""
    token = CancelToken()
    moment = 0.0

    def cancel() -> None:
        nonlocal moment
        moment = time.perf_counter()
        token.cancel()

    timer = threading.Timer(after_s, cancel)
    timer.start()
    try:
        model.generate(messages, constraint=ENDLESS, limits=Limits(max_tokens=2000), cancel=token)
    except Cancelled:
        return (time.perf_counter() - moment) * 1000
    finally:
        timer.join()
    raise RuntimeError(f"the model answered within {after_s:.2f} s: there was nothing left to cancel")


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of the values that at least `percent` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


if __name__ == "__main__":
    main()
