"""Finding domains: plug-ins under the entry-point group `prism_planner.domains`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from prism_planner.domains.domain import Domain

GROUP = "prism_planner.domains"


class UnknownDomainError(ValueError):
    """No installed package offers that domain; the message lists those that exist."""


def domain_names() -> list[str]:
    return sorted({point.name for point in entry_points(group=GROUP)})


def load_domain(name: str) -> Domain[Any, Any]:
    """The domain of that name. Raises UnknownDomainError."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            domain: Domain[Any, Any] = point.load()()
            return domain
    known = ", ".join(domain_names()) or "none (is prism_planner installed?)"
    raise UnknownDomainError(f"there is no domain {name!r}; installed domains: {known}")
