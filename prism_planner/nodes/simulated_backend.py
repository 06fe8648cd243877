"""A simulated robot in an emulated world: drives in real (or simulated) time and publishes odometry."""

from __future__ import annotations

import math
import threading
import time
from itertools import pairwise
from pathlib import Path

from nav_msgs.msg import Odometry
from pydantic import Field
from rclpy.node import Node

from prism_planner.cancellation import CancelToken
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.scene_graph import GraphError, SceneGraph
from prism_planner.nodes.conversions import MAP_FRAME, pose_to_msg
from prism_planner.nodes.graph_client import SceneGraphClient
from prism_planner.nodes.parameters import NodeParameters
from prism_planner.nodes.skill_backend import RobotProgress, SkillResult
from prism_planner.skills.keep_out import Point
from prism_planner.skills.monitor import SafetyLimits, SafetyMonitor
from prism_planner.skills.skill import Skill, SkillCode
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.observation import GraphObservation
from prism_planner.worlds.robots import (
    QuadrotorLimits,
    QuadrotorRobot,
    Robot,
    UnicycleLimits,
    UnicycleRobot,
)
from prism_planner.worlds.robots.robot import MAX_TICK_S
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import Motion, SemanticGraphWorld
from prism_planner.worlds.world import StepResult

_POLL_S = 0.01
_AT_REST = 1e-3
_ON_THE_WAY_M = 0.05
_STOP_TIMEOUT_S = 5.0
_LONGEST_STALL_S = 0.5
_PREPARE_TIMEOUT_S = 2.0
_GRAPH_TIMEOUT_S = 10.0


class SimulationParameters(NodeParameters):
    """Parameters of the simulated robot, `simulation.*`."""

    cruise: float = Field(1.0, gt=0.0, le=50.0, description="Cruise speed, m/s.")
    brake: float = Field(6.0, gt=0.0, le=100.0, description="Deceleration when stopped, m/s^2.")
    altitude: float = Field(20.0, gt=0.0, le=500.0, description="Flight altitude of a UAV, metres.")
    speed_factor: float = Field(
        1.0, gt=0.0, le=1000.0, description="How many times faster than the clock the simulation runs."
    )
    odom_rate: float = Field(50.0, ge=1.0, le=200.0, description="Odometry messages per second of the clock.")
    seed: int = Field(0, ge=0, description="Seed of what is hidden at random.")
    mask_regions: float = Field(
        -1.0, ge=-1.0, le=1.0, description="Fraction of the known regions to hide; -1: the scenario's."
    )
    mask_objects: float = Field(
        -1.0, ge=-1.0, le=1.0, description="Fraction of the known objects to hide; -1: the scenario's."
    )


class SimulatedBackend:
    """Drives a `Robot` through a `SemanticGraphWorld`, and sends what it discovers to the server.

    The world is used in the worker thread only; the robot is shared with the timer that moves it.
    """

    def __init__(
        self,
        node: Node,
        *,
        scenario: Path,
        platform: str,
        parameters: SimulationParameters,
        limits: SafetyLimits,
        graph: SceneGraphClient,
    ) -> None:
        """limits: where the robot may drive. Raises ScenarioError, and ValueError for another domain's."""
        self._node = node
        self._parameters = parameters
        self._graph = graph
        # The skill server's own monitor counts the skills of a task; this one finds the ways.
        ways = SafetyMonitor(limits.model_copy(update={"max_skills_per_task": 2**31}))
        loaded = load_scenario(scenario)
        mask = Mask(
            regions=loaded.mask.regions if parameters.mask_regions < 0 else parameters.mask_regions,
            objects=loaded.mask.objects if parameters.mask_objects < 0 else parameters.mask_objects,
        )
        self._world = SemanticGraphWorld(loaded, mask=mask, seed=parameters.seed, monitor=ways)
        self._lock = threading.Lock()
        self._robot = _robot(platform, parameters, self._world.known)
        self._remaining = 0.0
        self._last_tick = node.get_clock().now()
        self._odometry = node.create_publisher(Odometry, "odom", 10)
        self._timer = node.create_timer(1.0 / parameters.odom_rate, self._tick)
        self._platform = platform

    def prepare(self, cancel: CancelToken) -> str:
        """Join the scene graph: give an empty one what is known at the start; continue one that this
        world has filled before, from where the robot was."""
        known = self._graph.wait_for_graph(_PREPARE_TIMEOUT_S, cancel)
        if known is None:
            return "no scene graph server answers; start scene_graph_server"
        if len(known) == 0:
            start = self._world.known.as_delta()
            stored = self._graph.update(start, timeout_s=_PREPARE_TIMEOUT_S, cancel=cancel)
            if not stored.stored:
                return f"the scene graph could not be filled: {stored.message}"
        else:
            problem = self._continue(known)
            if problem:
                return problem
        return ""

    def execute(self, skill: Skill, cancel: CancelToken) -> SkillResult:
        motion = self._world.plan_motion(skill)
        if not isinstance(motion, Motion):
            return self._store(motion)
        with self._lock:
            points = _ahead(self._robot, motion)
            self._robot.follow(points)
            self._remaining = _length(self._robot, points)
        while not self._arrived():
            if cancel.wait(_POLL_S):
                return self._interrupt(skill, motion)
        return self._store(self._world.complete(skill, motion))

    @property
    def progress(self) -> RobotProgress | None:
        with self._lock:
            state = self._robot.state
            return RobotProgress(state.x, state.y, state.z, state.yaw, self._remaining)

    def stop(self) -> None:
        with self._lock:
            self._robot.stop()

    def close(self) -> None:
        self.stop()
        self._timer.cancel()

    # In the worker thread

    def _continue(self, known: SceneGraph) -> str:
        """Take up what an earlier process of this node had discovered."""
        world = self._world
        foreign = [name for name in world.known.regions if name not in known]
        location = known.robot_location
        if foreign:
            return f"the scene graph is of another world (no {foreign[0]}): start with an empty journal"
        if location is None:
            return "the scene graph does not say where the robot is"
        try:
            world.known.apply(known.diff(world.known))
        except GraphError as error:
            return f"the scene graph is of another world: {error}"
        if location != world.record.final_location:
            world.record.add("visited", location)
        with self._lock:
            self._robot = _robot(self._platform, self._parameters, world.known)
        return ""

    def _arrived(self) -> bool:
        with self._lock:
            return self._robot.arrived

    def _interrupt(self, skill: Skill, motion: Motion) -> SkillResult:
        self.stop()
        deadline = time.monotonic() + _STOP_TIMEOUT_S
        while self._moving() and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        with self._lock:
            here = (self._robot.state.x, self._robot.state.y)
        known = self._world.known
        reached = min(motion.route, key=lambda name: math.dist(here, known.node(name).coords))
        said = f"{skill} was cancelled; the robot stands near {reached}"
        return self._store(self._world.interrupt(motion, reached, SkillCode.CANCELLED, said))

    def _moving(self) -> bool:
        with self._lock:
            state = self._robot.state
        return max(state.speed, abs(state.vz), abs(state.wz)) > _AT_REST

    def _store(self, step: StepResult[GraphObservation]) -> SkillResult:
        """Send what a step revealed to the server, and wait until it is stored."""
        feedback = step.observation.feedback
        message = "" if step.ok else " ".join(feedback)
        delta: GraphDelta = step.observation.delta
        if not delta:
            return SkillResult(step.code, message, feedback)
        stored = self._graph.update(delta, timeout_s=_GRAPH_TIMEOUT_S)
        if not stored.stored:
            return SkillResult.failed(
                SkillCode.ROBOT_UNAVAILABLE, f"what was discovered could not be stored: {stored.message}"
            )
        return SkillResult(step.code, message, feedback, stored.revision)

    # In the executor's thread

    def _tick(self) -> None:
        now = self._node.get_clock().now()
        # The clock may jump: from 0 when simulated time begins, and back when it is reset.
        seconds = min((now - self._last_tick).nanoseconds * 1e-9, _LONGEST_STALL_S)
        elapsed = seconds * self._parameters.speed_factor
        self._last_tick = now
        with self._lock:
            while elapsed > 0:
                before = self._robot.state
                step = min(elapsed, MAX_TICK_S)
                after = self._robot.tick(step)
                driven = math.dist((before.x, before.y), (after.x, after.y))
                self._remaining = 0.0 if self._robot.arrived else max(0.0, self._remaining - driven)
                elapsed -= step
            state = self._robot.state
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = MAP_FRAME
        message.header.stamp = now.to_msg()
        message.pose.pose = pose_to_msg(state.x, state.y, state.z, state.yaw)
        twist = message.twist.twist
        twist.linear.x, twist.linear.y, twist.linear.z = state.vx, state.vy, state.vz
        twist.angular.z = state.wz
        self._odometry.publish(message)


def _robot(platform: str, parameters: SimulationParameters, known: SceneGraph) -> Robot:
    """The robot at rest in its region."""
    x, y = known.node(known.robot_location or "").coords
    if platform == "uav":
        flying = QuadrotorLimits(
            altitude=parameters.altitude, cruise=parameters.cruise, brake=parameters.brake
        )
        return QuadrotorRobot(x=x, y=y, limits=flying)
    return UnicycleRobot(x=x, y=y, limits=UnicycleLimits(cruise=parameters.cruise, brake=parameters.brake))


def _ahead(robot: Robot, motion: Motion) -> tuple[Point, ...]:
    """The points to drive through. A robot that was stopped on the way to the second region goes on from
    there, not back to the first."""
    points = motion.polyline
    if len(motion.route) > 1:
        here = (robot.state.x, robot.state.y)
        detour = math.dist(points[0], here) + math.dist(here, points[1]) - math.dist(points[0], points[1])
        if detour < _ON_THE_WAY_M:
            return points[1:]
    return points


def _length(robot: Robot, points: tuple[Point, ...]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(((robot.state.x, robot.state.y), *points)))
