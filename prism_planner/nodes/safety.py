"""The safety monitor's limits as ROS parameters."""

from __future__ import annotations

import re
from typing import get_args

from pydantic import Field, ValidationError

from prism_planner.nodes.parameters import NodeParameters, ParameterError
from prism_planner.skills.keep_out import Circle, Polygon
from prism_planner.skills.monitor import MAX_EXPLORE_RADIUS_M, SafetyLimits
from prism_planner.skills.skill import SkillName

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_POINT = re.compile(rf"({_NUMBER})\s*,\s*({_NUMBER})")
_CIRCLE = re.compile(rf"circle\s+({_NUMBER})\s*,\s*({_NUMBER})\s+radius\s+({_NUMBER})")
_POLYGON = re.compile(rf"polygon((?:\s+{_NUMBER}\s*,\s*{_NUMBER})+)")
_SYNTAX = '"pond: circle 3.0,4.5 radius 2" or "stairs: polygon 0,0 4,0 4,3"'


class SafetyParameters(NodeParameters):
    """What the robot may not do, `safety.*`; no plan gets round it."""

    keep_out_regions: tuple[str, ...] = Field((), description="Names of regions that may not be entered.")
    keep_out_areas: tuple[str, ...] = Field(
        (), description=f"Areas that may not be entered, metres in map: {_SYNTAX}."
    )
    region_radius: float = Field(
        1.0, ge=0.0, le=1000.0, description="Radius of a keep-out region around its centre, metres."
    )
    clearance: float = Field(
        0.0,
        ge=0.0,
        le=100.0,
        description="Distance to keep from keep-out areas, at least the robot's radius, metres.",
    )
    max_explore_radius: float = Field(
        30.0, gt=0.0, le=MAX_EXPLORE_RADIUS_M, description="Widest exploration allowed, metres."
    )
    max_path_length: float = Field(
        2000.0, gt=0.0, le=1e6, description="Longest path allowed for one skill, metres."
    )
    max_skills_per_task: int = Field(100, ge=1, le=100000, description="Most skills executed for one task.")
    allowed_skills: tuple[str, ...] = Field(
        get_args(SkillName), description="Skills that may be executed; any other is refused."
    )


def safety_limits(parameters: SafetyParameters) -> SafetyLimits:
    """The monitor's limits. Raises ParameterError."""
    areas = [_area(text) for text in parameters.keep_out_areas]
    try:
        return SafetyLimits.model_validate(
            {
                "keep_out_regions": frozenset(parameters.keep_out_regions),
                "keep_out_circles": tuple(area for area in areas if isinstance(area, Circle)),
                "keep_out_polygons": tuple(area for area in areas if isinstance(area, Polygon)),
                "region_radius_m": parameters.region_radius,
                "clearance_m": parameters.clearance,
                "max_explore_radius_m": parameters.max_explore_radius,
                "max_path_length_m": parameters.max_path_length,
                "max_skills_per_task": parameters.max_skills_per_task,
                "allowed_skills": frozenset(parameters.allowed_skills),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ParameterError(
            f"parameter 'safety.{first['loc'][0]}': {first['msg']} (is {first['input']!r})"
        ) from error


def _area(text: str) -> Circle | Polygon:
    name, _, shape = (part.strip() for part in text.partition(":"))
    try:
        if circle := _CIRCLE.fullmatch(shape):
            x, y, radius = map(float, circle.groups())
            return Circle(name=name, center=(x, y), radius=radius)
        if polygon := _POLYGON.fullmatch(shape):
            corners = tuple((float(x), float(y)) for x, y in _POINT.findall(polygon[1]))
            return Polygon(name=name, vertices=corners)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ParameterError(f"parameter 'safety.keep_out_areas': {text!r}: {reason}") from error
    raise ParameterError(f"parameter 'safety.keep_out_areas': {text!r} is not an area; write {_SYNTAX}")
