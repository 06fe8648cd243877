"""The types of all values that files and the command line give for a parameter, not just the last one.

Where one source gives an integer and a later one a text, ROS keeps both and hands a node the first type
that it looks for. A limit of "0.5" in a site's file would leave the robot's own limit in force unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from rclpy.parameter import Parameter

Kind = Parameter.Type

_SCALARS = {bool: Kind.BOOL, int: Kind.INTEGER, float: Kind.DOUBLE, str: Kind.STRING}
_ARRAYS = {
    Kind.BOOL: Kind.BOOL_ARRAY,
    Kind.INTEGER: Kind.INTEGER_ARRAY,
    Kind.DOUBLE: Kind.DOUBLE_ARRAY,
    Kind.STRING: Kind.STRING_ARRAY,
}
_ASSIGNMENT = re.compile(r"(?:(?P<node>[^:]+):)?(?P<name>[^:=]+):=(?P<value>.*)", re.DOTALL)


def mistyped(
    kinds: Mapping[str, Parameter.Type], arguments: Sequence[str], node: str
) -> Iterator[tuple[str, str, Any]]:
    """Where a value does not have its parameter's type: (source, parameter, value).

    kinds: the node's parameters. arguments: of the process. node: its name without namespace; a
    section of a file that names it in any namespace counts.
    """
    for source, name, value in _values(arguments, node):
        if name in kinds and not _fits(value, kinds[name]):
            yield source, name, value


def _values(arguments: Sequence[str], node: str) -> Iterator[tuple[str, str, Any]]:
    for option, argument in pairwise(arguments):
        if option == "--params-file":
            # That a file cannot be read is ROS's to say, which has read it before.
            with Path(argument).open(encoding="utf-8") as file:
                for name, value in _of_node(yaml.safe_load(file), node):
                    yield argument, name, value
        elif option in ("-p", "--param"):
            given = _ASSIGNMENT.fullmatch(argument)
            if given is not None and given["node"] in (None, node):
                yield f"{option} {argument}", given["name"], yaml.safe_load(given["value"])


def _of_node(sections: Any, node: str) -> Iterator[tuple[str, Any]]:
    for path, section in sections.items() if isinstance(sections, dict) else ():
        if not isinstance(section, dict):
            continue
        if "ros__parameters" in section:
            last = str(path).rsplit("/", 1)[-1]
            if last in (node, "*", "**"):
                yield from _flat(section["ros__parameters"])
        else:
            yield from _of_node(section, node)


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _fits(value: Any, kind: Parameter.Type) -> bool:
    if isinstance(value, list):
        return all(any(_fits(item, one) and many is kind for one, many in _ARRAYS.items()) for item in value)
    if kind is Kind.DOUBLE and _SCALARS.get(type(value)) in (Kind.INTEGER, Kind.STRING):
        # ROS reads the double 1e3, which YAML 1.1 takes for text, unless it is quoted.
        return not isinstance(value, str) or re.fullmatch(r"[-+]?\d+(\.\d*)?[eE]\d+", value) is not None
    return _SCALARS.get(type(value)) is kind
