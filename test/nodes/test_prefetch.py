"""The model reads the graph ahead while nothing is to do, and leaves off at once when something is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from rclpy.callback_groups import ReentrantCallbackGroup

from prism_msgs.action import ExecuteTask
from prism_msgs.msg import Plan
from prism_msgs.srv import MakePlan, SetModel, UpdateSceneGraph
from prism_planner.cancellation import CancelToken
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.nodes.conversions import delta_to_msg
from prism_planner.nodes.prefetcher import Prefetcher
from prism_planner.nodes.runtime import Worker

MODEL = "smollm2-135m"
# What a first step has to read that could not be read ahead: the task and the end of the message.
FEW_TOKENS = 40
EXECUTE = "planner/execute_task"


class FakeGraph:
    """The client's part that is used here."""

    def __init__(self) -> None:
        self.graph = SceneGraph()

    @property
    def revision(self) -> int:
        return self.graph.revision

    def snapshot(self) -> SceneGraph:
        return self.graph.copy()

    def grow(self) -> None:
        name = f"r_{self.graph.revision}"
        self.graph.apply(GraphDelta(add_nodes=(Node(name=name, kind="region", coords=(0, 0)),)))


class Reader:
    """Reads until it is cancelled, or not at all."""

    def __init__(self, *, endless: bool = False, error: Exception | None = None) -> None:
        self.begun: list[int] = []
        self.cancelled = threading.Event()
        self._endless, self._error = endless, error

    def __call__(self, graph: SceneGraph, cancel: CancelToken) -> None:
        self.begun.append(graph.revision)
        if self._error is not None:
            raise self._error
        if self._endless and cancel.wait(60):
            self.cancelled.set()
            cancel.raise_if_cancelled()


@pytest.fixture
def graph() -> FakeGraph:
    return FakeGraph()


@pytest.fixture
def worker(probe: Any) -> Iterator[Worker]:
    worker = Worker(probe.node)
    yield worker
    worker.close()


@pytest.fixture
def polled(probe: Any, worker: Worker, graph: FakeGraph) -> Iterator[Any]:
    timers = []

    def start(read: Reader) -> Prefetcher:
        prefetcher = Prefetcher(probe.node, worker=worker, graph=graph, read=read)  # type: ignore[arg-type]
        timer = probe.node.create_timer(0.05, prefetcher.poll, callback_group=ReentrantCallbackGroup())
        timers.append((timer, prefetcher))
        return prefetcher

    yield start
    for timer, prefetcher in timers:
        probe.node.destroy_timer(timer)
        prefetcher.stop()


def test_each_state_of_the_graph_is_read_once(probe: Any, polled: Any, graph: FakeGraph) -> None:
    read = Reader()
    polled(read)
    graph.grow()
    probe.wait_until(lambda: read.begun, 10, "the first reading")
    graph.grow()
    probe.wait_until(lambda: len(read.begun) > 1, 10, "the second reading")
    time.sleep(0.3)
    assert read.begun == [1, 2]


def test_a_stop_frees_the_worker_and_what_was_read_is_read_again(
    probe: Any, polled: Any, graph: FakeGraph, worker: Worker
) -> None:
    read = Reader(endless=True)
    prefetcher = polled(read)
    graph.grow()
    probe.wait_until(lambda: read.begun, 10, "a reading")
    prefetcher.stop()
    future = worker.run(lambda: "free")
    probe.wait_until(future.done, 10, "the job that came in between")
    assert read.cancelled.is_set()
    probe.wait_until(lambda: len(read.begun) > 1, 10, "the next reading")
    assert read.begun == [1, 1]


def test_a_failure_is_not_repeated_until_the_graph_changes(probe: Any, polled: Any, graph: FakeGraph) -> None:
    read = Reader(error=RuntimeError("no"))
    polled(read)
    graph.grow()
    probe.wait_until(lambda: read.begun, 10, "a reading")
    time.sleep(0.3)
    assert read.begun == [1]
    graph.grow()
    probe.wait_until(lambda: len(read.begun) > 1, 10, "a reading of the new state")


@pytest.fixture(scope="module", params=[True, False], ids=["prefetch", "without"])
def prefetching(request: pytest.FixtureRequest, new_stack: Any, road: Path) -> Iterator[bool]:
    """A planner with the embedded model and a graph; whether it reads ahead."""
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make setup")
    with new_stack(
        scenario=None,
        model=MODEL,
        namespace="planner",
        nodes=("scene_graph_server", "slm_planner"),
        parameters={
            "scene_graph_server": {"initial_graph": str(road)},
            "slm_planner": {"prefetch": request.param},
        },
    ) as stack:
        said = stack.wait_ready(60)["slm_planner"]
        if said != "ready":
            pytest.skip(said)
        yield request.param


def first_plan(probe: Any, *, wait_s: float) -> Plan:
    """The first plan of a model that has just been loaded and then had time to read."""
    loaded = probe.call(SetModel, "planner/set_model", SetModel.Request(model=MODEL), 60)
    assert loaded.code == 0, loaded.message
    time.sleep(wait_s)
    answer = probe.call(MakePlan, "planner/make_plan", MakePlan.Request(task="Go to road 2"), 120)
    assert answer.code == 0, answer.message
    return answer.plan


def test_the_first_plan_waits_for_the_words_of_the_task_only(probe: Any, prefetching: bool) -> None:
    if not prefetching:
        plan = first_plan(probe, wait_s=2.0)
        assert plan.evaluated_tokens > 2 * FEW_TOKENS
        return
    for wait_s in (2.0, 8.0, 32.0):  # a busy machine may need longer
        plan = first_plan(probe, wait_s=wait_s)
        if plan.evaluated_tokens < FEW_TOKENS:
            break
    assert plan.evaluated_tokens < FEW_TOKENS < plan.prompt_tokens / 2


@pytest.mark.usefixtures("prefetching")
def test_goals_and_model_changes_come_through_while_the_model_reads(probe: Any) -> None:
    nodes = tuple(Node(name=f"field_{i}", kind="region", coords=(i, 50)) for i in range(300))
    paths = tuple((f"field_{i}", f"field_{i + 1}") for i in range(299))
    delta = delta_to_msg(GraphDelta(add_nodes=nodes, add_connections=paths), revision=1)
    request = UpdateSceneGraph.Request(delta=delta)
    assert probe.call(UpdateSceneGraph, "planner/update_scene_graph", request).code == 0
    client = probe.action(ExecuteTask, EXECUTE)
    for wait_s in (1.4, 2.0):
        time.sleep(wait_s)  # the reading of this graph has begun, and takes many seconds
        handle = probe.send(client, ExecuteTask.Goal(task=""))
        assert handle.accepted
        assert probe.result(handle).result.error_code == ExecuteTask.Result.INVALID_TASK
    loaded = probe.call(SetModel, "planner/set_model", SetModel.Request(model="expert"), 60)
    assert loaded.code == 0, loaded.message
    answer = probe.call(MakePlan, "planner/make_plan", MakePlan.Request(task="Go to road 2"))
    assert answer.plan.actions[0].target == "road_2"
