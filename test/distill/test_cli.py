"""The commands as their users run them, and plug-in commands that cannot be loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import yaml

from prism_distill.cli import stages

STAGES = ["synthesize", "elicit", "train", "export", "report", "distill"]


@pytest.fixture
def run_file(small, tmp_path):
    def write(**sections):
        file = tmp_path / "run.yaml"
        file.write_text(yaml.safe_dump(small(**sections).model_dump(mode="json")))
        return file

    return write


def test_help_lists_the_stages_and_imports_nothing_heavy(prism):
    result = prism("--help")
    assert result.returncode == 0
    for stage in STAGES:
        assert re.search(rf"│ {stage} ", result.stdout)
    heavy = ["torch", "transformers", "datasets", "pyarrow", "numpy", "pydantic", "matplotlib"]
    code = (
        "import sys; from typer.testing import CliRunner; from prism_planner.cli.main import app;"
        f"CliRunner().invoke(app, ['--help']); print([m for m in {heavy} if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_teaches_with_an_example(prism, stage):
    result = prism(stage, "--help")
    assert result.returncode == 0
    assert f"prism {stage} config/distill/" in result.stdout


def test_distill_has_the_tables_too(prism):
    result = prism("distill", "--help")
    for table in ("table1", "table2", "table3", "figure5"):
        assert table in result.stdout
    misspelt = prism("distill", "tabel1")
    assert misspelt.returncode == 2
    assert "Did you mean 'table1'" in misspelt.stderr


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"elicitation": {"max_steps": 7}}, r"stage elicitation .*\n.*elicitation.max_steps: 30 then, 7 now"),
        ({"scenarios": {"train": 5}}, r"stage scenarios .*\n.*scenarios.train: \d+ then, 5 now"),
        ({"dataset": {"max_rows": 3}}, r"stage dataset .*\n.*dataset.max_rows: nothing then, 3 now"),
    ],
)
def test_what_was_made_with_other_settings_is_not_trained_on(prism, run_file, changed, said):
    file = run_file()
    for stage in ("synthesize", "elicit"):
        assert prism(stage, file).returncode == 0
    config = yaml.safe_load(file.read_text())
    for section, values in changed.items():
        config[section] |= values
    file.write_text(yaml.safe_dump(config))
    result = prism("train", file)
    assert result.returncode == 2
    assert re.search(said, result.stderr)
    assert "bring it up to date" in result.stderr


def test_progress_is_said_in_lines_where_there_is_no_terminal(run_file, monkeypatch, capsys):
    monkeypatch.setattr(stages, "_SECONDS_PER_LINE", 0.0)
    stages.synthesize(run_file(), fresh=False, only_estimate=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(re.fullmatch(r"  \d+ of 14(, about .+ left)?", line) for line in lines)


def test_scenarios_and_dataset_come_with_an_estimate_first(prism, run_file, small):
    file = run_file()
    first = prism("synthesize", file)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("scenarios: 14 scenarios, about ")
    elicited = prism("elicit", file)
    assert elicited.returncode == 0, elicited.stderr
    assert re.search(r"(?m)^episodes: \d+ episodes, about ", elicited.stdout)
    assert re.search(r"(?m)^elicitation: \d+ of \d+ episodes kept", elicited.stdout)
    assert (small().run_directory / "dataset" / "README.md").is_file()
    again = prism("elicit", file)
    assert again.stdout.count("done before") == 2


def test_an_estimate_alone_makes_nothing(prism, run_file, small):
    result = prism("synthesize", run_file(), "--estimate")
    assert result.returncode == 0
    assert result.stdout.startswith("scenarios: 14 scenarios")
    assert not (small().run_directory / "scenarios").exists()


@pytest.mark.parametrize(
    ("arguments", "text", "expected"),
    [
        (
            ["synthesize"],
            "name: a\nscenarois: {}\n",
            "run.yaml:2: scenarois: unknown key; did you mean `scenarios`?",
        ),
        (["distill"], "name: a\ndomain: spien\n", "run.yaml:2: domain: there is no domain 'spien'"),
        (
            ["elicit"],
            "name: a\n",
            "log/distill/a: the stage scenarios has not been started: run `prism synthesize",
        ),
        (["train"], "name: a\n", "the stage dataset has not been started: run `prism elicit CONFIG` first"),
        (["train"], "name: a\nbase: {model: nowhere/to-be-found}\n", "nowhere/to-be-found is no base model"),
        (
            ["distill"],
            "name: a\nbase: {model: nowhere/to-be-found}\n",
            "nowhere/to-be-found is no base model",
        ),
        (["export"], "name: a\n", "the stage training has not been started: run `prism train CONFIG` first"),
        (["export", "--registry", "r.yaml"], "name: a\n", "say with --register NAME under which name"),
        (["report"], "name: a\n", "the stage export has not been started: run `prism export CONFIG` first"),
    ],
)
def test_a_command_that_cannot_go_on_says_why_in_one_message(prism, tmp_path, arguments, text, expected):
    (tmp_path / "run.yaml").write_text(text)
    result = prism(arguments[0], "run.yaml", *arguments[1:], HF_HUB_OFFLINE="1")
    assert result.returncode in (2, 3)
    assert expected in result.stderr
    assert "Traceback" not in result.stderr
    assert "a bug in prism" not in result.stderr
    assert not list(tmp_path.glob("log/distill/a/*/"))  # no stage was begun


def test_a_run_that_is_worked_on_is_refused(prism, run_file, small):
    from prism_distill.run import Run

    file = run_file()
    with Run(small()):
        result = prism("synthesize", file)
    assert result.returncode == 2
    assert f"process {os.getpid()} is working on this run" in result.stderr


# ------------------------------------------------------------------ plug-ins


@pytest.fixture
def broken_plugin(tmp_path):
    """An installed package whose command cannot be imported."""
    site = tmp_path / "site"
    info = site / "elsewhere-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[prism_planner.commands]\nwonder = elsewhere.cli:app\n")
    return {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}


def test_a_broken_plugin_breaks_nothing_else(prism, broken_plugin):
    result = prism("--help", **broken_plugin)
    assert result.returncode == 0
    assert "Not available: elsewhere cannot be loaded." in result.stdout
    assert prism("models", "list", **broken_plugin).returncode == 0


def test_a_broken_plugin_says_what_is_wrong_when_it_is_used(prism, broken_plugin):
    result = prism("wonder", "--at", "it", **broken_plugin)
    assert result.returncode == 2
    assert "wonder: the plug-in elsewhere.cli:app of the package elsewhere cannot be loaded" in result.stderr
    assert "No module named 'elsewhere'" in result.stderr
