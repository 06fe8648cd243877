"""The robot, as the environment that a planner acts in."""

from __future__ import annotations

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.graph.scene_graph import GraphError, SceneGraph
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.skill_client import SkillClient
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.observation import GraphObservation
from prism_planner.worlds.world import StepResult

_CATCH_UP_S = 10.0


class RobotEnvironment:
    """An `Environment[GraphObservation]`: skills are executed by the skill server, and what is known is
    the scene graph server's. For one task, in the worker thread."""

    def __init__(
        self, *, start: SceneGraph, graph: SceneGraphClient, skills: SkillClient, task_id: str
    ) -> None:
        """start: what is known at the beginning."""
        self._last = start
        self._graph = graph
        self._skills = skills
        self._task_id = task_id

    @property
    def known(self) -> SceneGraph:
        """The graph of the last observation."""
        return self._last

    def observe(self) -> GraphObservation:
        return GraphObservation(self._last)

    def step(self, skill: Skill, cancel: CancelToken | None = None) -> StepResult[GraphObservation]:
        cancel = cancel or CancelToken()
        result = self._skills.execute(skill, task_id=self._task_id, cancel=cancel)
        if cancel.cancelled:
            raise Cancelled
        if not self._graph.wait_for_revision(result.graph_revision, _CATCH_UP_S, cancel):
            cancel.raise_if_cancelled()
            return self._failed("the scene graph server does not answer")
        now = self._graph.snapshot()
        if now is None:
            return self._failed("the scene graph is not known any more")
        try:
            delta = now.diff(self._last)
        except GraphError as error:
            return self._failed(f"the scene graph was replaced during the task: {error}")
        self._last = now
        return StepResult(GraphObservation(now, delta, result.feedback), result.code)

    def _failed(self, message: str) -> StepResult[GraphObservation]:
        return StepResult(GraphObservation(self._last, feedback=(message,)), SkillCode.ROBOT_UNAVAILABLE)
