"""What a stage will take, said before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from prism_distill.run import RunError

# What is assumed of a model before anything was measured.
REQUEST_S = 3.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """items: how many of what are to be made. seconds: at the rate measured on a few, or as `assumed` says.
    requests, tokens: of a model. cost: in the currency of the config's prices; None for what is free."""

    items: int
    what: str
    seconds: float
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    assumed: str = ""

    def __str__(self) -> str:
        parts = [f"{self.items:,} {self.what}", f"about {duration(self.seconds)}"]
        if self.requests:
            parts.append(f"{self.requests:,} requests")
            parts.append(
                f"{_large(self.prompt_tokens)} tokens to read and {_large(self.completion_tokens)} to write"
            )
        if self.cost is not None:
            parts.append(f"cost about {self.cost:,.2f}")
        return ", ".join(parts) + (f" ({self.assumed})" if self.assumed else "")

    def check(self, max_cost: float | None, field: str) -> None:
        """Raises RunError when the cost is above the most that the config allows."""
        if max_cost is not None and self.cost is not None and self.cost > max_cost:
            raise RunError(
                f"the estimate is {self}: more than `{field}: {max_cost:g}` allows. Raise it, or make less"
            )


def duration(seconds: float) -> str:
    """As people say it: 12 s, 5 min, 3.2 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _large(number: int) -> str:
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number / 1e3:.0f} k"
