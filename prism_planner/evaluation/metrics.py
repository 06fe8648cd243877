"""What a set of finished episodes says: rates with confidence intervals, per cell and overall."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from prism_planner.evaluation.episode import EpisodeResult

# The cells of the paper's table 2, in its order.
CELLS = ("mapping/full", "mapping/under", "exploration/full", "exploration/under")


@dataclass(frozen=True, slots=True)
class Rate:
    """Successes among episodes, and the interval that their true rate lies in."""

    episodes: int
    successes: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The observed rate; 0 when there were no episodes."""
        return self.successes / self.episodes if self.episodes else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """overall: all episodes. cells: by kind and specification. median_step_s: seconds of planning (model
    prompt and generation, not the robot's motion) per step. invalid_actions: see EpisodeResult."""

    overall: Rate
    cells: dict[str, Rate]
    invalid_actions: int
    steps: int
    median_step_s: float


def wilson(successes: int, episodes: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a binomial rate.

    Chosen because cells are small (10 to 30 episodes) and rates near 0 or 1: there the usual normal
    interval collapses to a point or leaves [0, 1], and Clopper-Pearson is wider than its stated
    confidence warrants. Wilson's covers close to the stated confidence on average (Brown, Cai and DasGupta,
    "Interval Estimation for a Binomial Proportion", 2001). It takes episodes as independent.
    """
    if not 0 <= successes <= episodes:
        raise ValueError(f"successes must be between 0 and {episodes}, not {successes}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    if episodes == 0:
        return 0.0, 1.0
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    rate = successes / episodes
    centre = rate + z2 / (2 * episodes)
    spread = math.sqrt(z2 * (rate * (1 - rate) / episodes + z2 / (4 * episodes**2)))
    scale = 1 + z2 / episodes
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == episodes else (centre + spread) / scale
    return low, high


def rate(outcomes: Iterable[bool]) -> Rate:
    outcomes = list(outcomes)
    successes = sum(outcomes)
    return Rate(len(outcomes), successes, *wilson(successes, len(outcomes)))


def summarise(results: Sequence[EpisodeResult]) -> Summary:
    """Cells are those that occur, table 2's first and in its order."""
    occurring = {result.cell for result in results}
    cells = [cell for cell in CELLS if cell in occurring] + sorted(occurring - set(CELLS))
    step_s = [seconds for result in results for seconds in result.step_s]
    return Summary(
        overall=rate(result.success for result in results),
        cells={cell: rate(r.success for r in results if r.cell == cell) for cell in cells},
        invalid_actions=sum(result.invalid_actions for result in results),
        steps=len(step_s),
        median_step_s=median(step_s) if step_s else 0.0,
    )
