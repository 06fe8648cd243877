"""Scene graph and plans as markers for RViz.

Every marker keeps its namespace and id from one message to the next, lives for ever and is replaced
in place, so nothing flickers. Nodes of a kind share one SPHERE_LIST, connections one LINE_LIST.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.conversions import MAP_FRAME

_REGION = ColorRGBA(r=0.20, g=0.45, b=0.85, a=1.0)
_OBJECT = ColorRGBA(r=0.95, g=0.60, b=0.15, a=1.0)
_PATH = ColorRGBA(r=0.55, g=0.60, b=0.70, a=0.8)
_VIEW = ColorRGBA(r=0.95, g=0.75, b=0.45, a=0.5)
_TEXT = ColorRGBA(r=0.95, g=0.95, b=0.95, a=1.0)
_ROBOT = ColorRGBA(r=0.20, g=0.80, b=0.35, a=0.5)
_PLAN = ColorRGBA(r=0.85, g=0.25, b=0.55, a=0.9)


class GraphMarkers:
    """Draws a scene graph again and again.

    Remembers the labels it has drawn, to delete those that go, and since there may be thousands.
    """

    def __init__(self, *, region_size_m: float = 1.0, object_size_m: float = 0.5) -> None:
        self._region_size = region_size_m
        self._object_size = object_size_m
        self._labels: dict[str, Marker] = {}
        self._next_label = 0
        self._header = Header(frame_id=MAP_FRAME)  # of all labels

    def draw(self, graph: SceneGraph, stamp: Time) -> MarkerArray:
        regions = {name: graph.node(name).coords for name in graph.regions}
        objects = {name: graph.node(name).coords for name in graph.objects}
        at = regions | objects
        markers = [
            _points("regions", regions.values(), self._region_size, _REGION, stamp),
            _points("objects", objects.values(), self._object_size, _OBJECT, stamp),
            _lines("paths", [(at[a], at[b]) for a, b in graph.region_connections], 0.08, _PATH, stamp),
            _lines("views", [(at[a], at[b]) for a, b in graph.object_connections], 0.04, _VIEW, stamp),
        ]
        here = [] if graph.robot_location is None else [at[graph.robot_location]]
        markers.append(_points("robot", here, 1.8 * self._region_size, _ROBOT, stamp))
        markers += self._draw_labels(at, stamp)
        return MarkerArray(markers=markers)

    def _draw_labels(self, at: dict[str, tuple[float, float]], stamp: Time) -> list[Marker]:
        self._header.stamp = stamp
        gone = []
        for name in [name for name in self._labels if name not in at]:
            gone.append(_marker("labels", self._labels.pop(name).id, Marker.TEXT_VIEW_FACING, stamp))
            gone[-1].action = Marker.DELETE
        for name, (x, y) in at.items():
            label = self._labels.get(name)
            if label is None:
                label = self._labels[name] = self._new_label(name)
            label.pose.position.x, label.pose.position.y = x, y
        return gone + [self._labels[name] for name in at]

    def _new_label(self, name: str) -> Marker:
        label = Marker(header=self._header, ns="labels", id=self._next_label, type=Marker.TEXT_VIEW_FACING)
        self._next_label += 1
        label.text = name
        label.pose.orientation.w = 1.0
        label.pose.position.z = self._region_size
        label.scale = Vector3(z=0.6 * self._region_size)
        label.color = _TEXT
        return label


def plan_markers(points: Sequence[tuple[float, float]], labels: Sequence[str], stamp: Time) -> MarkerArray:
    """Where a plan goes, in order: a line through `points` (metres, `map`), a label at each.

    A shorter plan than before leaves no old labels: they are all replaced.
    """
    wipe = _marker("plan", 0, Marker.LINE_STRIP, stamp)
    wipe.action = Marker.DELETEALL
    path = _marker("plan", 0, Marker.LINE_STRIP, stamp)
    path.points = [Point(x=x, y=y, z=0.3) for x, y in points]
    path.scale = Vector3(x=0.15)
    path.color = _PLAN
    markers = [wipe]
    if len(points) > 1:
        markers.append(path)
    for number, ((x, y), text) in enumerate(zip(points, labels, strict=True)):
        label = _marker("plan_steps", number, Marker.TEXT_VIEW_FACING, stamp)
        label.text = text
        label.pose.position = Point(x=x, y=y, z=1.6)
        label.scale = Vector3(z=0.7)
        label.color = _PLAN
        markers.append(label)
    return MarkerArray(markers=markers)


def _marker(namespace: str, number: int, kind: int, stamp: Time) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = MAP_FRAME
    marker.header.stamp = stamp
    marker.pose.orientation.w = 1.0
    return marker


def _points(
    namespace: str, points: Iterable[tuple[float, float]], size_m: float, color: ColorRGBA, stamp: Time
) -> Marker:
    marker = _marker(namespace, 0, Marker.SPHERE_LIST, stamp)
    marker.points = [Point(x=x, y=y) for x, y in points]
    marker.scale = Vector3(x=size_m, y=size_m, z=size_m)
    marker.color = color
    if not marker.points:
        marker.action = Marker.DELETE  # RViz warns about empty lists
    return marker


def _lines(
    namespace: str,
    segments: Sequence[tuple[tuple[float, float], tuple[float, float]]],
    width_m: float,
    color: ColorRGBA,
    stamp: Time,
) -> Marker:
    marker = _marker(namespace, 0, Marker.LINE_LIST, stamp)
    marker.points = [Point(x=x, y=y) for segment in segments for x, y in segment]
    marker.scale = Vector3(x=width_m)
    marker.color = color
    if not marker.points:
        marker.action = Marker.DELETE
    return marker
