"""A node's own copy of the scene graph, kept in step with the scene graph server."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from prism_msgs.msg import SceneGraphDelta as SceneGraphDeltaMsg
from prism_msgs.srv import GetSceneGraph, UpdateSceneGraph
from prism_planner.cancellation import CancelToken
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.scene_graph import GraphError, SceneGraph
from prism_planner.nodes.conversions import (
    InvalidMessageError,
    delta_from_msg,
    delta_to_msg,
    graph_from_msg,
)
from prism_planner.nodes.qos import UPDATES
from prism_planner.nodes.runtime import Waited, wait_for

_HOUSEKEEPING_S = 0.25
_SYNC_TIMEOUT_S = 2.0
_UPDATE_TIMEOUT_S = 2.0
_RETRY_PAUSE_S = 0.2
_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """stored: the server has the change in its journal. revision: of its graph then."""

    stored: bool
    revision: int = 0
    message: str = ""


class GraphMirror:
    """Follows a stream of deltas and notices when one is missing. Knows nothing of ROS."""

    def __init__(self) -> None:
        self.graph: SceneGraph | None = None
        self.history_id = ""
        self._announced = 0

    @property
    def behind(self) -> bool:
        """Whether the whole graph is needed to go on."""
        return self.graph is None or self.graph.revision < self._announced

    def replace(self, graph: SceneGraph, history_id: str) -> None:
        """The whole graph. An older state of the same history is ignored."""
        known = self.graph
        if known is not None and history_id == self.history_id and graph.revision < known.revision:
            return
        if history_id != self.history_id:
            self._announced = graph.revision
        self.graph, self.history_id = graph, history_id

    def expect(self, revision: int) -> None:
        """The server is known to have come to `revision`."""
        self._announced = max(self._announced, revision)

    def follow(self, delta: GraphDelta, *, base_revision: int, revision: int, history_id: str) -> None:
        """The next delta of the stream; `behind` tells whether it could be applied."""
        if history_id != self.history_id:
            self.graph, self.history_id, self._announced = None, history_id, revision
            return
        self.expect(revision)
        if self.graph is None or self.graph.revision != base_revision:
            return
        try:
            self.graph.apply(delta)
        except GraphError:
            self.graph = None


class SceneGraphClient:
    """The scene graph as other nodes see it: a mirror that heals itself, and changes that are acknowledged.

    `snapshot`, `wait_for_revision` and `update` are for the worker thread.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._mirror = GraphMirror()
        self._request: Future | None = None
        self._request_time = 0.0
        self._get = node.create_client(GetSceneGraph, "get_scene_graph")
        self._update = node.create_client(UpdateSceneGraph, "update_scene_graph")
        node.create_subscription(SceneGraphDeltaMsg, "scene_graph_updates", self._on_delta, UPDATES)
        node.create_timer(_HOUSEKEEPING_S, self._synchronise, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def revision(self) -> int:
        """The revision of the mirror; 0 before there is one."""
        with self._lock:
            return 0 if self._mirror.graph is None else self._mirror.graph.revision

    def snapshot(self) -> SceneGraph | None:
        """The graph as known now, a copy of the caller's own; None before the server has answered."""
        with self._lock:
            return None if self._mirror.graph is None else self._mirror.graph.copy()

    def wait_for_graph(
        self, timeout_s: float, cancel: CancelToken | None = None, *, located: bool = False
    ) -> SceneGraph | None:
        """The graph, waiting for the server's first answer; None when there was none in time.

        located: wait also until it says where the robot is, which a stack that starts has to find out first.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            graph = self.snapshot()
            if graph is not None and not (located and graph.robot_location is None):
                return graph
            if time.monotonic() >= deadline or (cancel is not None and cancel.cancelled):
                return graph
            time.sleep(_POLL_S)

    def wait_for_revision(self, revision: int, timeout_s: float, cancel: CancelToken | None = None) -> bool:
        """Whether the mirror has come to `revision` within the time."""
        deadline = time.monotonic() + timeout_s
        while True:
            with self._lock:
                graph = self._mirror.graph
                if graph is not None and graph.revision >= revision:
                    return True
                self._mirror.expect(revision)
            if time.monotonic() >= deadline or (cancel is not None and cancel.cancelled):
                return False
            time.sleep(_POLL_S)

    def update(
        self,
        delta: GraphDelta,
        *,
        timeout_s: float,
        expected_revision: int = 0,
        cancel: CancelToken | None = None,
    ) -> UpdateResult:
        """Have the server apply a delta, asking again while it does not answer, until `timeout_s`.

        Asking again is harmless: a delta that only adds says the same twice.
        """
        request = UpdateSceneGraph.Request(
            delta=delta_to_msg(delta, revision=1), expected_revision=expected_revision
        )
        deadline = time.monotonic() + timeout_s
        while True:
            if self._update.service_is_ready():
                future = self._update.call_async(request)
                left = max(0.1, deadline - time.monotonic())
                ended = wait_for(future, timeout_s=min(_UPDATE_TIMEOUT_S, left), cancel=cancel)
                if ended is Waited.DONE:
                    response: Any = future.result()
                    stored = response.code == UpdateSceneGraph.Response.SUCCEEDED
                    return UpdateResult(stored, response.revision, response.message)
                self._update.remove_pending_request(future)
            if cancel is not None and cancel.cancelled:
                return UpdateResult(False, message="cancelled")
            if time.monotonic() >= deadline:
                name = self._update.srv_name
                return UpdateResult(False, message=f"{name} did not answer within {timeout_s:g} s")
            time.sleep(_RETRY_PAUSE_S)

    # In the executor's thread

    def _on_delta(self, message: SceneGraphDeltaMsg) -> None:
        try:
            delta = delta_from_msg(message)
        except InvalidMessageError as error:
            self._node.get_logger().error(f"{self._node.resolve_topic_name('scene_graph_updates')}: {error}")
            return
        with self._lock:
            self._mirror.follow(
                delta,
                base_revision=message.base_revision,
                revision=message.revision,
                history_id=message.history_id,
            )
        self._synchronise()

    def _synchronise(self) -> None:
        """Ask for the whole graph when it is needed and nobody is being asked."""
        with self._lock:
            behind = self._mirror.behind
        if self._request is not None and time.monotonic() - self._request_time > _SYNC_TIMEOUT_S:
            self._get.remove_pending_request(self._request)
            self._request = None
        if behind and self._request is None and self._get.service_is_ready():
            self._request = self._get.call_async(GetSceneGraph.Request())
            self._request_time = time.monotonic()
            self._request.add_done_callback(self._on_whole)

    def _on_whole(self, future: Any) -> None:
        if future is self._request:
            self._request = None
        response = future.result()
        try:
            graph = graph_from_msg(response.graph)
        except (InvalidMessageError, GraphError) as error:
            self._node.get_logger().error(f"{self._get.srv_name}: {error}")
            return
        with self._lock:
            self._mirror.replace(graph, response.graph.history_id)
