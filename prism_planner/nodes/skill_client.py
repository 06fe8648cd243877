"""Has the skill server execute a skill, with a named outcome for everything that can go wrong."""

from __future__ import annotations

import time
import uuid
from typing import Any

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.node import Node

from prism_msgs.action import ExecuteSkill
from prism_planner.cancellation import CancelToken
from prism_planner.nodes.runtime import Waited, in_executor, wait_for
from prism_planner.nodes.skill_backend import SkillResult
from prism_planner.skills.skill import Skill, SkillCode

_POLL_S = 0.02
_ACCEPT_TIMEOUT_S = 3.0
_STOP_TIMEOUT_S = 6.0


class SkillClient:
    """Client of `execute_skill`; `execute` is for the worker thread.

    server_timeout_s: how long to wait for a skill server, or for one that is busy, such as one that
    is being restarted. silence_s: a server that gives no feedback for this long is gone.
    """

    def __init__(self, node: Node, *, server_timeout_s: float, silence_s: float) -> None:
        self._executor = node.executor
        self._client = ActionClient(node, ExecuteSkill, "execute_skill")
        self._cancels = node.create_client(CancelGoal, "execute_skill/_action/cancel_goal")
        self._name = node.resolve_service_name("execute_skill")
        self._server_timeout = server_timeout_s
        self._silence = silence_s
        self._heard = 0.0

    def execute(self, skill: Skill, *, task_id: str, cancel: CancelToken) -> SkillResult:
        """Execute a skill to its end. Never raises: a server that is missing, busy or lost is
        ROBOT_UNAVAILABLE; after `cancel` the result is CANCELLED, once the robot stands."""
        goal = ExecuteSkill.Goal(
            task_id=task_id, skill=skill.name, target=skill.target, radius=skill.radius, query=skill.query
        )
        deadline = time.monotonic() + self._server_timeout
        while True:
            if cancel.cancelled:
                return _cancelled(skill)
            if self._client.server_is_ready():
                handle = self._send(goal, cancel)
                if handle is not None and handle.accepted:
                    return self._follow(skill, handle, cancel)
                problem = "does not answer" if handle is None else "is busy with another skill"
            else:
                problem = "is missing; start skill_server"
            if time.monotonic() >= deadline:
                message = f"the action server {self._name} {problem}"
                return SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, message)
            cancel.wait(10 * _POLL_S)

    def close(self) -> None:
        self._client.destroy()

    def _send(self, goal: ExecuteSkill.Goal, cancel: CancelToken) -> Any:
        """The goal handle; None when the server did not answer, or `cancel` was set.

        A server that has just been started may be known before its answers can arrive.
        """
        self._heard = time.monotonic()
        info = GoalInfo()
        info.goal_id.uuid = list(uuid.uuid4().bytes)
        sent = in_executor(
            self._executor,
            self._client.send_goal_async,
            goal,
            feedback_callback=self._on_feedback,
            goal_uuid=info.goal_id,
        )
        if wait_for(sent, timeout_s=_ACCEPT_TIMEOUT_S, cancel=cancel) is Waited.DONE:
            return sent.result()
        # A goal whose answer is lost, or comes after we turned away, must not drive the robot.
        self._cancels.call_async(CancelGoal.Request(goal_info=info))
        sent.add_done_callback(_cancel_late)
        return None

    def _follow(self, skill: Skill, handle: Any, cancel: CancelToken) -> SkillResult:
        self._heard = time.monotonic()
        result = in_executor(self._executor, handle.get_result_async)
        ended = wait_for(result, timeout_s=float("inf"), cancel=cancel, give_up=self._silent)
        if ended is Waited.CANCELLED:
            in_executor(self._executor, handle.cancel_goal_async)
            ended = wait_for(result, timeout_s=_STOP_TIMEOUT_S, give_up=self._silent)
        if ended is not Waited.DONE or result.result() is None:
            return self._gone(skill, "went away while executing")
        answer = result.result().result
        succeeded = result.result().status == GoalStatus.STATUS_SUCCEEDED
        if succeeded != (answer.code == SkillCode.SUCCEEDED):  # an empty result says code 0
            return self._gone(skill, "failed in")
        return SkillResult(
            SkillCode(answer.code), answer.message, tuple(answer.feedback), answer.graph_revision
        )

    def _on_feedback(self, _: Any) -> None:
        self._heard = time.monotonic()

    def _silent(self) -> bool:
        return time.monotonic() - self._heard > self._silence

    def _gone(self, skill: Skill, what: str) -> SkillResult:
        return SkillResult.failed(SkillCode.ROBOT_UNAVAILABLE, f"the skill server {what} {skill}")


def _cancelled(skill: Skill) -> SkillResult:
    return SkillResult.failed(SkillCode.CANCELLED, f"{skill} was cancelled")


def _cancel_late(sent: Any) -> None:
    handle = sent.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()
