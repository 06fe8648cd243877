"""Synthetic SPINE scenarios from a grammar over general knowledge (PRISM paper, section 3.1)."""

from prism_distill.scenarios.generator import Stream, generate, generate_many, write_scenarios
from prism_distill.scenarios.splits import SPLITS, Split

__all__ = ["SPLITS", "Split", "Stream", "generate", "generate_many", "write_scenarios"]
