"""ROS parameters, declared once from a frozen pydantic model and handed on as that model."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import annotated_types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node
from rclpy.parameter import Parameter

from prism_planner.nodes.parameter_sources import mistyped

_LARGEST_DOUBLE = 1.7976931348623157e308
_LARGEST_INTEGER = 2**63 - 1
_BUILT_IN = ("use_sim_time", "start_type_description_service", "qos_overrides.")
_TYPES = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
}
_ARRAYS = {
    int: Parameter.Type.INTEGER_ARRAY,
    float: Parameter.Type.DOUBLE_ARRAY,
    str: Parameter.Type.STRING_ARRAY,
}


class ParameterError(ValueError):
    """A parameter has a value the node cannot run with; the message names it and what is expected."""


class NodeParameters(BaseModel):
    """Base of a node's parameters.

    Fields are bool, int, float, str, a Literal of strings, a tuple of one of them, or another
    NodeParameters, whose fields get its name and a dot as prefix. Each has a description; numeric
    bounds become the parameter's range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


ParametersT = TypeVar("ParametersT", bound=NodeParameters)


def declare_parameters(node: Node, model: type[ParametersT]) -> ParametersT:
    """Declare the fields of `model` on the node and read them. Raises ParameterError."""
    # Values from the command line and parameter files; rclpy offers them through no public name.
    overrides: dict[str, Parameter] = node._parameter_overrides
    values: dict[str, Any] = {}
    kinds = {name: _ros_type(field.annotation) for name, _, field in _fields(model)}
    for source, name, value in mistyped(kinds, sys.argv, node.get_name()):
        raise ParameterError(
            f"{source}: parameter '{name}' is {value!r}, but is of type {kinds[name].name.lower()}"
        )
    for name, path, field in _fields(model):
        kind = kinds[name]
        if name in overrides:
            overrides[name] = _fit(overrides[name], kind)
            if overrides[name].type_ != kind:
                raise ParameterError(
                    f"parameter '{name}' is {overrides[name].value!r}, but is of type "
                    f"{kind.name.lower()}: {field.description}"
                )
        default = _plain(field.get_default(call_default_factory=True))
        try:
            node.declare_parameter(name, kind if default == [] else default, _descriptor(field, kind))
        except ParameterException as error:
            raise ParameterError(f"parameter '{name}': {error} ({field.description})") from error
        value = node.get_parameter_or(name).value
        if value is None:
            # rclpy declares no empty list, and one parameter without a value hides the others from clients
            # that ask for several.
            node._parameters[name] = Parameter(name, kind, default)
        target = values
        for part in path[:-1]:
            target = target.setdefault(part, {})
        target[path[-1]] = default if value is None else value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ParameterError(f"parameter '{name}': {first['msg']} (is {first['input']!r})") from error


def unknown_parameters(node: Node) -> list[str]:
    """Names that parameter files or the command line set but the node does not have; to be called
    after everything was declared. ROS ignores them silently, which hides spelling mistakes."""
    return sorted(
        name
        for name in node._parameter_overrides
        if not node.has_parameter(name) and not name.startswith(_BUILT_IN)
    )


def _fields(
    model: type[NodeParameters], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], FieldInfo]]:
    for key, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, NodeParameters):
            yield from _fields(field.annotation, (*path, key))
        else:
            yield ".".join((*path, key)), (*path, key), field


def _ros_type(annotation: Any) -> Parameter.Type:
    origin = typing.get_origin(annotation)
    if origin is tuple:
        return _ARRAYS[typing.get_args(annotation)[0]]
    if origin is typing.Literal:
        return Parameter.Type.STRING
    if origin is types.UnionType:
        raise TypeError(f"a parameter has one type, not {annotation}")
    return _TYPES[annotation]


def _fit(given: Parameter, kind: Parameter.Type) -> Parameter:
    """YAML writes the double 1.0 as `1` too, and an empty list has no type."""
    if kind is Parameter.Type.DOUBLE and given.type_ is Parameter.Type.INTEGER:
        return Parameter(given.name, kind, float(given.value))
    if kind is Parameter.Type.DOUBLE_ARRAY and given.type_ is Parameter.Type.INTEGER_ARRAY:
        return Parameter(given.name, kind, [float(value) for value in given.value])
    if kind in _ARRAYS.values() and given.type_ is not kind and not given.value:
        return Parameter(given.name, kind, [])
    return given


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _descriptor(field: FieldInfo, kind: Parameter.Type) -> ParameterDescriptor:
    low: float | None = None
    high: float | None = None
    for bound in field.metadata:
        if isinstance(bound, annotated_types.Ge):
            low = cast("float", bound.ge)
        elif isinstance(bound, annotated_types.Gt):
            low = cast("float", bound.gt)
        elif isinstance(bound, annotated_types.Le):
            high = cast("float", bound.le)
        elif isinstance(bound, annotated_types.Lt):
            high = cast("float", bound.lt)
    descriptor = ParameterDescriptor(description=field.description or "", read_only=True)
    if typing.get_origin(field.annotation) is typing.Literal:
        descriptor.additional_constraints = "one of: " + ", ".join(typing.get_args(field.annotation))
    if low is None and high is None:
        return descriptor
    if kind is Parameter.Type.DOUBLE:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=float(-_LARGEST_DOUBLE if low is None else low),
                to_value=float(_LARGEST_DOUBLE if high is None else high),
            )
        ]
    elif kind is Parameter.Type.INTEGER:
        descriptor.integer_range = [
            IntegerRange(
                from_value=int(-_LARGEST_INTEGER if low is None else low),
                to_value=int(_LARGEST_INTEGER if high is None else high),
                step=1,
            )
        ]
    return descriptor
