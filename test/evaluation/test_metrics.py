"""Rates and their intervals."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_planner.evaluation.episode import EpisodeResult
from prism_planner.evaluation.metrics import summarise, wilson


def episode(cell: str, success: bool, **fields) -> EpisodeResult:
    basis = {"scenario": "s", "task": 0, "instruction": "go", "seed": 0, "status": "succeeded", "turns": 2}
    return EpisodeResult(**basis, cell=cell, success=success, **fields)


@pytest.mark.parametrize(
    ("successes", "episodes", "low", "high"),
    [
        # Newcombe (1998), table I, method 3: the score method without continuity correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_published_values(successes, episodes, low, high):
    assert wilson(successes, episodes) == pytest.approx((low, high), abs=5e-5)


@given(episodes=st.integers(1, 500), data=st.data())
def test_wilson_contains_the_observed_rate_and_stays_between_0_and_1(episodes, data):
    successes = data.draw(st.integers(0, episodes))
    low, high = wilson(successes, episodes)
    assert 0 <= low <= successes / episodes <= high <= 1
    mirrored = wilson(episodes - successes, episodes)
    assert mirrored == pytest.approx((1 - high, 1 - low))
    wide = wilson(successes, episodes, confidence=0.99)
    assert wide[0] <= low
    assert high <= wide[1]


def test_wilson_covers_the_true_rate_about_as_often_as_it_says():
    episodes, true = 15, 0.9
    covered = sum(
        math.comb(episodes, k) * true**k * (1 - true) ** (episodes - k)
        for k in range(episodes + 1)
        if wilson(k, episodes)[0] <= true <= wilson(k, episodes)[1]
    )
    assert 0.93 < covered < 0.99


def test_no_episodes_say_nothing():
    assert wilson(0, 0) == (0.0, 1.0)
    empty = summarise([])
    assert (empty.overall.episodes, empty.overall.value, empty.median_step_s) == (0, 0.0, 0.0)


@pytest.mark.parametrize(("successes", "episodes"), [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes, episodes):
    with pytest.raises(ValueError, match="between 0 and 3"):
        wilson(successes, episodes)


def test_cells_are_those_of_table_2_in_its_order():
    summary = summarise(
        [
            episode("exploration/under", False, invalid_actions=2, step_s=[3.0]),
            episode("mapping/full", True, step_s=[1.0, 2.0]),
            episode("any/any", True),
            episode("mapping/full", False, invalid_actions=1),
        ]
    )
    assert list(summary.cells) == ["mapping/full", "exploration/under", "any/any"]
    assert (summary.cells["mapping/full"].successes, summary.cells["mapping/full"].episodes) == (1, 2)
    assert summary.overall.value == 0.5
    assert (summary.invalid_actions, summary.steps, summary.median_step_s) == (3, 3, 2.0)
