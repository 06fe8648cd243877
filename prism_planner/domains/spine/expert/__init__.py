"""The offline teacher of the SPINE domain: reads a task, knows the world, plans from what is seen."""

from prism_planner.domains.spine.expert.expert import SpineExpert

__all__ = ["SpineExpert"]
