"""The node that plans: a language model (or the domain's expert) in the closed loop with the robot.

One task at a time: a goal that comes while another runs is rejected. Every accepted goal ends with
a reason; a cancel stops the model within a token and the robot at once.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from builtin_interfaces.msg import Time
from pydantic import Field
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from prism_msgs.action import ExecuteTask
from prism_msgs.msg import Plan, PlanAction, PlannerStatus
from prism_msgs.srv import MakePlan, SetModel
from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.planner import Planner, PlannerEvent, PlannerLimits, check_task
from prism_planner.domains.policy import ExpertPolicy, ModelPolicy, Policy, prefetch
from prism_planner.domains.registry import UnknownDomainError, load_domain
from prism_planner.domains.trace import PlanTrace, TraceHeader, TraceOutcome, TraceTurn, TurnTiming
from prism_planner.graph.scene_graph import SceneGraph
from prism_planner.language.model import LanguageModel, LanguageModelError
from prism_planner.nodes.conversions import plan_to_msg, skill_to_msg, task_id_of
from prism_planner.nodes.diagnostics import Diagnostics, report_parameters
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.markers import plan_markers
from prism_planner.nodes.parameters import (
    NodeParameters,
    ParameterError,
    declare_parameters,
    unknown_parameters,
)
from prism_planner.nodes.prefetcher import Prefetcher
from prism_planner.nodes.qos import LATCHED
from prism_planner.nodes.robot_environment import RobotEnvironment
from prism_planner.nodes.runtime import Worker, notify_ready, run_node
from prism_planner.nodes.skill_client import SkillClient
from prism_planner.worlds.observation import GraphObservation

EXPERT = "expert"

_STATUS_PERIOD_S = 1.0
_IDLE_PERIOD_S = 0.25
_GRAPH_TIMEOUT_S = 5.0
_LISTENER_TIMEOUT_S = 0.5
_LISTENER_POLL_S = 0.01
_Result = ExecuteTask.Result
_CODES = {
    "": _Result.SUCCEEDED,
    "invalid_task": _Result.INVALID_TASK,
    "model_error": _Result.MODEL_ERROR,
    "invalid_plans": _Result.INVALID_PLANS,
    "step_limit": _Result.STEP_LIMIT,
    "loop": _Result.LOOP,
    "cancelled": _Result.CANCELLED,
    "world_error": _Result.ROBOT_UNAVAILABLE,
}


class SlmPlannerParameters(NodeParameters):
    """Parameters of `slm_planner`."""

    domain: str = Field("spine", description="Planning domain: a name in the group prism_planner.domains.")
    model: str = Field(
        EXPERT,
        description="Name in models/registry.yaml, path of a .gguf file, openai:NAME, or expert for the "
        "domain's offline teacher.",
    )
    style: Literal["distilled", "source"] = Field(
        "distilled", description="Prompts and answers: short (distilled) or with few-shot examples (source)."
    )
    constrained: bool = Field(
        True, description="Let the model write only valid plans about nodes that exist."
    )
    temperature: float = Field(0.0, ge=0.0, le=2.0, description="Of the sampling; 0 is deterministic.")
    retries: int = Field(2, ge=0, le=10, description="How often an invalid plan is sent back in one step.")
    generation_timeout: float = Field(
        120.0, gt=0.0, le=3600.0, description="Longest time for one answer of the model, seconds."
    )
    prefetch: bool = Field(
        True,
        description="Let the model read the scene graph while there is no task; the first plan is sooner.",
    )
    max_steps: int = Field(30, ge=1, le=1000, description="Planning steps before a task is given up.")
    max_repeats: int = Field(
        3, ge=1, le=100, description="How often one action may bring nothing new before a task is a loop."
    )
    skill_server_timeout: float = Field(
        10.0,
        gt=0.0,
        le=600.0,
        description="How long to wait for a skill server that is missing or busy, seconds.",
    )
    skill_silence: float = Field(
        3.0, ge=0.5, le=60.0, description="A skill server without feedback for this long is gone, seconds."
    )
    trace_directory: str = Field(
        "", description="Where a PlanTrace of every task is written; created if missing. Empty: nowhere."
    )


@dataclass
class _Task:
    """The goal that is being worked on."""

    goal: Any
    cancel: CancelToken = field(default_factory=CancelToken)
    started: float = field(default_factory=time.monotonic)

    @property
    def task_id(self) -> str:
        return task_id_of(self.goal.goal_id)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a goal ended; the fields of the action's result."""

    error_code: int
    message: str = ""
    answer: str = ""
    steps: int = 0
    trace_path: str = ""


class SlmPlanner:
    """Offers the action `execute_task` and the services `make_plan` and `set_model`."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._parameters = declare_parameters(node, SlmPlannerParameters)
        self._diagnostics = Diagnostics(node)
        try:
            self._domain = load_domain(self._parameters.domain)
        except UnknownDomainError as error:
            raise ParameterError(f"parameter 'domain': {error}") from error
        self._worker = Worker(node)
        self._graph = SceneGraphClient(node)
        self._skills = SkillClient(
            node,
            server_timeout_s=self._parameters.skill_server_timeout,
            silence_s=self._parameters.skill_silence,
        )
        self._prefetcher = Prefetcher(node, worker=self._worker, graph=self._graph, read=self._read_ahead)
        self._model: LanguageModel | None = None
        self._unavailable = "the model is being loaded"
        self._loading = True
        self._busy = False
        self._current: _Task | None = None
        self._status = PlannerStatus(domain=self._domain.name, model=self._parameters.model)

        self._plans = node.create_publisher(Plan, "plan", LATCHED)
        self._drawings = node.create_publisher(MarkerArray, "plan_markers", LATCHED)
        self._statuses = node.create_publisher(PlannerStatus, "planner_status", LATCHED)
        self._server = ActionServer(
            node,
            ExecuteTask,
            "execute_task",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
        )
        # Callbacks that await: in the node's own group they would keep all others waiting.
        awaiting = ReentrantCallbackGroup()
        node.create_service(MakePlan, "make_plan", self._on_make_plan, callback_group=awaiting)
        node.create_service(SetModel, "set_model", self._on_set_model, callback_group=awaiting)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_STATUS_PERIOD_S, self._publish_status, clock=steady)
        if self._parameters.prefetch:
            node.create_timer(_IDLE_PERIOD_S, self._on_idle, callback_group=awaiting, clock=steady)
        report_parameters(node, self._diagnostics, unknown_parameters(node))
        self._diagnostics.set("model", "WARN", self._unavailable)
        self._set_state(PlannerStatus.LOADING)
        node.executor.create_task(self._load_first)

    def finish(self) -> None:
        self._busy = True
        self._prefetcher.stop()
        if self._current is not None:
            self._current.cancel.cancel()
        self._worker.close()

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
        self._server.destroy()
        self._skills.close()

    # Model

    async def _load_first(self) -> None:
        name = self._parameters.model
        message = await self._change_model(name)
        logger = self._node.get_logger()
        if message:
            logger.error(f"no model; goals are refused: {message}")
            notify_ready(f"unavailable: {message}")
        else:
            logger.info(f"ready, model {self._status.model}")
            notify_ready()

    async def _change_model(self, name: str) -> str:
        """Load a model in place of the present one; empty, or why the present one stays."""
        self._loading = True
        self._prefetcher.stop()
        self._set_state(PlannerStatus.LOADING)
        try:
            await self._worker.run(lambda: self._swap_model(name))
            message = ""
        except LanguageModelError as error:
            message = str(error)
        except Exception as error:  # a broken file or library must not take the node down
            self._node.get_logger().error(f"loading {name!r}: {error!r}")
            message = f"{name}: {error}"
        finally:
            self._loading = False
        if message and self._unavailable:
            self._unavailable = message
            self._diagnostics.set("model", "ERROR", f"no model is loaded: {message}", model=name)
            self._set_state(PlannerStatus.UNAVAILABLE, message)
        else:
            self._diagnostics.set("model", "OK", f"{self._status.model} is loaded", model=self._status.model)
            self._set_state(PlannerStatus.IDLE)
        return message

    def _swap_model(self, name: str) -> None:
        """In the worker thread, where no task can be using the model."""
        loaded = _load_model(name)
        if self._model is not None:
            self._model.close()
        self._model = loaded
        self._unavailable = ""
        self._status.model = name if loaded is None else loaded.name

    async def _on_set_model(
        self, request: SetModel.Request, response: SetModel.Response
    ) -> SetModel.Response:
        if self._busy or self._loading:
            response.code = response.BUSY
            response.message = "a task is running or a model is being loaded; cancel it or try again later"
        else:
            started = time.monotonic()
            message = await self._change_model(request.model)
            response.code = response.MODEL_UNAVAILABLE if message else response.SUCCEEDED
            response.message = message
            response.load_time = time.monotonic() - started
        response.model = "" if self._unavailable else self._status.model
        return response

    def _policy(self, task: str, seed: int) -> Policy[Any, Any]:
        """Who decides in this task. Raises InvalidTaskError when the expert does not understand it."""
        parameters = self._parameters
        if self._model is None:
            expert = self._domain.expert(task)
            return ExpertPolicy(domain=self._domain, expert=expert, style=parameters.style)
        return ModelPolicy(
            domain=self._domain,
            model=self._model,
            task=task,
            style=parameters.style,
            constrained=parameters.constrained,
            retries=parameters.retries,
            seed=seed,
            temperature=parameters.temperature,
            timeout_s=parameters.generation_timeout,
        )

    async def _on_idle(self) -> None:
        if self._model is not None and not (self._busy or self._loading):
            await self._prefetcher.poll()

    def _read_ahead(self, graph: SceneGraph, cancel: CancelToken) -> None:
        """In the worker thread: leave the beginning of the next task's prompt in the model."""
        if self._model is not None:
            prefetch(
                domain=self._domain,
                model=self._model,
                observation=GraphObservation(graph),
                style=self._parameters.style,
                cancel=cancel,
            )

    # Tasks

    def _on_goal(self, _: Any) -> GoalResponse:
        if self._busy:
            return GoalResponse.REJECT
        self._busy = True
        self._prefetcher.stop()
        return GoalResponse.ACCEPT

    def _on_cancel(self, _: Any) -> CancelResponse:
        if self._current is not None:
            self._current.cancel.cancel()
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> ExecuteTask.Result:
        task = self._current = _Task(handle)
        if handle.is_cancel_requested:
            task.cancel.cancel()
        self._status.task_id, self._status.task = task.task_id, handle.request.task[:200]
        self._node.get_logger().info(f"task: {handle.request.task[:200]!r}")
        try:
            if self._loading:
                ended = _Ended(_Result.MODEL_UNAVAILABLE, "a model is being loaded; try again later")
            else:
                ended = await self._worker.run(lambda: self._run(task))
        except Exception as error:  # a bug must not leave a goal without an end
            self._node.get_logger().error(f"task failed: {error!r}")
            ended = _Ended(_Result.MODEL_ERROR, f"internal error: {error!r}")
        finally:
            self._current = None
            self._busy = False
        return self._finish(task, ended)

    def _finish(self, task: _Task, ended: _Ended) -> ExecuteTask.Result:
        if ended.error_code == _Result.SUCCEEDED:
            task.goal.succeed()
        elif ended.error_code == _Result.CANCELLED and task.goal.is_cancel_requested:
            task.goal.canceled()
        else:
            task.goal.abort()
        said = ended.answer or ended.message
        self._node.get_logger().info(f"task ended with {ended.error_code}: {said}")
        status = self._status
        status.last_task_id, status.last_error_code, status.last_message = (
            task.task_id,
            ended.error_code,
            said,
        )
        status.task_id, status.task, status.step, status.action = "", "", 0, PlanAction()
        self._set_state(
            PlannerStatus.UNAVAILABLE if self._unavailable else PlannerStatus.IDLE, self._unavailable
        )
        return ExecuteTask.Result(
            error_code=ended.error_code,
            message=ended.message,
            answer=ended.answer,
            steps=ended.steps,
            duration=time.monotonic() - task.started,
            trace_path=ended.trace_path,
        )

    def _run(self, task: _Task) -> _Ended:
        """In the worker thread: the whole task."""
        request = task.goal.request
        refused = self._check(request.task, task.cancel)
        if isinstance(refused, _Ended):
            return refused
        text, graph = refused
        self._await_listener()
        environment = RobotEnvironment(
            start=graph, graph=self._graph, skills=self._skills, task_id=task.task_id
        )
        limits = PlannerLimits(
            max_steps=request.max_steps or self._parameters.max_steps,
            max_repeats=self._parameters.max_repeats,
        )
        header = TraceHeader(
            task=text,
            domain=self._domain.name,
            model=self._status.model,
            style=self._parameters.style,
            seed=request.seed,
        )
        try:
            policy = self._policy(text, request.seed)
        except InvalidTaskError as error:
            return _Ended(_Result.INVALID_TASK, str(error))
        planner = Planner(domain=self._domain, policy=policy, limits=limits)
        trace = planner.run(
            environment,
            header,
            cancel=task.cancel,
            on_event=lambda event: self._on_event(task, text, environment.known, event),
        )
        outcome = trace.outcome or TraceOutcome(status="aborted", reason="world_error")
        return _Ended(
            _CODES[outcome.reason],
            "" if outcome.status == "succeeded" else outcome.detail,
            outcome.answer,
            len(trace.turns),
            self._write(trace, task.task_id),
        )

    def _await_listener(self) -> None:
        """A client that has just appeared may not be known to the feedback's publisher yet; without this
        it would miss the first steps."""
        deadline = time.monotonic() + _LISTENER_TIMEOUT_S
        while not self._node.count_subscribers("execute_task/_action/feedback"):
            if time.monotonic() > deadline:
                return
            time.sleep(_LISTENER_POLL_S)

    def _check(self, task: str, cancel: CancelToken) -> _Ended | tuple[str, SceneGraph]:
        """The task's text and the graph to plan on; or why nothing can be planned."""
        try:
            text = check_task(task)
        except InvalidTaskError as error:
            return _Ended(_Result.INVALID_TASK, str(error))
        if self._unavailable:
            return _Ended(_Result.MODEL_UNAVAILABLE, f"no model is loaded: {self._unavailable}")
        graph = self._graph.wait_for_graph(_GRAPH_TIMEOUT_S, cancel, located=True)
        if cancel.cancelled:
            return _Ended(_Result.CANCELLED, "cancelled by the user")
        if graph is None:
            return _Ended(
                _Result.SCENE_GRAPH_UNAVAILABLE, "no scene graph server answers; start scene_graph_server"
            )
        if graph.robot_location is None:
            return _Ended(
                _Result.SCENE_GRAPH_UNAVAILABLE,
                "the scene graph does not say where the robot is: load a graph, and check odometry",
            )
        return text, graph

    def _on_event(self, task: _Task, text: str, graph: SceneGraph, event: PlannerEvent) -> None:
        """In the worker thread: publish progress."""
        feedback = ExecuteTask.Feedback(step=event.step)
        self._status.step = event.step
        if event.kind == "plan":
            feedback.kind = ExecuteTask.Feedback.PLAN
            feedback.plan = self._show(event.turn, text, task.task_id, event.step, graph)
            self._set_state(PlannerStatus.PLANNING)
        elif event.skill is not None:
            feedback.action = skill_to_msg(event.skill)
            if event.kind == "skill_started":
                feedback.kind = ExecuteTask.Feedback.SKILL_STARTED
                self._status.action = feedback.action
                self._set_state(PlannerStatus.EXECUTING)
            else:
                feedback.kind = ExecuteTask.Feedback.SKILL_ENDED
                feedback.code = event.turn.code or 0
                feedback.observation = list(event.feedback)
                self._status.action = PlanAction()
                self._set_state(PlannerStatus.PLANNING)
        task.goal.publish_feedback(feedback)

    def _write(self, trace: PlanTrace, task_id: str) -> str:
        """The path of the written trace; empty when none is wanted or it cannot be written."""
        if not self._parameters.trace_directory:
            return ""
        directory = Path(self._parameters.trace_directory).expanduser().resolve()
        path = directory / f"{time.strftime('%Y%m%d-%H%M%S')}-{task_id[:8]}.jsonl"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            trace.write(path)
        except OSError as error:
            self._node.get_logger().error(f"{path}: the trace cannot be written: {error.strerror}")
            self._diagnostics.set("traces", "WARN", f"{path}: {error.strerror}")
            return ""
        return str(path)

    # One plan

    async def _on_make_plan(
        self, request: MakePlan.Request, response: MakePlan.Response
    ) -> MakePlan.Response:
        if self._busy or self._loading:
            response.code = response.BUSY
            response.message = "a task is running or a model is being loaded; cancel it or try again later"
            return response
        self._busy = True
        self._prefetcher.stop()
        try:
            planned = await self._worker.run(lambda: self._plan_once(request.task))
        finally:
            self._busy = False
        if isinstance(planned, _Ended):
            response.code, response.message = planned.error_code, planned.message
        else:
            response.plan = planned
        return response

    def _plan_once(self, task: str) -> Plan | _Ended:
        """In the worker thread: the first step of a task, and nothing of it is executed."""
        refused = self._check(task, CancelToken())
        if isinstance(refused, _Ended):
            return refused
        text, graph = refused
        try:
            policy = self._policy(text, 0)
            try:
                decision = policy.decide(GraphObservation(graph))
            finally:
                policy.close()
        except InvalidTaskError as error:
            return _Ended(_Result.INVALID_TASK, str(error))
        except (LanguageModelError, Cancelled) as error:
            return _Ended(_Result.MODEL_ERROR, str(error))
        if decision.plan is None:
            return _Ended(_Result.INVALID_PLANS, decision.rejected[-1][1])
        turn = TraceTurn(
            observation={},
            raw=decision.raw,
            plan=decision.plan.model_dump(mode="json"),
            rejected=list(decision.rejected),
            prompt_tokens=decision.usage.prompt,
            evaluated_tokens=decision.usage.evaluated,
            generated_tokens=decision.usage.generated,
            forced_tokens=decision.usage.forced,
            timing=TurnTiming(prompt_s=decision.timing.prompt_s, generation_s=decision.timing.generation_s),
        )
        return self._show(turn, text, "", 1, graph)

    # Publishing

    def _show(self, turn: TraceTurn, task: str, task_id: str, step: int, graph: SceneGraph) -> Plan:
        """Publish a plan and its drawing."""
        stamp: Time = self._node.get_clock().now().to_msg()
        plan = plan_to_msg(
            turn,
            step=step,
            task=task,
            task_id=task_id,
            model=self._status.model,
            revision=graph.revision,
            stamp=stamp,
        )
        self._plans.publish(plan)
        points, labels = [], []
        if graph.robot_location is not None:
            points.append(graph.node(graph.robot_location).coords)
            labels.append("")
        for number, action in enumerate(plan.actions, start=1):
            if action.target in graph:
                points.append(graph.node(action.target).coords)
                labels.append(f"{number} {action.action}")
        self._drawings.publish(plan_markers(points, labels, stamp))
        return plan

    def _set_state(self, state: int, message: str = "") -> None:
        self._status.state, self._status.message = state, message
        self._publish_status()

    def _publish_status(self) -> None:
        self._status.header.stamp = self._node.get_clock().now().to_msg()
        self._statuses.publish(self._status)


def _load_model(name: str) -> LanguageModel | None:
    """None stands for the expert. Raises LanguageModelError."""
    if name == EXPERT:
        return None
    from prism_planner.language.registry import load_model  # llama.cpp only where it is needed

    return load_model(name)


def main() -> None:
    """Entry point of the executable `slm_planner`."""
    sys.exit(run_node("slm_planner", SlmPlanner))


if __name__ == "__main__":
    main()
