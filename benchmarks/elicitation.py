"""How many scenarios a second the expert plans in closed loop, with all of their tasks.

    python benchmarks/elicitation.py --json elicitation.json

Runs `prism elicit`'s own stage on generated scenarios, with a process on every core, start-up and writing
included. Target: 100 scenarios a second on 2 cores.

Keys: scenarios_per_s, episodes_per_s, scenarios, episodes, kept (share of the episodes), workers, seconds,
rss_mb (of the parent at most), synthesis_per_s.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from prism_distill.config import DistillConfig
from prism_distill.elicitation import elicit
from prism_distill.executors import cores
from prism_distill.run import Run
from prism_distill.synthesis import synthesize

TARGET = 100.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--scenarios", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--workers", type=int, default=cores(), help="processes (default: all cores)")
    arguments = parser.parse_args()
    if arguments.scenarios < 1 or arguments.workers < 1:
        parser.error("--scenarios and --workers are at least 1")

    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(Path(scratch), arguments.scenarios, arguments.workers)
    print(
        f"{figures['scenarios_per_s']:.0f} scenarios/s, {figures['episodes_per_s']:.0f} episodes/s with "
        f"{figures['workers']} processes (target: {TARGET:.0f} scenarios/s on 2 cores); "
        f"{figures['kept']:.2%} of {figures['episodes']:,} episodes kept; {figures['rss_mb']:.0f} MB"
    )
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def measure(directory: Path, scenarios: int, workers: int) -> dict[str, Any]:
    config = DistillConfig.model_validate(
        {
            "name": "benchmark",
            "directory": directory,
            "scenarios": {"train": scenarios, "validation": 1, "test": 0, "workers": workers},
            "elicitation": {"workers": workers},
        }
    )
    with Run(config) as run:
        began = time.perf_counter()
        synthesize(run)
        synthesis = time.perf_counter() - began
        began = time.perf_counter()
        elicit(run)
        seconds = time.perf_counter() - began
        results = run.manifest.stages["elicitation"].results
    return {
        "scenarios_per_s": (scenarios + 1) / seconds,
        "episodes_per_s": results["episodes"] / seconds,
        "scenarios": scenarios + 1,
        "episodes": results["episodes"],
        "kept": results["kept"] / results["episodes"],
        "workers": workers,
        "seconds": seconds,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "synthesis_per_s": (scenarios + 1) / synthesis,
    }


if __name__ == "__main__":
    sys.exit(main())
