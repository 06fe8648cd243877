"""Simulated robots: how a UGV and a UAV move along a path, without physics. SI units, REP-103 frames."""

from prism_planner.worlds.robots.quadrotor import QuadrotorLimits, QuadrotorRobot
from prism_planner.worlds.robots.robot import Robot, RobotState
from prism_planner.worlds.robots.unicycle import UnicycleLimits, UnicycleRobot

__all__ = ["QuadrotorLimits", "QuadrotorRobot", "Robot", "RobotState", "UnicycleLimits", "UnicycleRobot"]
