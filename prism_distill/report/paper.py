"""The PRISM paper's own figures, shown beside what is measured here (sections 4.2 to 4.4).

Its planner is Llama-3.2-3B, its source GPT-4o, its tasks those of tables 5 to 7 on real robots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Figures = Mapping[str, Mapping[str, float]]
"""Row -> column -> rate of success, 0 to 1."""

TABLE1: Figures = {
    "slm": {"spine": 0.1354, "saycan": 0.10, "llm_planner": 0.0176},
    "prism": {"spine": 0.92, "saycan": 0.50, "llm_planner": 0.1554},
    "source": {"spine": 0.9807, "saycan": 0.50, "llm_planner": 0.1649},
}

TABLE2: Figures = {
    "slm": {"mapping/full": 0.5, "mapping/under": 0.0, "exploration/full": 0.0, "exploration/under": 0.0},
    "prism": {
        "mapping/full": 1.0,
        "mapping/under": 0.9,
        "exploration/full": 0.875,
        "exploration/under": 0.75,
    },
    "source": {
        "mapping/full": 1.0,
        "mapping/under": 1.0,
        "exploration/full": 1.0,
        "exploration/under": 0.833,
    },
}

TABLE3: Figures = {
    "full": {"spine": 0.909},
    "without masking": {"spine": 0.636},
    "without validation": {"spine": 0.455},
}


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of 60 queries (section 4.3)."""

    mean_s: float
    std_s: float


FIGURE5: Mapping[float, Latency] = {6.7: Latency(3.64, 2.25), 200.0: Latency(4.90, 1.73)}
"""GPT-4o, by the network's round trip in milliseconds."""

FIGURE5_OURS = "within 0.2 s of GPT-4o at 6.7 ms"
"""All that the text tells of PRISM's own latency."""
