"""A ROS domain and an observing node for tests that start all nodes of a robot."""

from __future__ import annotations

import fcntl
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "spine" / "outdoor" / "campus_loop.yaml"


@pytest.fixture
def domain_id() -> Iterator[int]:
    """A ROS domain that no other test on this machine has."""
    for number in random.sample(range(1, 100), 99):
        with (Path(tempfile.gettempdir()) / f"prism-test-domain-{number}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield number
            return
    pytest.fail("all ROS domains are taken")


@pytest.fixture
def observer(domain_id: int) -> Iterator[Any]:
    """A node in that domain; spun by its executor when a test wants an answer."""
    rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain_id)
    executor = SingleThreadedExecutor(context=context)
    node = Node("observer", context=context)
    executor.add_node(node)
    yield node
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


@pytest.fixture(scope="session")
def scenario() -> Path:
    return SCENARIO
