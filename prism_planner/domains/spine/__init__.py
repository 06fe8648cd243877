"""The SPINE planner: language-driven mapping, navigation and exploration on scene graphs."""

from prism_planner.domains.spine.domain import SpineDomain

__all__ = ["SpineDomain"]
