"""Cancel to robot stopped, through the whole stack: real processes, real DDS, the simulated Jackal.

For each run the robot drives at cruise speed on a task; the cancel is sent, and the clock runs until
the first odometry with zero velocity arrives.

    python benchmarks/robot_stop.py --runs 20 --json FILE

Keys: runs, stop_p50_ms, stop_p95_ms, stop_max_ms, goal_end_p95_ms (until the goal has ended),
distance_max_m (from where the cancel was sent).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rclpy
from nav_msgs.msg import Odometry
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from prism_msgs.action import ExecuteTask
from prism_planner.nodes.qos import SENSOR
from prism_planner.nodes.runtime import in_executor
from prism_planner.nodes.supervisor import Stack, StackOptions

SCENARIO = """
format: prism-scenario/1
domain: spine
name: long-road
world:
  robot: west_1
  regions: [{name: west_1, at: [0, 0]}, {name: east_1, at: [%d, 0]}]
  edges: [[west_1, east_1]]
tasks:
  - {instruction: Go to east 1, success: [{ended_at: east_1}]}
"""
STANDING = 1e-3


@dataclass(frozen=True)
class Stop:
    """Seconds from cancel to standing and to the goal's end; metres driven meanwhile."""

    stop_s: float
    end_s: float
    distance_m: float


class Driver:
    """Sends tasks and watches the robot."""

    def __init__(self, namespace: str) -> None:
        self.context = Context()
        rclpy.init(args=[], context=self.context)
        self.node = Node("stop_benchmark", namespace=namespace, context=self.context)
        self.speed = 0.0
        self.place = (0.0, 0.0)
        self.stood = 0.0
        self.node.create_subscription(Odometry, "odom", self._on_odometry, SENSOR)
        self.client = ActionClient(self.node, ExecuteTask, "execute_task")
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        threading.Thread(target=self.executor.spin, daemon=True).start()
        if not self.client.wait_for_server(30):
            raise SystemExit("the planner's action server was not discovered")

    def measure(self, task: str, cruise: float) -> Stop:
        goal = ExecuteTask.Goal(task=task)
        handle = self._await(in_executor(self.executor, self.client.send_goal_async, goal))
        result = in_executor(self.executor, handle.get_result_async)
        deadline = time.perf_counter() + 30
        while self.speed < 0.98 * cruise:
            if result.done() or time.perf_counter() > deadline:
                raise SystemExit(f"the robot did not reach {cruise} m/s on the task {task!r}")
            time.sleep(0.005)
        time.sleep(0.05)
        self.stood = 0.0
        start, place = time.perf_counter(), self.place
        in_executor(self.executor, handle.cancel_goal_async)
        self._await(result)
        ended = time.perf_counter()
        while not self.stood:
            time.sleep(0.001)
        return Stop(self.stood - start, ended - start, math.dist(place, self.place))

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def _on_odometry(self, message: Odometry) -> None:
        twist, position = message.twist.twist, message.pose.pose.position
        self.speed = math.hypot(twist.linear.x, twist.linear.y)
        self.place = (position.x, position.y)
        if not self.stood and self.speed < STANDING:
            self.stood = time.perf_counter()

    def _await(self, future: Any) -> Any:
        while not future.done():
            time.sleep(0.001)
        return future.result()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    namespace = f"stop_benchmark_{os.getpid()}"
    with tempfile.TemporaryDirectory() as directory:
        scenario = Path(directory) / "long_road.yaml"
        # Long enough that every run ends on its first half, with all of the road ahead.
        scenario.write_text(SCENARIO % (10 * arguments.runs + 50), encoding="utf-8")
        options = StackOptions(
            scenario=scenario, namespace=namespace, run_directory=Path(directory) / "run", local_only=True
        )
        with Stack(options) as stack:
            stack.wait_ready(60)
            driver = Driver(namespace)
            try:
                stops = [driver.measure("Go to east 1", cruise=1.0) for _ in range(arguments.runs)]
            finally:
                driver.close()
    stop_ms = sorted(1000 * stop.stop_s for stop in stops)
    figures = {
        "runs": len(stops),
        "stop_p50_ms": round(statistics.median(stop_ms), 1),
        "stop_p95_ms": round(stop_ms[math.ceil(0.95 * len(stop_ms)) - 1], 1),
        "stop_max_ms": round(stop_ms[-1], 1),
        "goal_end_p95_ms": round(
            1000 * sorted(stop.end_s for stop in stops)[math.ceil(0.95 * len(stops)) - 1], 1
        ),
        "distance_max_m": round(max(stop.distance_m for stop in stops), 3),
    }
    for key, value in figures.items():
        print(f"{key:18} {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
