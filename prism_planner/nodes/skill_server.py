"""The node that drives the robot: one skill at a time, each past the safety monitor first.

A goal that comes while another runs is rejected. A cancel brakes the robot in the callback itself;
the goal ends once the robot stands.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from prism_msgs.action import ExecuteSkill
from prism_msgs.msg import PlannerStatus
from prism_planner.cancellation import CancelToken
from prism_planner.nodes.conversions import (
    MAP_FRAME,
    InvalidMessageError,
    pose_to_msg,
    skill_from_goal,
)
from prism_planner.nodes.diagnostics import Diagnostics, report_parameters
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.nav2_backend import Nav2Backend, Nav2Parameters
from prism_planner.nodes.parameters import (
    NodeParameters,
    ParameterError,
    declare_parameters,
    unknown_parameters,
)
from prism_planner.nodes.qos import LATCHED
from prism_planner.nodes.runtime import Worker, notify_ready, run_node
from prism_planner.nodes.safety import SafetyParameters, safety_limits
from prism_planner.nodes.simulated_backend import SimulatedBackend, SimulationParameters
from prism_planner.nodes.skill_backend import RobotProgress, SkillBackend, SkillResult
from prism_planner.skills.monitor import SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode

_WATCH_S = 0.1
_PREPARE_AGAIN_S = 1.0


class SkillServerParameters(NodeParameters):
    """Parameters of `skill_server`."""

    backend: Literal["simulated", "nav2"] = Field(
        "nav2", description="What drives: a simulated robot in a scenario, or Nav2."
    )
    platform: Literal["ugv", "uav"] = Field("ugv", description="Kind of robot, for the simulation.")
    scenario: str = Field("", description="Scenario file to simulate; needed by the backend simulated.")
    skill_timeout: float = Field(
        900.0, gt=0.0, le=86400.0, description="Longest time for one skill, seconds."
    )
    planner_timeout: float = Field(
        5.0,
        ge=0.5,
        le=600.0,
        description="The robot stops when the planner whose task it executes is silent for this long, "
        "or has given the task up, seconds.",
    )
    safety: SafetyParameters = Field(default_factory=SafetyParameters)
    simulation: SimulationParameters = Field(default_factory=SimulationParameters)
    nav2: Nav2Parameters = Field(default_factory=Nav2Parameters)


@dataclass
class _Execution:
    """The goal that is being executed. stopped: why the server itself stopped it."""

    goal: Any
    cancel: CancelToken = field(default_factory=CancelToken)
    started: float = field(default_factory=time.monotonic)
    stopped: tuple[SkillCode, str] | None = None
    distance_m: float = 0.0
    last_point: tuple[float, float] | None = None
    planner_seen: bool = False


class SkillServer:
    """Offers the action `execute_skill`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._parameters = declare_parameters(node, SkillServerParameters)
        self._limits = safety_limits(self._parameters.safety)
        self._monitor = SafetyMonitor(self._limits)
        self._diagnostics = Diagnostics(node)
        self._graph = SceneGraphClient(node)
        self._worker = Worker(node)
        self._backend = self._make_backend()
        self._unready = "is starting"
        self._closing = CancelToken()
        self._current: _Execution | None = None
        self._busy = False
        self._task_id = ""
        self._refused = 0
        self._planner_task: str | None = None
        self._planner_time = 0.0

        node.create_subscription(PlannerStatus, "planner_status", self._on_planner, LATCHED)
        self._server = ActionServer(
            node,
            ExecuteSkill,
            "execute_skill",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )
        node.create_timer(_WATCH_S, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        report_parameters(node, self._diagnostics, unknown_parameters(node))
        self._diagnostics.set("safety", "OK", "no skill was refused", refused=0)
        self._diagnostics.set("backend", "WARN", "is starting")
        node.executor.create_task(self._prepare)

    def finish(self) -> None:
        self._closing.cancel()
        if self._current is not None:
            self._current.cancel.cancel()
        self._backend.stop()
        self._worker.close()

    def close(self) -> None:
        self._backend.close()
        self._server.destroy()

    def _make_backend(self) -> SkillBackend:
        parameters = self._parameters
        if parameters.backend == "nav2":
            return Nav2Backend(
                self._node, parameters=parameters.nav2, monitor=self._monitor, graph=self._graph
            )
        if not parameters.scenario:
            raise ParameterError("parameter 'scenario' is empty; the backend simulated needs a scenario file")
        try:
            return SimulatedBackend(
                self._node,
                scenario=Path(parameters.scenario).expanduser(),
                platform=parameters.platform,
                parameters=parameters.simulation,
                limits=self._limits,
                graph=self._graph,
            )
        except ValueError as error:
            raise ParameterError(f"parameter 'scenario': {error}") from error

    async def _prepare(self) -> None:
        """Get the backend ready, however long what it needs takes to appear."""
        while not self._closing.cancelled:
            problem = await self._worker.run(lambda: self._backend.prepare(self._closing))
            self._unready = problem
            if not problem:
                self._diagnostics.set("backend", "OK", f"{self._parameters.backend} is ready")
                self._node.get_logger().info(f"ready, backend {self._parameters.backend}")
                await self._worker.run(self._check_keep_out)
                notify_ready()
                return
            self._node.get_logger().warning(f"not ready: {problem}", throttle_duration_sec=10.0)
            self._diagnostics.set("backend", "ERROR", problem)
            await self._worker.run(lambda: self._closing.wait(_PREPARE_AGAIN_S))

    # Goals

    def _on_goal(self, _: Any) -> GoalResponse:
        if self._busy:
            return GoalResponse.REJECT
        self._busy = True
        return GoalResponse.ACCEPT

    def _on_cancel(self, _: Any) -> CancelResponse:
        current = self._current
        if current is not None:
            current.cancel.cancel()
            self._backend.stop()
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> ExecuteSkill.Result:
        current = self._current = _Execution(handle)
        if handle.is_cancel_requested:
            current.cancel.cancel()
        try:
            result = await self._worker.run(lambda: self._run(handle.request, current))
        except Exception as error:  # a bug in the backend must not leave the robot moving
            self._backend.stop()
            self._node.get_logger().error(f"{handle.request.skill}: {error!r}")
            result = SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, f"internal error: {error!r}")
        finally:
            self._current = None
            self._busy = False
        return self._finish(handle, current, result)

    def _finish(self, handle: Any, current: _Execution, result: SkillResult) -> ExecuteSkill.Result:
        if current.stopped is not None and result.code == SkillCode.CANCELLED:
            code, message = current.stopped
            result = SkillResult(code, message, (message, *result.feedback), result.graph_revision)
        self._measure(current)
        if result.code == SkillCode.SUCCEEDED:
            handle.succeed()
        elif result.code == SkillCode.CANCELLED and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        said = f"{result.code.name}: {' '.join(result.feedback)}"
        if result.code in (SkillCode.SUCCEEDED, SkillCode.CANCELLED):
            self._node.get_logger().info(said)
        else:
            self._node.get_logger().warning(said)
        return ExecuteSkill.Result(
            code=int(result.code),
            message=result.message,
            feedback=list(result.feedback),
            graph_revision=result.graph_revision,
            distance=current.distance_m,
        )

    def _run(self, goal: ExecuteSkill.Goal, current: _Execution) -> SkillResult:
        """In the worker thread: judge a goal, then execute it."""
        try:
            skill = skill_from_goal(goal)
        except InvalidMessageError as error:
            return SkillResult.failed(SkillCode.INVALID_ARGUMENT, str(error))
        if self._unready:
            return SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, f"the robot is not ready: {self._unready}")
        refusal = self._judge(skill, goal.task_id)
        if refusal is not None:
            return refusal
        self._node.get_logger().info(f"executing {skill}")
        if current.cancel.cancelled:
            return SkillResult.failed(SkillCode.CANCELLED, f"{skill} was cancelled before it began")
        return self._backend.execute(skill, current.cancel)

    def _judge(self, skill: Skill, task_id: str) -> SkillResult | None:
        """The safety monitor's refusal, if there is one. Nothing reaches the backend around this."""
        graph = self._graph.snapshot()
        if graph is None:
            return SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, "the scene graph is not known")
        self._check_keep_out()
        if not task_id or task_id != self._task_id:
            self._task_id = task_id
            self._monitor.begin_task()
        refusal = self._monitor.check(skill, graph)
        if refusal is None:
            return None
        if refusal.code == SkillCode.REFUSED_BY_SAFETY:
            self._refused += 1
            self._diagnostics.set("safety", "WARN", f"last refused: {refusal.message}", refused=self._refused)
        return SkillResult.failed(refusal.code, refusal.message)

    def _check_keep_out(self) -> None:
        """A keep-out region that the graph does not hold has no place, and nobody is kept out of it."""
        graph = self._graph.snapshot()
        missing = sorted(name for name in self._limits.keep_out_regions if graph is None or name not in graph)
        if not missing:
            self._diagnostics.set("keep_out", "OK", "every keep-out region is known")
            return
        message = f"keep-out regions not in the scene graph, without effect: {', '.join(missing)}"
        self._node.get_logger().warning(message, throttle_duration_sec=10.0)
        self._diagnostics.set("keep_out", "WARN", message)

    # Watching

    def _on_planner(self, status: PlannerStatus) -> None:
        self._planner_task = status.task_id
        self._planner_time = time.monotonic()

    def _watch(self) -> None:
        """While a goal runs: tell where the robot is, and stop it when it must not go on."""
        current = self._current
        if current is None:
            return
        here = self._measure(current)
        feedback = ExecuteSkill.Feedback()
        if here is not None:
            feedback.distance_remaining = here.remaining_m
            feedback.pose.header.frame_id = MAP_FRAME
            feedback.pose.header.stamp = self._node.get_clock().now().to_msg()
            feedback.pose.pose = pose_to_msg(here.x, here.y, here.z, here.yaw)
        current.goal.publish_feedback(feedback)
        reason = self._reason_to_stop(current)
        if reason is not None and current.stopped is None:
            current.stopped = reason
            current.cancel.cancel()
            self._backend.stop()

    def _measure(self, current: _Execution) -> RobotProgress | None:
        """Where the robot is, added to the distance of the skill."""
        here = self._backend.progress
        if here is not None:
            point = (here.x, here.y)
            current.distance_m += math.dist(current.last_point or point, point)
            current.last_point = point
        return here

    def _reason_to_stop(self, current: _Execution) -> tuple[SkillCode, str] | None:
        now = time.monotonic()
        if now - current.started > self._parameters.skill_timeout:
            return SkillCode.TIMED_OUT, f"took longer than {self._parameters.skill_timeout:g} s"
        task_id = current.goal.request.task_id
        current.planner_seen |= bool(task_id) and self._planner_task == task_id
        if current.planner_seen:
            if self._planner_task != task_id:
                return SkillCode.CANCELLED, "the planner gave the task up"
            if now - self._planner_time > self._parameters.planner_timeout:
                return SkillCode.CANCELLED, "the planner is silent"
        if current.last_point is not None:
            graph = self._graph.snapshot() if self._limits.keep_out_regions else None
            refusal = self._monitor.check_point(*current.last_point, graph)
            if refusal is not None:
                return refusal.code, f"the robot was stopped: {refusal.message}"
        return None


def main() -> None:
    """Entry point of the executable `skill_server`."""
    sys.exit(run_node("skill_server", SkillServer))


if __name__ == "__main__":
    main()
