"""The ratio of two success rates, and the interval that the true ratio lies in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from prism_planner.evaluation.metrics import Rate

_WIDEST = 20.0  # logarithm of the largest ratio that is looked for
_PRECISION = 1e-9


@dataclass(frozen=True, slots=True)
class Ratio:
    """value: NaN when both rates are 0, infinite when only the divisor is. high may be infinite."""

    value: float
    low: float
    high: float


def ratio(dividend: Rate, divisor: Rate, *, confidence: float = 0.95) -> Ratio:
    """dividend / divisor with Koopman's score interval (Biometrics 40, 1984).

    Chosen for the reason that Wilson's interval is chosen for the rates: near 100%, where planners are, the
    logarithmic (Katz) interval and the bootstrap collapse to a point. It takes the two rates as independent;
    both planners were given the same episodes, which tend to succeed and fail together, so it is
    wider rather than narrower than it could be. Raises ValueError when either has no episodes.
    """
    if not dividend.episodes or not divisor.episodes:
        raise ValueError("a ratio needs episodes of both planners")
    critical = NormalDist().inv_cdf(0.5 + confidence / 2)
    x, n, y, m = dividend.successes, dividend.episodes, divisor.successes, divisor.episodes
    if x == y == 0:
        return Ratio(math.nan, 0.0, math.inf)

    def where(score: float) -> float:
        """The ratio with this score; scores fall as the ratio grows."""
        low, high = -_WIDEST, _WIDEST
        while high - low > _PRECISION:
            middle = (low + high) / 2
            low, high = (middle, high) if _score(math.exp(middle), x, n, y, m) > score else (low, middle)
        return math.exp((low + high) / 2)

    return Ratio(
        value=dividend.value / divisor.value if y else math.inf,
        low=where(critical) if x else 0.0,
        high=where(-critical) if y else math.inf,
    )


def _score(phi: float, x: int, n: int, y: int, m: int) -> float:
    """How far x of n and y of m lie from rates with the ratio phi, in standard deviations under the likeliest
    such rates."""
    b = (n + y) * phi + x + m
    root = math.sqrt(max(b * b - 4 * (n + m) * phi * (x + y), 0.0))
    q = min(2 * (x + y) / (b + root), 1.0, 1 / phi)
    p = phi * q
    difference = x / n - phi * y / m
    if difference == 0:
        return 0.0
    variance = p * (1 - p) / n + phi**2 * q * (1 - q) / m
    return difference / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, difference)
