"""What commands that talk to a robot need to find first."""

from __future__ import annotations

import importlib
import re

from prism_planner.cli.errors import NO_ROBOT, CommandError


def require_ros() -> None:
    """Raise CommandError, with what to install, unless ROS 2 and our messages can be imported."""
    try:
        importlib.import_module("rclpy")
    except ImportError as error:
        raise CommandError(
            f"ROS 2's Python library cannot be imported ({error}). With ROS 2 from apt: "
            "`source /opt/ros/jazzy/setup.bash`; without: `make setup`, then .venv/bin/prism. "
            "`prism plan` and `prism evaluate` work without ROS",
            NO_ROBOT,
        ) from error
    try:
        # A class and not the package: in a source checkout the folder prism_msgs/ is importable unbuilt.
        importlib.import_module("prism_msgs.action").ExecuteTask  # noqa: B018
    except (ImportError, AttributeError) as error:
        raise CommandError(
            f"the messages of prism_msgs cannot be imported ({error}). Build them with `make setup`, or in a "
            "ROS 2 workspace with `colcon build`, and source its install/setup.bash",
            NO_ROBOT,
        ) from error


def robot_namespace(given: str) -> str:
    """A robot's namespace as ROS wants it, with or without slashes around it. Raises CommandError."""
    namespace = given.strip("/")
    if namespace and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*", namespace):
        raise CommandError(
            f"--namespace {given!r}: use letters, digits and '_', not starting with a digit, as in jackal1"
        )
    return namespace
