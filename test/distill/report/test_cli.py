"""The commands: figures, going on, files, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prism_distill.report.cli import app
from prism_distill.report.index import write_report
from prism_planner.cli.errors import CommandError

EXPERTS = ("--prism", "expert", "--base", "expert", "--jobs", "1")


def prism(*arguments: str | Path) -> str:
    """Run a command; what it printed. Raises what it raises."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_tables_count_the_same_episodes_and_go_on(yard: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = prism("table1", yard, *EXPERTS, "--mask", "0", "--out", out, "--json", tmp_path / "1.json")
    assert "paper 92.0%" in shown
    figures = json.loads((tmp_path / "1.json").read_text())
    assert figures["prism"]["spine"]["episodes"] == 2
    assert figures["prism"]["spine"]["success"] == 1.0
    episodes = (out / "episodes.jsonl").read_bytes()
    prism("table2", yard, *EXPERTS, "--mask", "0", "--out", out, "--json", tmp_path / "2.json")
    assert (out / "episodes.jsonl").read_bytes() == episodes
    assert json.loads((tmp_path / "2.json").read_text())["source"]["mapping/full"]["episodes"] == 2
    assert {f"table{n}.{kind}" for n in (1, 2) for kind in ("json", "md", "png")} <= {
        file.name for file in out.iterdir()
    }


def test_table3_from_a_file(yard: Path, tmp_path: Path) -> None:
    adapters = tmp_path / "ablation.yaml"
    adapters.write_text("full: expert\nwithout_masking: expert\n")
    command = ("table3", yard, "--adapters", adapters, "--jobs", "1", "--out", tmp_path / "out")
    with pytest.raises(CommandError, match=r"`without_validation`: train one .*--without-validation"):
        prism(*command)
    prism(*command, "--without-validation", "expert", "--json", tmp_path / "3.json")
    figures = json.loads((tmp_path / "3.json").read_text())
    assert list(figures) == ["full", "without masking", "without validation"]
    for content, said in (
        ("full: [", "not valid YAML"),
        ("- full", "expected the keys full"),
        ("full: a\nwithout_masking: b\nwithout_validation: c\nbass: d", "bass"),
    ):
        adapters.write_text(content)
        with pytest.raises(CommandError, match=said) as error:
            prism(*command)
        assert str(adapters) in str(error.value)


def test_a_run_gets_its_page(yard: Path, tmp_path: Path) -> None:
    run = tmp_path / "demo"
    (run / "dataset").mkdir(parents=True)
    (run / "dataset" / "README.md").write_text("# Card")
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "curves.png").write_bytes(b"")
    page = write_report(run)
    text = page.read_text()
    assert page == run / "report" / "index.md"
    assert "Dataset card: [README.md](../dataset/README.md)" in text
    assert "Model card: not there yet" in text
    assert "![training curves](../checkpoints/curves.png)" in text
    assert f"prism distill table2 --run {run}" in text
    prism("table1", yard, *EXPERTS, "--run", run)
    text = page.read_text()
    assert "![table1](table1.png)" in text
    assert "2 of 2" in text
    assert "prism distill table1" not in text


def test_bad_input(yard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "registry.yaml").write_text("format: prism-models/1\n")
    monkeypatch.setenv("PRISM_MODELS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for arguments, said in (
        (("table1", yard), "no distilled planner for spine yet"),
        (("table1", yard, "--prism", "expert"), "the registry of models has no base"),
        (("table1", "absent", *EXPERTS), "absent: there is no such scenario"),
        (("table1", yard, *EXPERTS, "--run", "nowhere"), "nowhere: there is no such directory"),
        (("figure5", yard, "--prism", "expert", "--endpoint", "http://a/v1"), "--endpoint-model"),
    ):
        with pytest.raises(CommandError, match=said):
            prism(*arguments)
