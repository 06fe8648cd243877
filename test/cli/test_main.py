"""Help, version, and how the command fails."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import prism_planner
from prism_planner.cli.main import app

ROOT = Path(__file__).resolve().parents[2]

COMMANDS = [
    ["demo"],
    ["up"],
    ["task"],
    ["plan"],
    ["evaluate"],
    ["models", "list"],
    ["models", "verify"],
    ["graph", "show"],
    ["graph", "convert"],
]


def test_help_lists_the_commands_and_exit_codes(prism):
    result = prism("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert command[0] in result.stdout
    assert "130 cancelled" in " ".join(result.stdout.split())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_teaches_with_an_example(prism, command):
    result = prism(*command, "--help")
    assert result.returncode == 0
    assert f"prism {' '.join(command)}" in result.stdout


def test_version(prism):
    result = prism("--version")
    assert (result.returncode, result.stdout) == (0, f"prism {prism_planner.__version__}\n")


def test_help_imports_nothing_heavy():
    heavy = ["pydantic", "networkx", "numpy", "matplotlib", "rclpy", "llama_cpp", "openai", "yaml"]
    code = f"import sys, prism_planner.cli.main; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["dance"], ["plan"], ["demo", "--spead", "3"], ["graph"]])
def test_wrong_usage(prism, arguments):
    result = prism(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_a_bug_is_one_message_and_a_file(prism, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import prism_planner.graph.spine_json as module\n"
        "def broken(*_, **__): raise ZeroDivisionError('oh no')\n"
        "module.load_file = broken\n"
    )
    (tmp_path / "graph.json").write_text("{}")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    result = prism("graph", "show", "graph.json", PYTHONPATH=path)
    assert result.returncode == 70
    assert "Traceback" not in result.stderr
    assert "a bug in prism: ZeroDivisionError: oh no" in result.stderr
    details = Path(re.search(r"The details are in (\S+);", result.stderr)[1])
    assert "Traceback" in details.read_text()
    details.unlink()


def _commands_of(page: Path) -> list[str]:
    """The `prism ...` lines of the page's shell blocks."""
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = (line.split(" #")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line.startswith("prism ")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=f"{page.name}: {line}")
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
        for line in _commands_of(page)
    ],
)
def test_commands_in_the_documentation_parse(line):
    result = CliRunner().invoke(app, [*shlex.split(line)[1:], "--help"], prog_name="prism")
    assert result.exit_code == 0, result.output
