"""Generated scenarios, and episodes in them."""

from __future__ import annotations

import functools

import pytest

from prism_distill.scenarios import Split, generate_many
from prism_planner.worlds.spine_scenario import SpineScenario

SAMPLE = 250


@functools.cache
def sample(split: Split) -> tuple[SpineScenario, ...]:
    return tuple(generate_many(SAMPLE, seed=11, split=split))


@pytest.fixture(scope="session")
def train() -> tuple[SpineScenario, ...]:
    return sample("train")


@pytest.fixture(scope="session")
def held_out() -> tuple[SpineScenario, ...]:
    return sample("test")
