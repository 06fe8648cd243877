"""The node that owns the scene graph: changes, detections and the robot's location go through it.

A change is published and acknowledged only after it is in the journal, so a restart loses nothing.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Literal

from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from pydantic import Field, ValidationError
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from prism_msgs.msg import DetectionArray
from prism_msgs.msg import SceneGraph as SceneGraphMsg
from prism_msgs.msg import SceneGraphDelta as SceneGraphDeltaMsg
from prism_msgs.srv import GetSceneGraph, LoadSceneGraph, SaveSceneGraph, UpdateSceneGraph
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.journal import JournalError
from prism_planner.graph.scene_graph import GraphError, SceneGraph
from prism_planner.graph.spine_json import GraphFormatError, save_file
from prism_planner.nodes.association import Association, Sighting
from prism_planner.nodes.conversions import (
    InvalidMessageError,
    attributes_from_msg,
    delta_from_msg,
    delta_to_msg,
    graph_to_msg,
)
from prism_planner.nodes.diagnostics import Diagnostics, report_parameters
from prism_planner.nodes.frames import Frames, UnknownFrameError
from prism_planner.nodes.graph_store import GraphStore, read_graph
from prism_planner.nodes.localization import region_at
from prism_planner.nodes.markers import GraphMarkers
from prism_planner.nodes.pace import Pace
from prism_planner.nodes.parameters import NodeParameters, declare_parameters, unknown_parameters
from prism_planner.nodes.qos import LATCHED, SENSOR, UPDATES
from prism_planner.nodes.runtime import notify_ready, run_node

_TICK_S = 0.1
_THROTTLE_S = 5.0


class SceneGraphParameters(NodeParameters):
    """Parameters of `scene_graph_server`."""

    journal_directory: str = Field(
        "", description="Directory of the journal; created if missing. Empty: the graph is not kept on disk."
    )
    journal_sync: Literal["each", "os"] = Field(
        "each",
        description="When a change counts as stored: after the disk has it (each), or once the operating "
        "system has it (os), which a power failure can lose.",
    )
    salvage_journal: bool = Field(
        False, description="Go on from the readable part of a damaged journal; the damaged files are kept."
    )
    initial_graph: str = Field(
        "", description="File to load when the journal is empty: SPINE's JSON, or a scenario. Empty: none."
    )
    graph_directory: str = Field(
        "", description="Where relative paths of save_scene_graph and load_scene_graph start. Empty: home."
    )
    publish_period: float = Field(
        1.0, ge=0.1, le=60.0, description="Shortest time between two whole graphs on `scene_graph`, seconds."
    )
    association_radius: float = Field(
        1.5,
        gt=0.0,
        le=100.0,
        description="Detections of one category closer than this are the same object, metres.",
    )
    min_score: float = Field(0.3, ge=0.0, le=1.0, description="Detections with a lower score are ignored.")
    max_nodes: int = Field(
        20000, ge=1, le=1000000, description="Detections add no objects to a graph that has this many nodes."
    )
    region_hysteresis: float = Field(
        0.5,
        ge=0.0,
        le=100.0,
        description="The robot changes region when another is nearer by this much, metres.",
    )
    odom_frame: str = Field("odom", description="Frame of the odometry; counts as map where tf2 is missing.")
    base_frame: str = Field("base_link", description="Frame of the robot, for detections relative to it.")


class SceneGraphServer:
    """Translates between messages and the `GraphStore`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._parameters = declare_parameters(node, SceneGraphParameters)
        self._diagnostics = Diagnostics(node)
        self._store = self._open()
        self._association = Association(self._store.graph, radius_m=self._parameters.association_radius)
        self._frames = Frames(
            node, base_frame=self._parameters.base_frame, odom_frame=self._parameters.odom_frame
        )
        self._markers = GraphMarkers()
        self._rejected = 0
        self._graph_pace = Pace(self._parameters.publish_period)
        self._markers_pace = Pace(self._parameters.publish_period)

        self._graphs = node.create_publisher(SceneGraphMsg, "scene_graph", LATCHED)
        self._deltas = node.create_publisher(SceneGraphDeltaMsg, "scene_graph_updates", UPDATES)
        self._drawings = node.create_publisher(MarkerArray, "scene_graph_markers", LATCHED)
        node.create_service(GetSceneGraph, "get_scene_graph", self._on_get)
        node.create_service(UpdateSceneGraph, "update_scene_graph", self._on_update)
        node.create_service(SaveSceneGraph, "save_scene_graph", self._on_save)
        node.create_service(LoadSceneGraph, "load_scene_graph", self._on_load)
        node.create_subscription(DetectionArray, "detections", self._on_detections, SENSOR)
        node.create_subscription(Odometry, "odom", self._on_odometry, SENSOR)
        node.create_timer(_TICK_S, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

        report_parameters(node, self._diagnostics, unknown_parameters(node))
        self._diagnostics.set("detections", "OK", "none was rejected", rejected=0)
        self._load_initial()
        self._on_tick()
        node.get_logger().info(f"ready with {self._store.graph!r}")
        notify_ready()

    def finish(self) -> None:
        """Nothing here takes long."""

    def close(self) -> None:
        self._store.close()

    # Changes

    def _open(self) -> GraphStore:
        """The store. Without a usable journal the node is up, but refuses every change."""
        parameters = self._parameters
        directory = Path(parameters.journal_directory).expanduser() if parameters.journal_directory else None
        self._unusable = ""
        try:
            store = GraphStore(directory, sync=parameters.journal_sync, salvage=parameters.salvage_journal)
        except JournalError as error:
            self._unusable = str(error)
            self._node.get_logger().error(f"no change is accepted: {error}")
            self._diagnostics.set("journal", "ERROR", f"no change is accepted: {error}")
            return GraphStore(None)
        kept = f"journal in {directory}" if directory else "the graph is not kept on disk"
        self._diagnostics.set("journal", "OK" if directory else "WARN", kept)
        return store

    def _apply(self, delta: GraphDelta) -> int:
        """Store, apply and publish a change. Raises GraphError and JournalError."""
        if not delta:
            return self._store.graph.revision
        if self._unusable:
            raise JournalError(self._unusable)
        try:
            revision = self._store.apply(delta)
        except JournalError as error:
            self._diagnostics.set("journal", "ERROR", str(error))
            raise
        self._association.follow(delta)
        self._deltas.publish(
            delta_to_msg(delta, revision=revision, history_id=self._store.history_id, stamp=self._now())
        )
        now = time.monotonic()
        self._graph_pace.change(now)
        self._markers_pace.change(now)
        return revision

    def _load_initial(self) -> None:
        path = self._parameters.initial_graph
        if path and self._store.graph.revision == 0:
            try:
                self._apply(read_graph(Path(path).expanduser()).as_delta())
            except (ValueError, JournalError) as error:
                self._node.get_logger().error(f"initial_graph: {error}")
                self._diagnostics.set("initial graph", "ERROR", str(error))

    # Services

    def _on_get(self, _: GetSceneGraph.Request, response: GetSceneGraph.Response) -> GetSceneGraph.Response:
        response.graph = self._whole()
        return response

    def _on_update(
        self, request: UpdateSceneGraph.Request, response: UpdateSceneGraph.Response
    ) -> UpdateSceneGraph.Response:
        revision = self._store.graph.revision
        if request.expected_revision not in (0, revision):
            response.code = response.STALE
            response.message = (
                f"the graph is at revision {revision}, not {request.expected_revision}: read it again"
            )
        else:
            try:
                self._apply(delta_from_msg(request.delta))
            except (GraphError, InvalidMessageError) as error:
                response.code, response.message = response.INVALID_DELTA, str(error)
            except JournalError as error:
                response.code, response.message = response.JOURNAL_FAILED, str(error)
        response.revision = self._store.graph.revision
        return response

    def _on_save(
        self, request: SaveSceneGraph.Request, response: SaveSceneGraph.Response
    ) -> SaveSceneGraph.Response:
        path = self._path(request.path)
        response.path = str(path)
        response.revision = self._store.graph.revision
        if not request.path or path.suffix != ".json":
            response.code = response.INVALID_PATH
            response.message = f"{request.path!r} is not the path of a file that ends with .json"
        elif path.exists() and not request.overwrite:
            response.code = response.INVALID_PATH
            response.message = f"{path} exists; set overwrite, or choose another name"
        else:
            try:
                save_file(self._store.graph, path)
            except GraphFormatError as error:
                response.code, response.message = response.WRITE_FAILED, str(error)
        return response

    def _on_load(
        self, request: LoadSceneGraph.Request, response: LoadSceneGraph.Response
    ) -> LoadSceneGraph.Response:
        try:
            self._apply(read_graph(self._path(request.path)).diff(self._store.graph))
        except JournalError as error:
            response.code, response.message = response.JOURNAL_FAILED, str(error)
        except ValueError as error:  # of the file's format, or a GraphError
            response.code, response.message = response.INVALID_FILE, str(error)
        response.revision = self._store.graph.revision
        return response

    def _path(self, given: str) -> Path:
        return Path(self._parameters.graph_directory or Path.home()).expanduser() / Path(given).expanduser()

    # Sensors

    def _on_detections(self, message: DetectionArray) -> None:
        sightings = []
        for detection in message.detections:
            if detection.score < self._parameters.min_score:
                continue
            try:
                x, y = self._frames.to_map(
                    message.header.frame_id, detection.position.x, detection.position.y
                )
            except UnknownFrameError as error:
                self._reject(str(error))
                continue
            if not detection.category.strip() and not detection.name:
                self._reject("a detection with neither category nor name")
                continue
            sightings.append(
                Sighting(
                    category=" ".join(detection.category.split()),
                    x=x,
                    y=y,
                    name=detection.name,
                    attributes=attributes_from_msg(detection.attributes),
                )
            )
        for sighting in sightings:
            self._take_in(sighting)

    def _take_in(self, sighting: Sighting) -> None:
        """One at a time: what is wrong with one detection must not cost the others."""
        try:
            delta = self._association.delta([sighting])
            if delta.add_nodes and len(self._store.graph) >= self._parameters.max_nodes:
                self._reject(f"the graph has {len(self._store.graph)} nodes, the parameter max_nodes")
                return
            self._apply(delta)
        except ValidationError as error:
            self._reject(f"{sighting.name[:80]!r}: {error.errors()[0]['msg']}")
        except (GraphError, JournalError) as error:
            self._reject(str(error))

    def _reject(self, reason: str) -> None:
        self._rejected += 1
        self._node.get_logger().warning(f"detection rejected: {reason}", throttle_duration_sec=_THROTTLE_S)
        self._diagnostics.set("detections", "WARN", f"last rejected: {reason}", rejected=self._rejected)

    def _on_odometry(self, message: Odometry) -> None:
        graph = self._store.graph
        try:
            pose = self._frames.on_odometry(message)
        except UnknownFrameError as error:
            self._node.get_logger().warning(f"odometry ignored: {error}", throttle_duration_sec=_THROTTLE_S)
            self._diagnostics.set("odometry", "WARN", f"ignored: {error}")
            return
        region = region_at(graph, pose.x, pose.y, hysteresis_m=self._parameters.region_hysteresis)
        if region is not None and region != graph.robot_location:
            try:
                self._apply(GraphDelta(update_robot_location=region))
            except (GraphError, JournalError) as error:
                self._node.get_logger().error(
                    f"the robot's location could not be stored: {error}", throttle_duration_sec=_THROTTLE_S
                )

    # Publishing

    def _on_tick(self) -> None:
        """At most one of the two, so that what came in meanwhile is not kept waiting for both."""
        now = time.monotonic()
        if self._graph_pace.due(now):
            self._graphs.publish(self._whole())
            self._graph_pace.publish(now, time.monotonic())
        elif self._markers_pace.due(now) and self._drawings.get_subscription_count():
            self._drawings.publish(self._markers.draw(self._store.graph, self._now()))
            self._markers_pace.publish(now, time.monotonic())

    def _whole(self) -> SceneGraphMsg:
        graph: SceneGraph = self._store.graph
        return graph_to_msg(graph, history_id=self._store.history_id, stamp=self._now())

    def _now(self) -> Time:
        return self._node.get_clock().now().to_msg()


def main() -> None:
    """Entry point of the executable `scene_graph_server`."""
    sys.exit(run_node("scene_graph_server", SceneGraphServer))


if __name__ == "__main__":
    main()
