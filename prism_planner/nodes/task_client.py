"""Gives a task to the planner and follows it to its end, with no ROS types on the caller's side."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Literal

import rclpy
from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from prism_msgs.action import ExecuteTask
from prism_msgs.msg import PlannerStatus
from prism_planner.nodes.conversions import action_from_msg, task_id_of
from prism_planner.nodes.qos import LATCHED
from prism_planner.nodes.runtime import in_executor

_POLL_S = 0.02
_SETTLE_S = 0.3
_ACCEPT_TIMEOUT_S = 4.0
_ATTEMPTS = 3
_CANCEL_TIMEOUT_S = 10.0
# The planner repeats its status every second; this much silence means that it is gone.
_SILENCE_S = 8.0
_FORGOTTEN_S = 2.0


class TaskOutcome(Enum):
    """How a task ended. In every case but SUCCEEDED, `TaskResult.message` says why."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELLED = "cancelled"
    BUSY = "busy"
    NO_PLANNER = "no planner"
    PLANNER_LOST = "planner lost"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """error_code: of the ExecuteTask action, 0 for none. trace_path: on the robot, may be empty."""

    outcome: TaskOutcome
    message: str = ""
    answer: str = ""
    error_code: int = 0
    steps: int = 0
    duration_s: float = 0.0
    trace_path: str = ""


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """What happened during a task.

    plan: a plan was decided: goal, reasoning, actions as text, planning_s. skill_started: `action`
    begins. skill_ended: it ended with `code` and what the planner is told in `observation`.
    """

    kind: Literal["plan", "skill_started", "skill_ended"]
    step: int
    goal: str = ""
    reasoning: str = ""
    actions: tuple[str, ...] = ()
    raw_text: str = ""
    rejected: int = 0
    planning_s: float = 0.0
    action: str = ""
    code: int = 0
    observation: tuple[str, ...] = ()


OnProgress = Callable[[TaskProgress], None]


class TaskClient:
    """A client of one robot's planner; one task at a time.

    Owns its ROS context and a thread that spins it. `on_progress` is called in that thread.
    """

    def __init__(self, *, namespace: str = "", domain_id: int | None = None) -> None:
        self._context = Context()
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=domain_id,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._node = Node("prism_task_client", namespace=namespace, context=self._context)
        self._client = ActionClient(self._node, ExecuteTask, "execute_task")
        self._cancels = self._node.create_client(CancelGoal, "execute_task/_action/cancel_goal")
        self._status: PlannerStatus | None = None
        self._status_time = 0.0
        self._settled = False
        self._cancel = threading.Event()
        self._node.create_subscription(PlannerStatus, "planner_status", self._on_status, LATCHED)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="task_client", daemon=True)
        self._thread.start()

    def __enter__(self) -> TaskClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_for_planner(self, timeout_s: float) -> bool:
        """Whether a planner is there within the time."""
        deadline = time.monotonic() + timeout_s
        while not (self._client.server_is_ready() and self._status is not None):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        if not self._settled:
            # That we know the planner does not yet mean that it knows us, and what it publishes meanwhile
            # would be lost: the first steps of a task.
            time.sleep(_SETTLE_S)
            self._settled = True
        return True

    def run(
        self,
        task: str,
        *,
        max_steps: int = 0,
        seed: int = 0,
        timeout_s: float | None = None,
        planner_timeout_s: float = 10.0,
        on_progress: OnProgress | None = None,
    ) -> TaskResult:
        """Execute a task and wait for its end.

        KeyboardInterrupt (Ctrl-C) during the wait cancels the task, and the result says CANCELLED; a
        second one is passed on. max_steps: 0 leaves it to the planner. timeout_s: cancel the task
        after this long. planner_timeout_s: how long to wait for a planner to appear.
        """
        started = time.monotonic()
        self._cancel.clear()
        if not self.wait_for_planner(planner_timeout_s):
            return self._no_planner(planner_timeout_s)
        goal = ExecuteTask.Goal(task=task, max_steps=max_steps, seed=seed)
        try:
            handle = self._send(goal, on_progress)
        except KeyboardInterrupt:
            return TaskResult(TaskOutcome.CANCELLED, "cancelled before it began")
        if handle is None:
            return TaskResult(TaskOutcome.PLANNER_LOST, "the planner did not answer the goal")
        if not handle.accepted:
            return TaskResult(
                TaskOutcome.BUSY,
                "the planner is busy with another task; cancel it with `prism cancel`, or wait",
            )
        return self._follow(handle, started, timeout_s)

    def cancel(self) -> None:
        """Cancel the running task, from any thread; `run` then returns."""
        self._cancel.set()

    def cancel_all(self, *, planner_timeout_s: float = 10.0) -> TaskResult:
        """Cancel whatever the planner is doing, whoever asked for it, and wait until it has ended.

        The outcome is CANCELLED, also when there was nothing to cancel, as the message then says.
        """
        if not self.wait_for_planner(planner_timeout_s):
            return self._no_planner(planner_timeout_s)
        assert self._status is not None
        task_id, task = self._status.task_id, self._status.task
        if not task_id:
            return TaskResult(TaskOutcome.CANCELLED, "there was no task")
        # A request without an id is for all goals.
        self._cancels.call_async(CancelGoal.Request())
        deadline = time.monotonic() + _CANCEL_TIMEOUT_S
        while self._status.task_id == task_id:
            if time.monotonic() >= deadline:
                return TaskResult(TaskOutcome.PLANNER_LOST, "the planner did not end the task after a cancel")
            time.sleep(_POLL_S)
        return TaskResult(TaskOutcome.CANCELLED, task)

    def close(self) -> None:
        self._executor.shutdown()
        self._thread.join(timeout=5.0)
        self._client.destroy()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _no_planner(self, timeout_s: float) -> TaskResult:
        return TaskResult(
            TaskOutcome.NO_PLANNER,
            f"no planner on {self._node.resolve_service_name('execute_task')} within {timeout_s:g} s; "
            "start one with `prism up`, or check namespace and ROS_DOMAIN_ID",
        )

    def _send(self, goal: ExecuteTask.Goal, on_progress: OnProgress | None) -> Any:
        """The goal's handle; None when the planner never answered. A goal whose answer got lost may have
        been accepted: it is cancelled, so that nothing runs unobserved."""
        feedback = None if on_progress is None else _translate(on_progress)
        for _ in range(_ATTEMPTS):
            info = GoalInfo()
            info.goal_id.uuid = list(uuid.uuid4().bytes)
            sent = in_executor(
                self._executor,
                self._client.send_goal_async,
                goal,
                feedback_callback=feedback,
                goal_uuid=info.goal_id,
            )
            answered = False
            try:
                answered = self._wait(sent, _ACCEPT_TIMEOUT_S)
            finally:
                if not answered:
                    self._cancels.call_async(CancelGoal.Request(goal_info=info))
            if answered:
                return sent.result()
        return None

    def _follow(self, handle: Any, started: float, timeout_s: float | None) -> TaskResult:
        result = in_executor(self._executor, handle.get_result_async)
        task_id = task_id_of(handle.goal_id)
        last_seen = time.monotonic()
        cancel_sent = 0.0
        timed_out = False
        interrupted = False
        while not result.done():
            now = time.monotonic()
            try:
                time.sleep(_POLL_S)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                self._cancel.set()
            timed_out = timed_out or (timeout_s is not None and now - started > timeout_s)
            if (timed_out or self._cancel.is_set()) and not cancel_sent:
                in_executor(self._executor, handle.cancel_goal_async)
                cancel_sent = now
            if cancel_sent and now - cancel_sent > _CANCEL_TIMEOUT_S:
                return TaskResult(TaskOutcome.PLANNER_LOST, "the planner did not end the task after a cancel")
            if self._status is not None and self._status.task_id == task_id:
                last_seen = max(last_seen, self._status_time)
            if now - self._status_time > _SILENCE_S and now - last_seen > _SILENCE_S:
                return TaskResult(TaskOutcome.PLANNER_LOST, "the planner stopped answering")
            if self._status_time > last_seen + _FORGOTTEN_S:
                return TaskResult(TaskOutcome.PLANNER_LOST, "the planner restarted and lost the task")
        return _result(result.result(), timed_out)

    @staticmethod
    def _wait(future: Future, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not future.done():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _on_status(self, status: PlannerStatus) -> None:
        self._status = status
        self._status_time = time.monotonic()

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()


def _translate(on_progress: OnProgress) -> Callable[[Any], None]:
    kinds: dict[int, Literal["plan", "skill_started", "skill_ended"]] = {
        ExecuteTask.Feedback.PLAN: "plan",
        ExecuteTask.Feedback.SKILL_STARTED: "skill_started",
        ExecuteTask.Feedback.SKILL_ENDED: "skill_ended",
    }

    def on_feedback(message: Any) -> None:
        feedback = message.feedback
        plan = feedback.plan
        kind = kinds[feedback.kind]
        on_progress(
            TaskProgress(
                kind=kind,
                step=feedback.step,
                goal=plan.primary_goal,
                reasoning=plan.reasoning,
                actions=tuple(action_from_msg(action) for action in plan.actions),
                raw_text=plan.raw_text,
                rejected=plan.rejected,
                planning_s=plan.prompt_time + plan.generation_time,
                action="" if kind == "plan" else action_from_msg(feedback.action),
                code=feedback.code,
                observation=tuple(feedback.observation),
            )
        )

    return on_feedback


def _result(response: Any, timed_out: bool) -> TaskResult:
    result = response.result
    outcome = {
        GoalStatus.STATUS_SUCCEEDED: TaskOutcome.SUCCEEDED,
        GoalStatus.STATUS_CANCELED: TaskOutcome.TIMED_OUT if timed_out else TaskOutcome.CANCELLED,
        GoalStatus.STATUS_UNKNOWN: TaskOutcome.PLANNER_LOST,
    }.get(response.status, TaskOutcome.ABORTED)
    message = result.message
    if outcome is TaskOutcome.PLANNER_LOST:
        message = "the planner restarted and lost the task"
    elif outcome is TaskOutcome.TIMED_OUT:
        message = "the time for the task was up"
    return TaskResult(
        outcome,
        message,
        result.answer,
        result.error_code,
        result.steps,
        result.duration,
        result.trace_path,
    )
