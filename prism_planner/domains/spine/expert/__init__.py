"""The offline teacher of the SPINE domain: reads a task, knows the world in general, plans from what is seen."""

from prism_planner.domains.spine.expert.expert import SpineExpert

__all__ = ["SpineExpert"]
