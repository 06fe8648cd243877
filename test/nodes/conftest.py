"""Real nodes, real DDS. Every test has a ROS domain, a context and an executor of its own."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from rclpy.action import ActionClient  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402

from prism_planner.nodes.runtime import in_executor  # noqa: E402
from prism_planner.nodes.supervisor import Stack, StackOptions  # noqa: E402

# A road of five regions, 10 m apart, with a side path; what is hidden has to be found.
ROAD = """
format: prism-scenario/1
domain: spine
name: test-road
platform: ugv
world:
  robot: road_1
  regions:
    - {name: road_1, at: [0, 0]}
    - {name: road_2, at: [10, 0]}
    - {name: road_3, at: [20, 0]}
    - {name: road_4, at: [30, 0]}
    - {name: bridge_1, at: [20, 10]}
  objects:
    - {name: tree_1, category: tree, at: [11, 2], seen_from: [road_2]}
    - {name: car_1, category: car, at: [29, 2], seen_from: [road_4], hidden: true}
  edges: [[road_1, road_2], [road_2, road_3], [road_3, road_4], [road_3, bridge_1]]
tasks:
  - instruction: "Map road 4"
    success: [{mapped: road_4}]
"""


class Probe:
    """A node in the test's own process, spun in a thread."""

    def __init__(self, domain_id: int) -> None:
        self.context = Context()
        rclpy.init(
            args=[],
            context=self.context,
            domain_id=domain_id,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.node = Node("probe", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.executor.shutdown()
        self._thread.join(5)
        self.node.destroy_node()
        self.context.try_shutdown()

    def listen(self, message_type: Any, topic: str, qos: Any) -> list[Any]:
        """The messages of a topic, as they come."""
        received: list[Any] = []
        self.node.create_subscription(message_type, topic, received.append, qos)
        return received

    def call(self, service_type: Any, name: str, request: Any, timeout_s: float = 10.0) -> Any:
        client = self.node.create_client(service_type, name)
        deadline = time.monotonic() + timeout_s
        while True:
            left = deadline - time.monotonic()
            assert left > 0, f"answer of {name}: not within {timeout_s:g} s"
            assert client.wait_for_service(left), f"no service {name}"
            # A server that has just been replaced may get the request before it knows where to answer.
            future = client.call_async(request)
            asked = time.monotonic()
            while not future.done() and time.monotonic() - asked < min(timeout_s / 2, left):
                time.sleep(0.01)
            if future.done():
                break
            client.remove_pending_request(future)
        self.node.destroy_client(client)
        return future.result()

    def action(self, action_type: Any, name: str, timeout_s: float = 10.0) -> ActionClient:
        client = ActionClient(self.node, action_type, name)
        self.wait_until(client.server_is_ready, timeout_s, f"action server {name}")
        return client

    def send(self, client: ActionClient, goal: Any, timeout_s: float = 10.0) -> Any:
        """The goal's handle."""
        future = in_executor(self.executor, client.send_goal_async, goal)
        self.wait_until(future.done, timeout_s, "answer to the goal")
        return future.result()

    def result(self, handle: Any, timeout_s: float = 30.0) -> Any:
        future = in_executor(self.executor, handle.get_result_async)
        self.wait_until(future.done, timeout_s, "result of the goal")
        return future.result()

    def cancel(self, handle: Any) -> None:
        in_executor(self.executor, handle.cancel_goal_async)

    @staticmethod
    def wait_until(condition: Callable[[], Any], timeout_s: float, what: str) -> Any:
        """The first truthy value of the condition; fails the test when there is none in time."""
        deadline = time.monotonic() + timeout_s
        while not (value := condition()):
            if time.monotonic() > deadline:
                pytest.fail(f"{what}: not within {timeout_s:g} s")
            time.sleep(0.01)
        return value

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self.executor.spin()


@pytest.fixture(scope="module")
def probe(domain_id: int) -> Iterator[Probe]:
    probe = Probe(domain_id)
    yield probe
    probe.close()


@pytest.fixture(scope="session")
def road(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "road.yaml"
    path.write_text(ROAD)
    return path


class StackFactory:
    """Starts stacks in the module's domain and shows their output when a test fails."""

    def __init__(self, domain_id: int, road: Path, directory: Path) -> None:
        self._defaults = {"domain_id": domain_id, "scenario": road, "local_only": True}
        self._directory = directory
        self.lines: list[str] = []

    def __call__(self, *, speed: float = 10.0, **options: Any) -> Stack:
        parameters = {name: dict(values) for name, values in options.pop("parameters", {}).items()}
        if options.get("scenario", self._defaults["scenario"]) is not None:
            parameters.setdefault("skill_server", {}).setdefault("simulation.speed_factor", speed)
        run = self._directory / f"run{len(list(self._directory.iterdir()))}"
        chosen = {**self._defaults, "run_directory": run, "parameters": parameters, **options}
        return Stack(StackOptions(**chosen), on_log=self._log)

    def _log(self, node: str, line: str) -> None:
        self.lines.append(f"[{node}] {line}")
        print(f"[{node}] {line}", flush=True)


@pytest.fixture(scope="module")
def new_stack(domain_id: int, road: Path, tmp_path_factory: pytest.TempPathFactory) -> StackFactory:
    return StackFactory(domain_id, road, tmp_path_factory.mktemp("stack"))
