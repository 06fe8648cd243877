"""Simulated robots arrive, keep their limits, stop, and stay near their path."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism_planner.skills.keep_out import Circle
from prism_planner.worlds.robots import (
    QuadrotorLimits,
    QuadrotorRobot,
    Robot,
    RobotState,
    UnicycleLimits,
    UnicycleRobot,
)

Point = tuple[float, float]
TICK_S = 0.05
# How far the robots may cut or overshoot corners, metres.
CORRIDOR = {UnicycleRobot: 0.3, QuadrotorRobot: 1.5}

coordinate = st.floats(-25, 25)
paths = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=5)
robots = st.sampled_from([UnicycleRobot, QuadrotorRobot])


def _drive(robot: Robot, *, seconds: float = 600) -> list[RobotState]:
    states = [robot.state]
    while not robot.arrived and len(states) * TICK_S < seconds:
        states.append(robot.tick(TICK_S))
    return states


def _off_path(state: RobotState, path: list[Point]) -> float:
    legs = pairwise(path) if len(path) > 1 else [(path[0], path[0])]
    return min(Circle(center=(state.x, state.y), radius=0).distance(a, b) for a, b in legs)


@settings(deadline=None, max_examples=40)
@given(kind=robots, path=paths, yaw=st.floats(-math.pi, math.pi))
def test_a_robot_follows_its_path_within_its_limits(
    kind: type[UnicycleRobot | QuadrotorRobot], path: list[Point], yaw: float
) -> None:
    robot = kind(yaw=yaw)
    robot.follow(path)
    states = _drive(robot)
    assert robot.arrived
    last, limits = states[-1], robot.limits
    assert math.dist((last.x, last.y), path[-1]) <= limits.tolerance
    assert last.speed == last.wz == last.vz == 0
    for before, state in pairwise(states):
        values = [getattr(state, name) for name in RobotState.__slots__]
        assert all(map(math.isfinite, values))
        assert state.speed <= limits.cruise + 1e-9
        assert abs(state.wz) <= limits.max_turn + 1e-9
        assert -math.pi <= state.yaw <= math.pi
        assert math.dist((before.x, before.y), (state.x, state.y)) <= limits.cruise * TICK_S + 1e-9
        assert _off_path(state, [(0.0, 0.0), *path]) <= CORRIDOR[kind]
        if isinstance(robot, UnicycleRobot):
            assert abs(state.vx - before.vx) <= limits.acceleration * TICK_S + 1e-9
            assert state.vx >= 0
            assert state.vy == state.z == 0


@settings(deadline=None, max_examples=20)
@given(kind=robots, path=paths, ticks=st.integers(1, 200))
def test_a_stopped_robot_brakes_as_promised_and_stays(
    kind: type[UnicycleRobot | QuadrotorRobot], path: list[Point], ticks: int
) -> None:
    robot = kind()
    robot.follow(path)
    for _ in range(ticks):
        moving = robot.tick(TICK_S)
    robot.stop()
    braking_s = robot.limits.cruise / robot.limits.brake
    braked = robot.tick(braking_s + 0.02)
    assert braked.speed == 0
    assert math.dist((moving.x, moving.y), (braked.x, braked.y)) <= moving.speed * braking_s / 2 + 0.02
    robot.tick(1.0)
    later = robot.tick(1.0)
    assert later.speed == later.wz == later.vz == 0
    assert (later.x, later.y) == (braked.x, braked.y)


@pytest.mark.parametrize("tick", [0.01, 0.02, 0.05, 0.1, 0.2])
def test_a_ground_robot_at_cruise_stands_within_200_ms(tick: float) -> None:
    robot = UnicycleRobot()
    robot.follow([(50, 0)])
    while robot.state.speed < robot.limits.cruise:
        robot.tick(0.05)
    robot.stop()
    for _ in range(round(0.2 / tick)):
        robot.tick(tick)
    assert (robot.state.vx, robot.state.wz) == (0, 0)


def test_a_turning_ground_robot_stands_within_200_ms() -> None:
    robot = UnicycleRobot()
    robot.follow([(-50, 0.1)])
    robot.tick(1.0)
    assert abs(robot.state.wz) == pytest.approx(robot.limits.max_turn)
    robot.stop()
    assert robot.tick(0.2).wz == 0


def test_a_quadrotor_climbs_before_it_travels_and_holds_its_altitude() -> None:
    robot = QuadrotorRobot(limits=QuadrotorLimits(altitude=15))
    robot.follow([(30, 0), (30, 30)])
    for state in _drive(robot):
        assert -2 <= state.vz <= 2
        if state.speed > 0:
            assert abs(state.z - 15) < 1.5
    assert robot.state.z == pytest.approx(15, abs=0.2)
    assert robot.state.yaw == pytest.approx(math.pi / 2, abs=0.2)
    robot.stop()
    assert robot.tick(5.0).z == pytest.approx(15, abs=0.2)


def test_the_twist_is_in_the_robots_own_frame() -> None:
    robot = QuadrotorRobot(z=20, yaw=math.pi / 2)
    robot.follow([(100, 0)])  # due east, while facing north
    state = robot.tick(0.1)
    assert state.vy < 0
    assert abs(state.vx) < abs(state.vy)


@pytest.mark.parametrize("make", [UnicycleRobot, QuadrotorRobot])
def test_a_new_path_replaces_the_old_one(make: Callable[[], UnicycleRobot | QuadrotorRobot]) -> None:
    robot = make()
    robot.follow([(40, 0)])
    robot.tick(5.0)
    robot.follow([(0, 0)])
    _drive(robot)
    assert math.dist((robot.state.x, robot.state.y), (0, 0)) <= robot.limits.tolerance


@pytest.mark.parametrize("make", [UnicycleRobot, lambda: QuadrotorRobot(z=20)])
@pytest.mark.parametrize("path", [[], [(0.0, 0.0)], [(0.0, 0.0)] * 5])
def test_a_path_to_here_is_done_at_once(
    make: Callable[[], UnicycleRobot | QuadrotorRobot], path: list[Point]
) -> None:
    robot = make()
    robot.follow(path)
    robot.tick(0.05)
    assert robot.arrived
    assert (robot.state.x, robot.state.y) == (0, 0)


def test_two_robots_driven_alike_move_alike() -> None:
    def run() -> list[RobotState]:
        robot = UnicycleRobot(yaw=1.0)
        robot.follow([(5, 5), (9, -3)])
        return _drive(robot)

    assert run() == run()


@pytest.mark.parametrize("make", [UnicycleRobot, QuadrotorRobot])
def test_nonsense_is_refused(make: Callable[[], UnicycleRobot | QuadrotorRobot]) -> None:
    robot = make()
    for path in ([(math.nan, 0.0)], [(0.0, math.inf)]):
        with pytest.raises(ValueError, match="finite coordinates"):
            robot.follow(path)
    for dt in (0.0, -1.0, math.nan, 1e9):
        with pytest.raises(ValueError, match="a tick lasts"):
            robot.tick(dt)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_limits_are_positive_numbers(bad: float) -> None:
    with pytest.raises(ValueError, match="cruise must be a finite number above 0"):
        UnicycleLimits(cruise=bad)
    with pytest.raises(ValueError, match="altitude must be a finite number above 0"):
        QuadrotorLimits(altitude=bad)
