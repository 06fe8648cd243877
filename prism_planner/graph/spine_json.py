"""Scene graphs as SPINE's JSON files, read and written without loss.

    {"objects": [{"name": "bench_1", "coords": [18, 8], "description": "made of wood"}],
     "regions": [{"name": "grove_1", "coords": [18, 6]}],
     "object_connections": [["bench_1", "grove_1"]],
     "region_connections": [],
     "robot_location": "grove_1"}

The paper's words `object_edges` and `region_edges` (appendix C.3) are read too. Any further key of a
node is an attribute; a value that is not text is kept as `json:KEY` with the value's JSON as text,
and written back as that value.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from prism_planner.graph.delta import JSON_PREFIX, Edge, GraphDelta, Node, NodeKind
from prism_planner.graph.durable import write_atomically
from prism_planner.graph.scene_graph import SceneGraph

MAX_FILE_BYTES = 256 * 1024 * 1024

_ALIASES = {"object_edges": "object_connections", "region_edges": "region_connections"}
_KEYS = ("objects", "regions", "object_connections", "region_connections", "robot_location")
_TASK_KEYS = ("task", "answer", "init_node", "acceptance_criterion")
# An attribute called like one of a node's own keys is written with this before its key.
_ESCAPE = "attribute:"
_NODE_KEYS = ("name", "coords")


class GraphFormatError(ValueError):
    """A file is not what it should be; the message names file, field and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTask:
    """One task of a PRISM-style task file.

    answer: a regular expression that a right answer matches. init_node: the region where the robot
    starts. acceptance_criterion: as in the file, None when absent. extra: the entry's further keys.
    """

    task: str
    answer: str
    init_node: str
    acceptance_criterion: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A graph and tasks to do in it."""

    graph: SceneGraph
    tasks: tuple[GraphTask, ...]


def load_file(path: str | Path) -> SceneGraph:
    """Read a graph file. Raises GraphFormatError."""
    return loads(_read(Path(path)), source=str(path))


def load_task_file(path: str | Path) -> TaskFile:
    """Read a file `{"graph": {...}, "tasks": [{"task", "answer", "init_node",
    "acceptance_criterion"?}]}`. Raises GraphFormatError."""
    reader = _Reader(str(path))
    data = reader.typed(reader.parse(_read(Path(path))), "the file", dict, "an object with graph and tasks")
    for key in ("graph", "tasks"):
        if key not in data:
            reader.fail(key, 'is missing: expected {"graph": {...}, "tasks": [...]}')
    graph = reader.graph(data["graph"], "graph.")
    nodes = {name: graph.node(name) for name in graph}
    entries = reader.typed(data["tasks"], "tasks", list, "a list of tasks")
    tasks = tuple(reader.task(entry, f"tasks[{i}]", nodes) for i, entry in enumerate(entries))
    return TaskFile(graph=graph, tasks=tasks)


def save_file(graph: SceneGraph, path: str | Path) -> None:
    """Write a graph file, atomically and durably. Raises GraphFormatError when that is impossible."""
    try:
        write_atomically(Path(path), [dumps(graph).encode(), b"\n"])
    except OSError as error:
        raise GraphFormatError(f"{path}: cannot be written: {error.strerror}") from error


def loads(text: str | bytes, *, source: str = "<text>") -> SceneGraph:
    """Read a graph; `source` is what error messages call the text. Raises GraphFormatError."""
    reader = _Reader(source)
    return reader.graph(reader.parse(text), "")


def dumps(graph: SceneGraph) -> str:
    """A graph as SPINE's JSON, one line per node or connection; `loads` gives an equal graph."""
    lists: dict[str, Iterable[Any]] = {
        "objects": map(_node_to_json, map(graph.node, graph.objects)),
        "regions": map(_node_to_json, map(graph.node, graph.regions)),
        "object_connections": map(list, graph.object_connections),
        "region_connections": map(list, graph.region_connections),
    }
    members = [f"{json.dumps(key)}: {_json_list(values)}" for key, values in lists.items()]
    members.append(f'"robot_location": {_dump(graph.robot_location)}')
    return "{" + ",\n ".join(members) + "}"


def _json_list(values: Iterable[Any]) -> str:
    return "[" + ",\n  ".join(map(_dump, values)) + "]"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _node_to_json(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {"name": node.name, "coords": [_number(v) for v in node.coords]}
    for key, text in node.attributes.items():
        bare = key.removeprefix(JSON_PREFIX)
        if bare != key and _is_free(bare, node.attributes) and _is_written_as(bare, key, text):
            data[bare] = _parse_json(text)
        else:
            data[_ESCAPE + key if _needs_escape(key) else key] = text
    return data


def _attribute(key: str, value: Any) -> tuple[str, str]:
    """The attribute that keeps a node's further member: the inverse of what `_node_to_json` writes."""
    escaped = key.removeprefix(_ESCAPE)
    if isinstance(value, str) and escaped != key and _needs_escape(escaped):
        return escaped, value
    if isinstance(value, str) and not key.startswith(JSON_PREFIX):
        return key, value
    return JSON_PREFIX + key, _dump(value)


def _is_free(key: str, attributes: Mapping[str, str]) -> bool:
    """Whether no attribute that is text is written under this key."""
    if key.startswith(JSON_PREFIX):
        return True
    return key not in attributes and not _needs_escape(key)


def _needs_escape(key: str) -> bool:
    while key.startswith(_ESCAPE):
        key = key.removeprefix(_ESCAPE)
    return key in _NODE_KEYS or key.startswith(JSON_PREFIX)


def _number(value: float) -> float | int:
    """`18`, not `18.0`, as people write it; -0.0 and what no integer type holds stay floats."""
    exact_integer = (
        value.is_integer() and abs(value) < 2**53 and not (value == 0 and math.copysign(1, value) < 0)
    )
    return int(value) if exact_integer else value


def _is_written_as(member: str, key: str, text: str) -> bool:
    """Whether a node's member would be kept as just this attribute, so that writing it loses nothing."""
    try:
        return _attribute(member, _parse_json(text)) == (key, text)
    except (ValueError, RecursionError):
        return False


def _parse_json(text: str) -> Any:
    return json.loads(text, parse_int=_integer, object_pairs_hook=_unique)


def _integer(digits: str) -> int:
    if len(digits) > 4000:
        raise ValueError(f"an integer has {len(digits)} digits: at most 4000 can be read")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object: keep one")
    return data


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise GraphFormatError(
                f"{path}: has {size / 2**20:.0f} MiB; a graph file has at most {MAX_FILE_BYTES >> 20}"
            )
        return path.read_bytes()
    except OSError as error:
        raise GraphFormatError(f"{path}: cannot be read: {error.strerror}") from error


class _Reader:
    """Checks one file's data; every error names the file and the field."""

    def __init__(self, source: str) -> None:
        self.source = source

    def fail(self, where: str, problem: str) -> NoReturn:
        raise GraphFormatError(f"{self.source}: {where}: {problem}")

    def parse(self, text: str | bytes) -> Any:
        try:
            return _parse_json(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
        except UnicodeDecodeError as error:
            self.fail(f"byte {error.start}", "is not UTF-8: save the file as UTF-8")
        except json.JSONDecodeError as error:
            self.fail(f"line {error.lineno}, column {error.colno}", f"is not JSON: {error.msg}")
        except ValueError as error:
            self.fail("not JSON", str(error))
        except RecursionError:
            self.fail("not a graph", "the JSON is nested too deeply")

    def typed(self, value: Any, where: str, kind: type, expected: str) -> Any:
        if not isinstance(value, kind):
            self.fail(where, f"expected {expected}, not {_short(value)}")
        return value

    def graph(self, value: Any, prefix: str) -> SceneGraph:
        try:
            return self._graph(value, prefix)
        except RecursionError:
            self.fail(prefix or "the file", "the JSON is nested too deeply")

    def _graph(self, value: Any, prefix: str) -> SceneGraph:
        data = self._members(value, prefix)
        nodes: dict[str, Node] = {}
        kinds_of_lists: tuple[tuple[str, NodeKind], ...] = (("regions", "region"), ("objects", "object"))
        for key, kind in kinds_of_lists:
            entries = self.typed(data.get(key, []), prefix + key, list, f"a list of {key}")
            for i, node in enumerate(self._nodes(entries, prefix + key, kind)):
                if node.name in nodes:
                    self.fail(
                        f"{prefix}{key}[{i}].name", f"the name {node.name!r} is used twice: names must differ"
                    )
                nodes[node.name] = node
        edges: list[Edge] = []
        for key, kinds in (
            ("region_connections", ("region", "region")),
            ("object_connections", ("object", "region")),
        ):
            pairs = self.typed(
                data.get(key, []), prefix + key, list, f"a list of [{kinds[0]}, {kinds[1]}] pairs"
            )
            for i, pair in enumerate(pairs):
                edges.append(self._edge(pair, f"{prefix}{key}[{i}]", kinds, nodes))
        robot = data.get("robot_location")
        if robot is not None:
            self._known(robot, f"{prefix}robot_location", "region", nodes)
        delta = GraphDelta.model_construct(
            add_nodes=tuple(nodes.values()), add_connections=tuple(edges), update_robot_location=robot
        )
        return SceneGraph.from_deltas([delta])

    def task(self, value: Any, where: str, nodes: dict[str, Node]) -> GraphTask:
        data = self.typed(value, where, dict, "an object with task, answer and init_node")
        for key in ("task", "answer", "init_node"):
            if key not in data:
                self.fail(f"{where}.{key}", "is missing")
            self.typed(data[key], f"{where}.{key}", str, "text")
        if not data["task"].strip():
            self.fail(f"{where}.task", "is empty")
        try:
            re.compile(data["answer"])
        except (re.error, RecursionError, OverflowError) as error:
            self.fail(f"{where}.answer", f"is not a regular expression: {error}")
        self._known(data["init_node"], f"{where}.init_node", "region", nodes)
        return GraphTask(
            task=data["task"],
            answer=data["answer"],
            init_node=data["init_node"],
            acceptance_criterion=data.get("acceptance_criterion"),
            extra={key: value for key, value in data.items() if key not in _TASK_KEYS},
        )

    def _members(self, value: Any, prefix: str) -> dict[str, Any]:
        whole = prefix.rstrip(".") or "the file"
        data: dict[str, Any] = {}
        for key, member in self.typed(value, whole, dict, "an object with regions and objects").items():
            name = _ALIASES.get(key, key)
            if name not in _KEYS:
                close = difflib.get_close_matches(key, [*_KEYS, *_ALIASES], n=1)
                self.fail(
                    prefix + key, f"is not a key of a graph: {_did_you_mean(close) or ', '.join(_KEYS)}"
                )
            if name in data:
                self.fail(prefix + key, f"{name} is given under both its names: keep one")
            data[name] = member
        if "regions" not in data:
            self.fail(f"{prefix}regions", "is missing: a graph has a list of regions")
        return data

    def _nodes(self, entries: list[Any], where: str, kind: NodeKind) -> Iterator[Node]:
        for i, entry in enumerate(entries):
            at = f"{where}[{i}]"
            data = self.typed(entry, at, dict, 'an object such as {"name": "road_1", "coords": [0, 0]}')
            for key in _NODE_KEYS:
                if key not in data:
                    self.fail(f"{at}.{key}", "is missing")
            name = self.typed(data["name"], f"{at}.name", str, "text")
            coords = self._coords(data["coords"], f"{at}.coords")
            try:
                node = Node(name=name, kind=kind, coords=coords, attributes=self._attributes(data, at))
            except ValidationError as error:
                first = error.errors()[0]
                path = ".".join(map(str, first["loc"]))
                self.fail(f"{at}.{path}", first["msg"].removeprefix("Value error, "))
            if (written := _node_to_json(node)) != data:
                lost = next(key for key in data if key not in written or written[key] != data[key])
                self.fail(f"{at}.{lost}", "cannot be kept exactly: round the number or rename the key")
            yield node

    def _coords(self, value: Any, where: str) -> tuple[float, float]:
        pair = self.typed(value, where, list, "[x, y] in metres")
        if len(pair) != 2:
            self.fail(where, f"expected [x, y] in metres, not {len(pair)} values")
        for i, v in enumerate(pair):
            if isinstance(v, bool) or not isinstance(v, int | float):
                self.fail(f"{where}[{i}]", f"expected a number of metres, not {_short(v)}")
            try:
                finite = math.isfinite(float(v))
            except OverflowError:
                finite = False
            if not finite:
                self.fail(f"{where}[{i}]", f"expected a finite number of metres, not {_short(v)}")
        return float(pair[0]), float(pair[1])

    def _attributes(self, data: dict[str, Any], where: str) -> dict[str, str]:
        attributes: dict[str, str] = {}
        for key, value in data.items():
            if key in _NODE_KEYS:
                continue
            try:
                attribute, text = _attribute(key, value)
                (attribute + text).encode()
            except UnicodeEncodeError:
                self.fail(f"{where}.{key!a}", "holds half of a surrogate pair, which is not text: remove it")
            except ValueError:
                self.fail(f"{where}.{key}", "expected finite numbers, not NaN or infinity")
            attributes[attribute] = text
        return attributes

    def _edge(self, value: Any, where: str, kinds: tuple[str, str], nodes: dict[str, Node]) -> Edge:
        pair = self.typed(value, where, list, f"a [{kinds[0]}, {kinds[1]}] pair")
        if len(pair) != 2:
            self.fail(where, f"expected a [{kinds[0]}, {kinds[1]}] pair, not {len(pair)} values")
        for i, (name, kind) in enumerate(zip(pair, kinds, strict=True)):
            self._known(name, f"{where}[{i}]", kind, nodes)
        if pair[0] == pair[1]:
            self.fail(where, f"{pair[0]!r} is connected to itself: remove the pair")
        return pair[0], pair[1]

    def _known(self, name: Any, where: str, kind: str, nodes: dict[str, Node]) -> None:
        node = nodes.get(self.typed(name, where, str, f"the name of one of the {kind}s"))
        if node is None:
            of_kind = [known for known, other in nodes.items() if other.kind == kind]
            close = difflib.get_close_matches(name[:100], of_kind, n=3)
            self.fail(where, f"there is no {kind} {_short(name)}: {_did_you_mean(close) or 'add it'}")
        if node.kind != kind:
            self.fail(where, f"{name!r} is one of the {node.kind}s: expected one of the {kind}s")


def _did_you_mean(close: list[str]) -> str:
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def _short(value: Any) -> str:
    if isinstance(value, int) and not -(10**30) < value < 10**30:
        return "a number that large"
    text = repr(value) if isinstance(value, str | int | float | bool | None) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
