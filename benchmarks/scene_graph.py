"""What a change of the scene graph costs: applied, journaled (synchronised to disk) and published.

    python benchmarks/scene_graph.py --json scene_graph.json

Each change adds an object, removes an older one, updates a fact and moves the robot, so that the
graph keeps its size. The same number of bytes is written and synchronised to a plain file between
the changes: what the disk alone takes, side by side.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.journal import Journal
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.graph.text import describe
from prism_planner.nodes.graph_store import GraphStore

SIZES = (100, 1_000, 10_000)
TARGET_DELTA_MS = 5.0
TARGET_RELOAD_S = 1.0

Publish = Callable[[GraphDelta, int], None]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--deltas", type=int, default=1500, help="changes per size (default: 1500)")
    parser.add_argument(
        "--directory",
        type=Path,
        default=Path(),
        help="where to put the journals; choose the disk to measure (default: the current directory)",
    )
    arguments = parser.parse_args()
    if arguments.deltas < 100:
        parser.error("--deltas must be at least 100: a 99th percentile needs that many")

    figures: dict[str, Any] = {"delta_p99_ms": {}, "delta_median_ms": {}, "delta_cpu_median_ms": {}}
    figures |= {"delta_cpu_p99_ms": {}, "disk_p99_ms": {}}
    with publisher() as publish, tempfile.TemporaryDirectory(dir=arguments.directory) as scratch:
        figures["published"] = publish is not None
        steps = "applied, journaled and published" if publish else "applied and journaled"
        print(f"A delta {steps}" + ("" if publish else " (NOT published: rclpy or prism_msgs is missing)"))
        print("nodes    median      p99    disk alone p99    processor median      p99   [ms]")
        for size in SIZES:
            directory = Path(scratch) / str(size)
            timings = measure_deltas(directory, size, arguments.deltas, publish)
            for key, value in timings.figures().items():
                figures[key][str(size)] = value
            print(
                f"{size:6d} {timings.wall.median:9.2f} {timings.wall.p99:8.2f} {timings.disk.p99:17.2f}"
                f" {timings.cpu.median:19.3f} {timings.cpu.p99:8.3f}"
            )
        figures["reload_s"], graph = measure_reload(Path(scratch) / str(SIZES[-1]))
    figures["delta_scaling_exponent"] = scaling_exponent(figures["delta_cpu_median_ms"])
    figures |= measure_questions(graph)

    print(f"\nProcessor time per delta grows as size to the power {figures['delta_scaling_exponent']:.2f}")
    print(f"Reload of {len(graph)} nodes from the journal: {figures['reload_s']:.3f} s")
    print(f"Nearest region: {figures['nearest_region_ms']:.3f} ms")
    print(f"Shortest path across the graph: {figures['shortest_path_ms']:.1f} ms")
    print(f"Text for a model, 4000 characters: {figures['describe_ms']:.0f} ms")
    slow = figures["delta_p99_ms"][str(SIZES[-1])] > TARGET_DELTA_MS or figures["reload_s"] > TARGET_RELOAD_S
    print(
        f"Targets (p99 {TARGET_DELTA_MS:g} ms, reload {TARGET_RELOAD_S:g} s): {'missed' if slow else 'met'}"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Sample:
    """Times of many repetitions, in milliseconds."""

    milliseconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.milliseconds, n=100)[98]


@dataclass(frozen=True)
class DeltaTimings:
    """wall: from delta to published; cpu: the thread's own share of it; disk: a bare synchronised write."""

    wall: Sample
    cpu: Sample
    disk: Sample

    def figures(self) -> dict[str, float]:
        return {
            "delta_p99_ms": self.wall.p99,
            "delta_median_ms": self.wall.median,
            "delta_cpu_median_ms": self.cpu.median,
            "delta_cpu_p99_ms": self.cpu.p99,
            "disk_p99_ms": self.disk.p99,
        }


def measure_deltas(directory: Path, size: int, count: int, publish: Publish | None) -> DeltaTimings:
    store = GraphStore(directory)
    store.apply(grid(size))
    wall, cpu, disk = [], [], []
    bare = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(count):
        delta = change(number, size)
        started, started_cpu = time.perf_counter(), time.thread_time()
        revision = store.apply(delta)
        if publish is not None:
            publish(delta, revision)
        wall.append(1e3 * (time.perf_counter() - started))
        cpu.append(1e3 * (time.thread_time() - started_cpu))

        started = time.perf_counter()
        os.write(bare, bytes(300))
        os.fdatasync(bare)
        disk.append(1e3 * (time.perf_counter() - started))
    os.close(bare)
    store.close()
    return DeltaTimings(Sample(wall), Sample(cpu), Sample(disk))


def measure_reload(directory: Path) -> tuple[float, SceneGraph]:
    """Seconds to open the journal and have its graph; the median of three."""
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        with Journal(directory) as journal:
            graph = journal.recover()
            seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), graph


def measure_questions(graph: SceneGraph) -> dict[str, float]:
    regions = graph.regions
    return {
        "nearest_region_ms": milliseconds(lambda: graph.nearest_region(33.0, 71.0), 1000),
        "shortest_path_ms": milliseconds(lambda: graph.shortest_path(regions[0], regions[-1]), 20),
        "describe_ms": milliseconds(lambda: describe(graph, budget=4000, focus=regions[-1:]), 5),
    }


def milliseconds(ask: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        ask()
    return 1e3 * (time.perf_counter() - started) / times


def scaling_exponent(cost_by_size: dict[str, float]) -> float:
    """The slope of log cost over log size: 0 is flat, 1 is linear."""
    sizes = [math.log(int(size)) for size in cost_by_size]
    costs = [math.log(cost) for cost in cost_by_size.values()]
    return statistics.linear_regression(sizes, costs).slope


def grid(size: int) -> GraphDelta:
    """Half as many regions as nodes, on a square grid of 10 m, each with an object."""
    count = size // 2
    side = math.isqrt(count)
    regions = [
        Node(name=f"road_{i}", kind="region", coords=(10 * (i % side), 10 * (i // side)))
        for i in range(count)
    ]
    objects = [
        Node(
            name=f"bench_{i}",
            kind="object",
            coords=(region.coords[0] + 2, region.coords[1]),
            attributes={"description": "a wooden bench"},
        )
        for i, region in enumerate(regions)
    ]
    across = [(f"road_{i}", f"road_{i + 1}") for i in range(count - 1) if (i + 1) % side]
    along = [(f"road_{i}", f"road_{i + side}") for i in range(count - side)]
    views = [(f"bench_{i}", f"road_{i}") for i in range(count)]
    return GraphDelta(
        add_nodes=(*regions, *objects),
        add_connections=(*across, *along, *views),
        update_robot_location="road_0",
    )


def change(number: int, size: int) -> GraphDelta:
    """An observation as it comes while driving."""
    here = number % (size // 2)
    node = Node(
        name=f"crate_{number}",
        kind="object",
        coords=(float(here), 1.0),
        attributes={"description": "a crate beside the path", "seen_by": "front camera"},
    )
    return GraphDelta(
        add_nodes=(node,),
        remove_nodes=(f"crate_{number - 10}",) if number >= 10 else (),
        add_connections=((node.name, f"road_{here}"),),
        update_node_attributes={f"road_{here}": {"surface": f"gravel, seen {number} times"}},
        update_robot_location=f"road_{here}",
    )


@contextmanager
def publisher() -> Iterator[Publish | None]:
    """How the scene graph server publishes a delta, with one subscriber; None without ROS."""
    try:
        import rclpy

        from prism_msgs.msg import SceneGraphDelta
        from prism_planner.nodes.conversions import delta_to_msg
        from prism_planner.nodes.qos import UPDATES
    except ImportError:
        yield None
        return
    rclpy.init(args=[])
    node = rclpy.create_node("scene_graph_benchmark")
    try:
        node.create_subscription(SceneGraphDelta, "scene_graph_updates", lambda _: None, UPDATES)
        topic = node.create_publisher(SceneGraphDelta, "scene_graph_updates", UPDATES)
        stamp = node.get_clock().now().to_msg()
        yield lambda delta, revision: topic.publish(delta_to_msg(delta, revision=revision, stamp=stamp))
    finally:
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    sys.exit(main())
