"""A scene graph as text for a language model, with as few tokens as it takes.

    robot: road_1
    regions: road_1 (0,0) grove_1 (18,6)
    paths: road_1-grove_1
    objects: bench_1 (18,8) tree_1 (20,9) @grove_1
    facts: bench_1 occupied=no; shade=under a large oak

`@` gives the regions from which the objects before it are seen, back to the `@` before that; `@-` is
nowhere. Coordinates are whole metres in the `map` frame: a small model pays a token for every digit.
Lines without content are left out. Attribute values come from the world (a sign that a camera reads, a
file from somebody else), so they are cleaned: they cannot start a line, a fact or a chat turn.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from prism_planner.graph.delta import JSON_PREFIX, Edge, GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph

MAX_VALUE_LENGTH = 120
MAX_KEY_LENGTH = 32

# A name with a space or a dash in it would blur into its neighbours.
_PLAIN_NAME = re.compile(r"[\w.]+")
# What opens a special token in some chat template: <|im_start|>, <s>, <0x0A>, but not "< 5 m" or "<=".
_MARKER = re.compile(r"<(?![\s=1-9])")
_NOWHERE = "-"
_TRAILING_NUMBER = re.compile(r"[_ ]?\d+$")
_STRUCTURE = str.maketrans("[]{}|;", "()()/,")


def describe(graph: SceneGraph, *, budget: int | None = None, focus: Collection[str] = ()) -> str:
    """The whole graph, or what matters most of it in at most `budget` characters.

    Under a budget the robot's region comes first, then `focus` (unknown names are ignored), then
    what is nearest to the robot by path; a last line says how much is not shown. The robot's line
    and that last line are always there, even under a budget too small for them.
    """
    style = _Style.of(graph)
    names = sum(map(len, graph))
    if budget is None or names <= budget:  # otherwise it cannot fit, and is not worth writing out
        text = "\n".join([_robot_line(graph), *_body(graph, graph.regions, graph.objects, style)])
        if budget is None or len(text) <= budget:
            return text
    shown = _select(graph, budget, focus, style)
    regions = [name for name in graph.regions if name in shown]
    objects = [name for name in graph.objects if name in shown]
    hidden = _hidden_line(len(graph.regions) - len(regions), len(graph.objects) - len(objects))
    return "\n".join([_robot_line(graph), *_body(graph, regions, objects, style), hidden])


def describe_delta(delta: GraphDelta, graph: SceneGraph) -> str:
    """What a delta changed; `graph` is the graph after it. Empty when nothing changed."""
    style = _Style.of(node.name for node in delta.add_nodes)
    style = style if style is not _PLAIN else _Style.of(_edge_names(delta))
    added = {node.name: node for node in delta.add_nodes}
    regions = [node for node in delta.add_nodes if node.kind == "region"]
    objects = [node for node in delta.add_nodes if node.kind == "object"]
    paths, sightings = _split_edges(delta.add_connections, graph)
    closed, lost = _split_edges(delta.remove_connections, graph)
    facts = {node.name: dict(node.attributes) for node in delta.add_nodes}
    for name, attributes in delta.update_node_attributes.items():
        facts[name] = facts.get(name, {}) | attributes
    return "\n".join(
        line
        for line in (
            _line("new regions", map(_place, regions), style),
            _line("new paths", map(style.path, paths), style),
            _line("new objects", _sighted((node, graph.seen_from(node.name)) for node in objects), style),
            _line("seen", (f"{o} @{r}" for o, r in sightings if o not in added), style),
            _line("gone", (name for name in delta.remove_nodes if name not in graph), style),
            _line("gone paths", map(style.path, closed), style),
            _line("not seen", (f"{o} @{r}" for o, r in lost), style),
            _facts_line(facts),
            f"robot: {delta.update_robot_location}" if delta.update_robot_location else "",
        )
        if line
    )


def clean(text: str, limit: int = MAX_VALUE_LENGTH) -> str:
    """Text from the world as one harmless line of at most `limit` characters.

    As `one_line`; what would open another fact is replaced by a harmless look-alike too.
    """
    return one_line(text, limit).translate(_STRUCTURE)


def one_line(text: str, limit: int) -> str:
    """Text as one line of at most `limit` characters.

    Control and invisible characters go, white space is collapsed, and what would open a chat turn is
    replaced by a harmless look-alike.
    """
    visible = "".join(_visible(c) for c in text[: 8 * limit])
    line = _MARKER.sub("(", " ".join(visible.split()))
    return line if len(line) <= limit else line[: limit - 3].rstrip() + "..."


def _visible(c: str) -> str:
    category = unicodedata.category(c)
    if category == "Cc":
        return " "
    return "" if category in ("Cf", "Cs", "Co", "Cn") else c


class _Style:
    """How items and the ends of a path are kept apart."""

    def __init__(self, item: str, ends: str) -> None:
        self.item = item
        self.ends = ends

    @staticmethod
    def of(names: Iterable[str]) -> _Style:
        return _PLAIN if all(map(_PLAIN_NAME.fullmatch, names)) else _SPACED

    def path(self, edge: Edge) -> str:
        return self.ends.join(edge)


_PLAIN = _Style(" ", "-")
_SPACED = _Style(", ", " - ")


def _body(graph: SceneGraph, regions: list[str], objects: list[str], style: _Style) -> list[str]:
    shown = set(regions)
    paths = (edge for edge in graph.region_connections if edge[0] in shown and edge[1] in shown)
    views = ((name, [r for r in graph.seen_from(name) if r in shown]) for name in objects)
    lines = (
        _line("regions", (_place(graph.node(name)) for name in regions), style),
        _line("paths", map(style.path, paths), style),
        _line("objects", _sighted((graph.node(name), seen) for name, seen in views), style),
        _facts_line({name: graph.node(name).attributes for name in (*regions, *objects)}),
    )
    return [line for line in lines if line]


def _select(graph: SceneGraph, budget: int, focus: Collection[str], style: _Style) -> set[str]:
    """The names to show, by relevance, until the budget is spent."""
    left = budget - len(_robot_line(graph)) - len(_hidden_line(len(graph.regions), len(graph.objects))) - 1
    left -= sum(len(f"\n{title}:") for title in ("regions", "paths", "objects", "facts"))
    shown: set[str] = set()
    for name in _by_relevance(graph, focus):
        if name in shown:
            continue
        cost = _cost(graph, name, shown, style)
        if cost <= left:
            left -= cost
            shown.add(name)
        elif cost < budget / 4 or left <= 0:  # spent, unless this one is just unusually long
            break
    return shown


def _cost(graph: SceneGraph, name: str, shown: Collection[str], style: _Style) -> int:
    """The characters that showing one more node adds."""
    node = graph.node(name)
    fact = _fact(name, node.attributes)
    cost = len(" | ") + len(fact) if fact else 0
    if node.kind == "object":
        seen = [region for region in graph.seen_from(name) if region in shown]
        return cost + len(style.item) + len(_place(node)) + len(_view(seen))
    cost += len(style.item) + len(_place(node))
    for other in graph.neighbours(name):
        if other in shown:
            cost += len(style.item) + len(style.path((name, other)))
    sightings = sum(other in shown for other in graph.objects_at(name))
    return cost + sightings * len(f" @{name}")


def _by_relevance(graph: SceneGraph, focus: Collection[str]) -> Iterator[str]:
    robot = graph.robot_location
    if robot is not None:
        yield robot
    for name in focus:
        if name in graph:
            if graph.node(name).kind == "object":
                yield from graph.seen_from(name)[:1]
            yield name
    if robot is not None:
        for region, _ in graph.by_distance(robot):
            yield region
            yield from graph.objects_at(region)
    # What cannot be reached, or is seen from nowhere, comes last.
    for region in graph.regions:
        yield region
        yield from graph.objects_at(region)
    yield from graph.objects


def _split_edges(edges: Iterable[Edge], graph: SceneGraph) -> tuple[list[Edge], list[Edge]]:
    """Region-region pairs, and (object, region) pairs; pairs with a removed node are dropped."""
    paths: list[Edge] = []
    views: list[Edge] = []
    for a, b in edges:
        if a not in graph or b not in graph:
            continue
        if graph.node(a).kind == "object":
            views.append((a, b))
        elif graph.node(b).kind == "object":
            views.append((b, a))
        else:
            paths.append((a, b))
    return paths, views


def _edge_names(delta: GraphDelta) -> Iterator[str]:
    for edge in (*delta.add_connections, *delta.remove_connections):
        yield from edge


def _robot_line(graph: SceneGraph) -> str:
    return f"robot: {graph.robot_location or 'unknown'}"


def _hidden_line(regions: int, objects: int) -> str:
    counts = [
        f"{count} {noun}{'' if count == 1 else 's'}"
        for count, noun in ((regions, "region"), (objects, "object"))
        if count
    ]
    return f"({' and '.join(counts)} not shown)"


def _line(title: str, items: Iterable[str], style: _Style) -> str:
    text = style.item.join(items)
    return f"{title}: {text}" if text else ""


def _facts_line(facts: Mapping[str, Mapping[str, str]]) -> str:
    text = " | ".join(fact for name, attributes in facts.items() if (fact := _fact(name, attributes)))
    return f"facts: {text}" if text else ""


def _fact(name: str, attributes: Mapping[str, str]) -> str:
    pairs = []
    for raw_key, raw_value in attributes.items():
        key, value = (
            clean(raw_key.removeprefix(JSON_PREFIX), MAX_KEY_LENGTH).replace("=", "-"),
            clean(raw_value),
        )
        named_after_it = key == "category" and _spaced(value) == _spaced(_TRAILING_NUMBER.sub("", name))
        if value and not named_after_it:
            pairs.append(f"{key}={value}")
    return f"{name} {'; '.join(pairs)}" if pairs else ""


def _place(node: Node) -> str:
    x, y = map(_metres, node.coords)
    return f"{node.name} ({x},{y})"


def _spaced(text: str) -> str:
    return text.replace("_", " ")


def _sighted(views: Iterable[tuple[Node, Sequence[str]]]) -> Iterator[str]:
    """Objects with the regions they are seen from, said behind the last of those that share them."""
    for seen, group in groupby(views, key=lambda view: view[1]):
        *others, last = (_place(node) for node, _ in group)
        yield from others
        yield last + _view(seen)


def _view(regions: Sequence[str]) -> str:
    return f" @{','.join(regions) or _NOWHERE}"


def _metres(value: float) -> str:
    return str(round(value)) if abs(value) < 1e6 else f"{value:.3g}"
