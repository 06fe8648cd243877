"""How every node runs: one executor thread, one worker thread, a clean end on any signal.

Callbacks run in a `SingleThreadedExecutor` and never block. Long work goes to the node's `Worker`,
and an `async` callback awaits its future. Waits in the worker have a timeout and a cancel check.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Any, Protocol

import rclpy
from rclpy.context import Context
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
)
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from prism_planner.cancellation import CancelToken
from prism_planner.nodes.parameters import ParameterError

READY_FD_VARIABLE = "PRISM_READY_FD"
"""Names the file descriptor that a supervisor listens on: the node writes one line when it is ready."""

PARENT_VARIABLE = "PRISM_SUPERVISOR_PID"
"""Names the process without which the node is not to live."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHUTDOWN_DEADLINE_S = 5.0
_LAST_RESULTS_S = 0.05
_POLL_S = 0.01
_PR_SET_PDEATHSIG = 1


class NodeProgram(Protocol):
    """What runs in a node."""

    def finish(self) -> None:
        """Cancel what runs and wait for its end. Called in a thread of its own while the executor still
        spins, so that goals end with a result."""

    def close(self) -> None:
        """Free what the node does not free by itself; nothing spins any more."""


def run_node(name: str, build: Callable[[Node], NodeProgram], argv: Sequence[str] | None = None) -> int:
    """Run a node until SIGINT, SIGTERM or SIGHUP; return the exit code of the process.

    An exception in a callback is logged and the node goes on; unusable parameters end it with code 2.
    """
    stop = threading.Event()
    signals = _catch_signals()
    _end_with_supervisor()
    context = Context()
    try:
        rclpy.init(
            args=sys.argv if argv is None else list(argv),
            context=context,
            signal_handler_options=SignalHandlerOptions.NO,
        )
    except Exception as error:
        print(f"{name}: cannot start: {error}", file=sys.stderr)
        return 2
    executor = SingleThreadedExecutor(context=context)
    threading.Thread(target=_stop_on_signal, args=(signals, stop, executor), daemon=True).start()
    node = Node(name, context=context)
    program: NodeProgram | None = None
    try:
        executor.add_node(node)
        program = build(node)
        _spin(node, executor, stop)
        _finish(node, executor, program)
        return 0
    except ParameterError as error:
        node.get_logger().fatal(str(error))
        return 2
    finally:
        if program is not None:
            program.close()
        executor.remove_node(node)
        node.destroy_node()
        executor.shutdown()
        context.try_shutdown()


def notify_ready(text: str = "ready") -> None:
    """Tell the supervisor, if there is one, that this node can be used."""
    descriptor = os.environ.pop(READY_FD_VARIABLE, "")
    if descriptor:
        try:
            os.write(int(descriptor), (" ".join(text.split()) + "\n").encode())
            os.close(int(descriptor))
        except OSError:
            pass  # the supervisor no longer listens


class Worker:
    """The one thread in which a node does what takes long."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="worker")

    def run(self, job: Callable[[], Any]) -> Future:
        """Queue a job. The future may be awaited in an `async` callback of the node's executor."""
        future = Future(executor=self._node.executor)

        def work() -> None:
            try:
                future.set_result(job())
            except BaseException as error:
                future.set_exception(error)
            executor = self._node.executor
            if executor is not None:
                executor.wake()  # it polls awaiting tasks only when something wakes it

        self._pool.submit(work)
        return future

    def close(self) -> None:
        """Drop what is queued and wait for the running job; whoever owns the job cancels it first."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Waited(Enum):
    """How a wait ended."""

    DONE = "done"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    GIVEN_UP = "given up"


def wait_for(
    future: Future,
    *,
    timeout_s: float,
    cancel: CancelToken | None = None,
    give_up: Callable[[], bool] | None = None,
) -> Waited:
    """Wait, outside the executor's thread, for a future that the executor completes.

    give_up: asked every few milliseconds; True ends the wait.
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + timeout_s
    while not done.wait(_POLL_S):
        if cancel is not None and cancel.cancelled:
            return Waited.CANCELLED
        if give_up is not None and give_up():
            return Waited.GIVEN_UP
        if time.monotonic() >= deadline:
            return Waited.TIMED_OUT
    return Waited.DONE


def in_executor(executor: Executor, request: Callable[..., Future], *args: Any, **options: Any) -> Future:
    """Make a request of rclpy's action client in the thread that takes its answers.

    The client sends first and notes the request after that; made in another thread, a request that is
    answered in between loses its answer.
    """

    async def ask() -> Any:
        return await request(*args, **options)

    return executor.create_task(ask)


def _spin(node: Node, executor: SingleThreadedExecutor, stop: threading.Event) -> None:
    while not stop.is_set() and node.context.ok():
        try:
            executor.spin_once()
        except (ExternalShutdownException, ShutdownException):
            return
        except Exception:
            node.get_logger().error(f"error in a callback, going on:\n{traceback.format_exc()}")


def _finish(node: Node, executor: SingleThreadedExecutor, program: NodeProgram) -> None:
    """Let what runs come to its end, and the last results leave."""
    finished = threading.Event()

    def finish() -> None:
        try:
            program.finish()
        finally:
            finished.set()
            executor.wake()

    threading.Thread(target=finish, name="finish", daemon=True).start()
    _spin(node, executor, finished)
    deadline = time.monotonic() + _LAST_RESULTS_S
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=_POLL_S)


def _catch_signals() -> int:
    """A file descriptor on which the number of every stop signal arrives, whichever thread it hits and
    wherever the main thread is; C code would keep an ordinary handler from running."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    return read


def _stop_on_signal(signals: int, stop: threading.Event, executor: SingleThreadedExecutor) -> None:
    received = os.read(signals, 1)[0]
    stop.set()
    executor.wake()
    # Whatever hangs, the process ends: no supervisor may be there to do it. A second signal ends it now.
    select.select([signals], [], [], SHUTDOWN_DEADLINE_S)
    os._exit(128 + received)


def _end_with_supervisor() -> None:
    """Have the kernel send SIGTERM when the supervisor dies, however it dies (Linux)."""
    supervisor = os.environ.pop(PARENT_VARIABLE, "")
    if not supervisor or sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(supervisor):  # it died before this line
        os._exit(1)
