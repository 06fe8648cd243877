"""The interval of a ratio of two rates."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_distill.report.ratio import ratio
from prism_planner.evaluation.metrics import Rate, wilson


def observed(successes: int, episodes: int) -> Rate:
    return Rate(episodes, successes, *wilson(successes, episodes))


rates = st.integers(1, 200).flatmap(lambda n: st.builds(observed, st.integers(0, n), st.just(n)))


def test_the_example_of_the_literature() -> None:
    """36 of 40 against 16 of 80: Koopman's interval is 2.94 to 7.15 (Gart and Nam, Biometrics 44, 1988)."""
    found = ratio(observed(36, 40), observed(16, 80))
    assert found.value == pytest.approx(4.5)
    assert (found.low, found.high) == (pytest.approx(2.94, abs=0.005), pytest.approx(7.15, abs=0.005))


@given(rates, rates)
def test_an_interval_holds_its_ratio_and_turns_over_with_it(a: Rate, b: Rate) -> None:
    found, inverse = ratio(a, b), ratio(b, a)
    if not math.isnan(found.value):
        assert found.low <= found.value * (1 + 1e-6)
        assert found.high >= found.value * (1 - 1e-6)
    assert 0 <= found.low < found.high
    if a.successes and b.successes:
        assert found.low * inverse.high == pytest.approx(1, rel=1e-5)


def test_perfect_planners_do_not_make_a_ratio_certain() -> None:
    few, many = ratio(observed(10, 10), observed(10, 10)), ratio(observed(99, 99), observed(99, 99))
    assert few.low < many.low < 1 < many.high < few.high


@pytest.mark.parametrize(
    ("a", "b", "expected"), [((0, 9), (9, 9), 0.0), ((9, 9), (0, 9), math.inf), ((0, 9), (0, 9), math.nan)]
)
def test_nothing_succeeded(a: tuple[int, int], b: tuple[int, int], expected: float) -> None:
    found = ratio(observed(*a), observed(*b))
    assert found.value == pytest.approx(expected, nan_ok=True)
    assert (found.low == 0) == (a[0] == 0)
    assert (found.high == math.inf) == (b[0] == 0)


def test_it_covers_what_it_states() -> None:
    rng, covered, runs = random.Random(1), 0, 600
    for _ in range(runs):
        a, b = (sum(rng.random() < p for _ in range(40)) for p in (0.85, 0.95))
        found = ratio(observed(a, 40), observed(b, 40))
        covered += found.low <= 0.85 / 0.95 <= found.high
    assert 0.93 <= covered / runs <= 0.98


def test_no_episodes() -> None:
    with pytest.raises(ValueError, match="episodes of both"):
        ratio(observed(0, 0), observed(1, 1))
