"""A skill goal whose answer is lost is cancelled and sent again; no goal of ours drives unobserved."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("prism_msgs", reason="prism_msgs is not built; run `make setup`")

from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from prism_msgs.action import ExecuteSkill
from prism_planner.cancellation import CancelToken
from prism_planner.nodes.qos import LATCHED
from prism_planner.nodes.skill_client import SkillClient
from prism_planner.skills.skill import Skill, SkillCode

GOTO = Skill(name="goto", target="road_2")


class MuteServer:
    """Takes every goal; the answers to those before the `answers`-th are lost."""

    def __init__(self, domain_id: int, probe_type: Any, *, answers: int) -> None:
        self.taken: list[bytes] = []
        self.cancelled: list[bytes] = []
        self._answers = answers
        self._release = threading.Event()
        self._probe = probe_type(domain_id)
        node, group = self._probe.node, ReentrantCallbackGroup()
        kind, action = ExecuteSkill.Impl, "execute_skill/_action/"
        node.create_service(kind.SendGoalService, action + "send_goal", self._on_goal, callback_group=group)
        node.create_service(CancelGoal, action + "cancel_goal", self._on_cancel, callback_group=group)
        node.create_service(kind.GetResultService, action + "get_result", lambda _, response: response)
        node.create_publisher(kind.FeedbackMessage, action + "feedback", 10)
        node.create_publisher(GoalStatusArray, action + "status", LATCHED)

    def close(self) -> None:
        self._release.set()
        self._probe.close()

    def _on_goal(self, request: Any, response: Any) -> Any:
        self.taken.append(bytes(request.goal_id.uuid))
        if len(self.taken) < self._answers:
            self._release.wait(4)  # longer than the client waits
        response.accepted = True
        return response

    def _on_cancel(self, request: Any, response: Any) -> Any:
        self.cancelled.append(bytes(request.goal_info.goal_id.uuid))
        return response


@pytest.fixture
def client(probe: Any) -> Iterator[SkillClient]:
    node: Node = probe.node
    client = SkillClient(node, server_timeout_s=30.0, silence_s=1.0)
    yield client
    client.close()


def test_a_goal_without_an_answer_is_cancelled_and_sent_again(
    probe: Any, domain_id: int, client: SkillClient
) -> None:
    server = MuteServer(domain_id, type(probe), answers=2)
    try:
        result = client.execute(GOTO, task_id="", cancel=CancelToken())
        assert result.code is SkillCode.ROBOT_UNAVAILABLE  # the second was taken, and has an empty result
        assert "failed in" in result.message
        assert len(set(server.taken)) == len(server.taken) >= 2
        probe.wait_until(lambda: server.taken[0] in server.cancelled, 10, "the cancel of the first goal")
        assert server.taken[-1] not in server.cancelled
    finally:
        server.close()


def test_a_task_that_is_cancelled_meanwhile_takes_its_goal_back(
    probe: Any, domain_id: int, client: SkillClient
) -> None:
    server = MuteServer(domain_id, type(probe), answers=9)
    try:
        cancel, results = CancelToken(), []
        worker = threading.Thread(
            target=lambda: results.append(client.execute(GOTO, task_id="", cancel=cancel))
        )
        worker.start()
        probe.wait_until(lambda: server.taken, 10, "the goal")
        cancel.cancel()
        worker.join(10)
        assert results[0].code is SkillCode.CANCELLED
        probe.wait_until(lambda: server.taken[0] in server.cancelled, 10, "the cancel of the goal")
    finally:
        server.close()
