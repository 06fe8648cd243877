"""The model reads the scene graph while the robot waits for a task, so that the first plan comes sooner."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.runtime import Worker

# A graph that still changes would have to be read again.
_STILL_S = 1.0


class Prefetcher:
    """Has every new state of the graph read once, in the worker. For the executor's thread."""

    def __init__(
        self,
        node: Node,
        *,
        worker: Worker,
        graph: SceneGraphClient,
        read: Callable[[SceneGraph, CancelToken], None],
    ) -> None:
        """read: lets the model read a graph; raises Cancelled soon after the token is cancelled."""
        self._node = node
        self._worker = worker
        self._graph = graph
        self._read = read
        self._running: CancelToken | None = None
        self._done = 0
        self._latest = 0
        self._since = 0.0

    async def poll(self) -> None:
        """Start reading if it is time to. To be called a few times a second while nothing else is to do."""
        revision, now = self._graph.revision, time.monotonic()
        if revision != self._latest:
            self._latest, self._since = revision, now
        if self._running is not None or revision in (0, self._done) or now - self._since < _STILL_S:
            return
        cancel = self._running = CancelToken()
        try:
            await self._worker.run(lambda: self._run(cancel))
        except Cancelled:
            return
        except Exception as error:  # a task will meet the same, and report it
            self._node.get_logger().debug(f"the graph could not be read ahead: {error!r}")
        finally:
            self._running = None
        if not cancel.cancelled:
            self._done = revision

    def stop(self) -> None:
        """Leave the worker to others at once; what they do may make the model forget what it has read."""
        self._done = 0
        if self._running is not None:
            self._running.cancel()

    def _run(self, cancel: CancelToken) -> None:
        """In the worker thread."""
        graph = self._graph.snapshot()
        if graph is not None:
            self._read(graph, cancel)
