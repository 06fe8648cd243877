"""The commands that run the nodes: demo, up and task, over real ROS 2."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prism_planner.domains.trace import PlanTrace

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("prism_msgs.msg._plan", reason="prism_msgs is not built; run `make setup`")


@pytest.fixture
def domain(domain_id) -> dict[str, str]:
    """A ROS domain of these tests' own."""
    return {"ROS_DOMAIN_ID": str(domain_id), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


@pytest.fixture
def stack(tmp_path, domain):
    """`prism up` in the background, on the campus; ended with the test."""
    output = tmp_path / "up.log"
    with output.open("w") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "prism_planner.cli.main", "up", "--robot", "jackal"),
                *("--scenario", "campus-loop", "--model", "expert", "--run-directory", str(tmp_path / "run")),
            ],
            env={**os.environ, **domain},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(30)
    assert code == 0, output.read_text()
    assert "Traceback" not in output.read_text()


def test_the_demo_answers_and_leaves_picture_and_trace(prism, tmp_path):
    result = prism("demo", "--model", "expert", "--speed", "40", "--out", "out", timeout=180)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "map_region(path_1)" in result.stdout
    assert "fallen_branch_1" in result.stdout
    assert "judged by the scenario: solved" in result.stdout
    picture = Path(re.search(r"picture: (\S+)", result.stdout)[1])
    assert picture == tmp_path / "out" / "episode.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    trace = PlanTrace.read(tmp_path / "out" / "trace.jsonl")
    assert trace.outcome.status == "succeeded"
    assert trace.header.task == "Is there debris on the path?"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--task", ""], "the task is empty"),
        (["--scenario", "atlantis"], "campus-loop"),
        (["--scenario", "bad.yaml"], "bad.yaml:"),
    ],
)
def test_a_demo_with_bad_input_starts_nothing(refused, tmp_path, arguments, expected):
    (tmp_path / "bad.yaml").write_text("format: prism-scenario/9\n")
    assert expected in refused("demo", *arguments)


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, "prism cancel"])
def test_tasks_go_to_the_running_stack_and_are_cancelled(prism, domain, tmp_path, way):
    # At walking speed the robot is on its way for a minute: time enough to interrupt it.
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "prism_planner.cli.main",
            "task",
            "--wait",
            "60",
            "Is there debris on the path?",
        ],
        env={**os.environ, **domain, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    assert "map_region(path_1)" in first, first or process.communicate(timeout=30)
    busy = prism("task", "Map the path", **domain)
    assert busy.returncode == 5
    assert "busy" in busy.stderr
    if way == "prism cancel":
        cancelled = prism("cancel", **domain)
        assert cancelled.returncode == 0, cancelled.stderr
        assert "cancelled: Is there debris on the path?" in cancelled.stdout
        assert "there was no task" in prism("cancel", **domain).stdout
    else:
        process.send_signal(way)
    started = time.monotonic()
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "cancelled" in stderr
    assert "Traceback" not in stderr
    assert time.monotonic() - started < 20

    # The stack is free again.
    result = prism("task", "Is this a place that nobody has ever told you about, qwxz?", **domain)
    assert result.returncode in (0, 1)
    assert "busy" not in result.stderr
    traces = sorted((tmp_path / "run" / "traces").glob("*.jsonl"))
    assert PlanTrace.read(traces[0]).outcome.status == "cancelled"


@pytest.mark.parametrize("command", [("task", "go", "--wait", "0"), ("up", "--scenario", "campus-loop")])
@pytest.mark.parametrize("namespace", ["a b", "1st", "a//b", "ü"])
def test_a_namespace_that_ros_refuses(refused, command, namespace):
    assert "--namespace" in refused(*command, "--namespace", namespace)


@pytest.mark.parametrize("option", ["--seed", "--max-steps"])
def test_numbers_that_the_message_cannot_hold(refused, option):
    assert option in refused("task", option, str(2**32), "go")


def test_slashes_around_a_namespace(refused, domain):
    assert "/jackal1/execute_task" in refused(
        "task", "go", "--namespace", "/jackal1/", "--wait", "0", code=4, **domain
    )


def test_without_a_planner_task_says_what_to_do(refused, domain):
    message = refused("task", "--wait", "0.5", "Map the path", code=4, **domain)
    assert "prism up" in message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--robot", "toaster"], "jackal"),
        (["--scenario", "absent.yaml"], "absent.yaml: there is no such scenario"),
        (["--scenario", "campus-loop", "--params", "absent.yaml"], "absent.yaml: there is no such parameter"),
    ],
)
def test_up_with_bad_input_starts_nothing(refused, arguments, expected):
    assert expected in refused("up", *arguments)
