"""The command as its users run it: a process, its output and its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAMPUS = ROOT / "scenarios" / "spine" / "outdoor" / "campus_loop.yaml"

Prism = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def prism(tmp_path) -> Prism:
    """`prism(*arguments, **environment)` runs the command in an empty directory."""

    def run(*arguments: str | Path, timeout: float = 120, **environment: str):
        return subprocess.run(
            [sys.executable, "-m", "prism_planner.cli.main", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120", **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture
def refused(prism) -> Callable[..., str]:
    """Run a command that must fail with one message and no traceback; returns the message."""

    def run(*arguments: str | Path, code: int = 2, **environment: str) -> str:
        result = prism(*arguments, **environment)
        assert result.returncode == code, result.stderr
        assert "Traceback" not in result.stderr
        assert "a bug in prism" not in result.stderr
        assert result.stderr.strip()
        return result.stderr

    return run


@pytest.fixture
def without_ros(tmp_path_factory) -> dict[str, str]:
    """An environment in which rclpy cannot be imported."""
    blocker = tmp_path_factory.mktemp("no_ros")
    (blocker / "rclpy.py").write_text("raise ImportError('no ROS here')")
    return {"PYTHONPATH": os.pathsep.join([str(blocker), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture
def campus() -> Path:
    return CAMPUS
