"""Small runs of the pipeline, made as its users make them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from prism_distill.config import DistillConfig
from prism_distill.run import Run
from prism_distill.synthesis import synthesize

SMALL = {"train": 8, "validation": 3, "test": 3, "shard": 3, "workers": 1, "size": 8, "tasks": 3}


def config(directory: Path, **sections: Any) -> DistillConfig:
    """A run of few and small scenarios, in one process."""
    sections["scenarios"] = SMALL | sections.get("scenarios", {})
    sections["elicitation"] = {"workers": 1} | sections.get("elicitation", {})
    return DistillConfig.model_validate({"name": "small", "directory": directory, "seed": 3} | sections)


@pytest.fixture
def small(tmp_path: Path) -> Callable[..., DistillConfig]:
    return lambda **sections: config(tmp_path, **sections)


@pytest.fixture
def synthesized(small: Callable[..., DistillConfig]) -> Callable[..., DistillConfig]:
    """A config whose scenarios are there."""

    def make(**sections: Any) -> DistillConfig:
        made = small(**sections)
        with Run(made) as run:
            synthesize(run)
        return made

    return make


@pytest.fixture
def killed(tmp_path: Path) -> Callable[..., dict[Path, int]]:
    """`killed(command, config, folder, pattern)` starts `prism COMMAND`, kills it when the first file of the
    pattern is in the folder, and waits until its workers are gone, too. The files, with times of writing.
    """

    def run(command: str, config: DistillConfig, folder: Path, pattern: str) -> dict[Path, int]:
        file = tmp_path / f"{config.name}.yaml"
        file.write_text(yaml.safe_dump(config.model_dump(mode="json")))
        process = subprocess.Popen(
            [sys.executable, "-m", "prism_planner.cli.main", command, str(file)],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while not list(folder.glob(pattern)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.kill()
        process.wait()
        while time.monotonic() < deadline:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return {path: path.stat().st_mtime_ns for path in folder.glob(pattern)}
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("workers outlived the command")

    return run


@pytest.fixture
def prism(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`prism(*arguments, **environment)` runs the command in an empty directory."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "prism_planner.cli.main", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "120", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
