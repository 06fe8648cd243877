"""Nodes and changes of a scene graph, in SPINE's vocabulary (PRISM paper, appendix C.3)."""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

NodeKind = Literal["region", "object"]

MAX_NAME_LENGTH = 64
JSON_PREFIX = "json:"
"""Begins the key of an attribute whose text is the JSON of a value that was not text."""

_NAME = re.compile(r"[\w][\w.\-]*(?: [\w.\-]+)*")


def _check_name(name: str) -> str:
    if len(name) > MAX_NAME_LENGTH:
        raise ValueError(f"a node name has at most {MAX_NAME_LENGTH} characters, this one has {len(name)}")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a node name: use letters, digits, '_', '-', '.' and single spaces, "
            "starting with a letter or digit"
        )
    return name


NodeName = Annotated[str, AfterValidator(_check_name)]


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!a} holds half of a surrogate pair, which is not text") from None
    return text


Text = Annotated[str, AfterValidator(_check_text)]
Edge = tuple[NodeName, NodeName]


class Node(BaseModel):
    """A region (traversable place) or an object (semantic entity).

    coords: x, y in metres in the `map` frame (REP-103: x east, y north).
    attributes: plain-text facts; `description` and `category` are the conventional keys.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: NodeName
    kind: NodeKind
    coords: tuple[float, float]
    attributes: dict[Text, Text] = Field(default_factory=dict)

    @field_validator("coords")
    @classmethod
    def _finite(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not all(math.isfinite(v) for v in value):
            raise ValueError(f"coordinates must be finite metres, not {value}")
        return value

    @property
    def category(self) -> str:
        """`attributes["category"]`, or the name without its trailing number (`bench_1` -> `bench`)."""
        return self.attributes.get("category") or re.sub(r"[_ ]?\d+$", "", self.name)


class GraphDelta(BaseModel):
    """One atomic change of a scene graph.

    Applied in the order: remove_connections, remove_nodes, add_nodes, add_connections,
    update_node_attributes, update_robot_location. Removing a node removes its connections. Adding
    a node that exists replaces its coordinates and merges its attributes. A connection joins two
    regions (traversable) or an object and a region (visible from).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    add_nodes: tuple[Node, ...] = ()
    remove_nodes: tuple[NodeName, ...] = ()
    add_connections: tuple[Edge, ...] = ()
    remove_connections: tuple[Edge, ...] = ()
    update_node_attributes: dict[NodeName, dict[Text, Text]] = Field(default_factory=dict)
    update_robot_location: NodeName | None = None

    def __bool__(self) -> bool:
        """Whether the delta changes anything."""
        return any(getattr(self, name) not in ((), {}, None) for name in type(self).model_fields)
