"""Evaluations from the shell: figures, going on after a kill, bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest


def test_the_figures_of_the_expert(prism, campus, tmp_path, without_ros):
    result = prism(
        *("evaluate", "--domain", "spine", "--scenarios", campus, "--model", "expert"),
        *("--mask", "0.3", "--seed", "1", "--jobs", "2", "--json", "figures.json", "--out", "results"),
        **without_ros,
    )
    assert result.returncode == 0, result.stderr
    assert "fully specified" in result.stdout
    data = json.loads((tmp_path / "figures.json").read_text())
    assert data["episodes"] == 15 == len(data["tasks"])
    assert data["ci_low"] <= data["success"] <= data["ci_high"]
    assert sum(cell["episodes"] for cell in data["cells"].values()) == 15
    assert data["invalid_actions"] == 0
    assert len(list((tmp_path / "results" / "traces").glob("*.jsonl"))) == 15


def test_the_same_figures_with_any_number_of_jobs_and_from_the_store(prism, campus, tmp_path):
    def figures(*arguments):
        result = prism("evaluate", campus, "--model", "expert", "--json", "f.json", *arguments)
        assert result.returncode == 0, result.stderr
        data = json.loads((tmp_path / "f.json").read_text())
        return [(t["instruction"], t["success"], t["turns"], t["reason"], t["answer"]) for t in data["tasks"]]

    one = figures("--jobs", "1", "--out", "one")
    assert figures("--jobs", "2", "--out", "two") == one
    episodes = tmp_path / "one" / "episodes.jsonl"
    before = episodes.read_bytes()
    assert figures("--jobs", "1", "--out", "one", "--resume") == one
    assert episodes.read_bytes() == before
    assert figures("--jobs", "1", "--out", "one", "--fresh") == one
    assert episodes.read_bytes() != before  # run again, with other timings


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_evaluation_goes_on_where_it_was_stopped(prism, tmp_path, how):
    arguments = ["evaluate", "--model", "expert", "--jobs", "2", "--out", "results", "--json", "f.json"]
    arguments += ["--seed", "0", "--seed", "1", "--seed", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "prism_planner.cli.main", *arguments],
        cwd=tmp_path,
        env=os.environ,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    episodes = tmp_path / "results" / "episodes.jsonl"
    deadline = time.monotonic() + 60
    while not episodes.exists() or len(episodes.read_bytes().splitlines()) < 10:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, how) if how == signal.SIGKILL else process.send_signal(how)
    _, stderr = process.communicate(timeout=30)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "finished episodes" in stderr
        assert "Traceback" not in stderr
    done = episodes.read_bytes().rpartition(b"\n")[0]
    assert not (tmp_path / "f.json").exists()

    result = prism(*arguments)
    assert result.returncode == 0, result.stderr
    assert episodes.read_bytes().startswith(done)
    data = json.loads((tmp_path / "f.json").read_text())
    assert data["episodes"] == len(data["tasks"]) == len(episodes.read_bytes().splitlines())


MALFORMED = """\
format: prism-scenario/1
domain: spine
name: bad
world:
  robot: a_1
  regions: [{name: a_1, at: [0, 0]}]
  edges: [[a_1, b_1]]
tasks: [{instruction: "Go", success: [{visited: a_1}]}]
"""

IDLE = """\
format: prism-scenario/1
domain: spine
name: idle
world: {robot: a_1, regions: [{name: a_1, at: [0, 0]}]}
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--scenarios", "absent"], "absent: there is no such scenario file or directory"),
        (["--scenarios", "empty"], "empty: no *.yaml scenario"),
        (["--scenarios", "bad.yaml"], "bad.yaml:7: world.edges[0][1]: no region named 'b_1'"),
        (["--scenarios", "bad.yaml", "--domain", "cooking"], "there is no domain 'cooking'"),
        (["--domain", "cooking"], "there is no domain 'cooking'"),
        (["--scenarios", "idle.yaml"], "idle.yaml: no tasks to run"),
        (["--mask", "1.5"], "less than or equal to 1"),
        (["--style", "rude"], "rude"),
        (["--out", "bad.yaml"], "bad.yaml/episodes.jsonl: cannot be opened"),
    ],
)
def test_bad_input(refused, tmp_path, arguments, expected):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.yaml").write_text(MALFORMED)
    (tmp_path / "idle.yaml").write_text(IDLE)
    assert expected in refused("evaluate", "--model", "expert", *arguments)


def test_an_unknown_model(refused, campus):
    for jobs in ("1", "2"):
        message = refused("evaluate", campus, "--model", "gpt-17", "--jobs", jobs, code=3)
        assert "gpt-17" in message


def test_an_endpoint_that_is_down_ends_the_evaluation_and_nothing_is_kept(refused, campus, tmp_path):
    message = refused(
        *(
            "evaluate",
            campus,
            "--model",
            "openai:none",
            "--jobs",
            "1",
            "--json",
            "f.json",
            "--out",
            "results",
        ),
        code=3,
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_API_KEY="none",
    )
    assert "127.0.0.1:9" in message
    assert (tmp_path / "results" / "episodes.jsonl").read_bytes() == b""
    assert not (tmp_path / "f.json").exists()
