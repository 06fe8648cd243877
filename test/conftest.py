"""What tests of several parts share."""

from __future__ import annotations

import fcntl
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
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
