"""Configs: what they default to, and how they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_distill.config import ConfigError, load_config

ROOT = Path(__file__).resolve().parents[2]
READY = sorted((ROOT / "config" / "distill").glob("*.yaml"))


def refusal(folder: Path, text: str) -> str:
    file = folder / "run.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        load_config(file)
    return str(error.value).replace(str(file), "run.yaml")


def test_a_name_is_enough(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("name: mine\n")
    config = load_config(file)
    assert (config.domain, config.base.model) == ("spine", "smollm2-135m")
    assert config.run_directory == Path("log/distill/mine")


@pytest.mark.parametrize("file", READY, ids=lambda file: file.stem)
def test_ready_configs_load_and_are_named_as_their_file(file):
    assert load_config(file).name == file.stem


def test_the_papers_planner_has_the_hyperparameters_of_table_4():
    training = load_config(ROOT / "config" / "distill" / "spine-llama-3.2-3b.yaml").training
    found = (training.learning_rate, training.weight_decay, training.epochs, training.warmup)
    assert found == (1e-4, 1e-3, 5, 5)
    assert (training.r, training.alpha) == (32, 16)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name: a\nscenarios:\n  trian: 3\n",
            "run.yaml:3: scenarios.trian: unknown key; did you mean `train`?",
        ),
        ("name: a\ntraining: {rank: 3}\n", "run.yaml:2: training.rank: unknown key; known keys: r, alpha"),
        ("domain: spine\n", "run.yaml:1: name: is missing; add `name:`"),
        ("name: a/b\n", "run.yaml:1: name: string should match pattern"),
        ("name: a\nscenarios:\n  train: -5\n", "run.yaml:3: scenarios.train: input should be greater"),
        ("name: a\nelicitation:\n  mask: [0.6, 0.2]\n", "run.yaml:3: elicitation.mask: from 0.6 to 0.2"),
        ("name: a\nelicitation:\n  mask: [0, .nan]\n", "run.yaml:3: elicitation.mask.1"),
        (
            "name: a\ndomain: spien\n",
            "run.yaml:2: domain: there is no domain 'spien'; installed domains: spine",
        ),
        ("name: a\nname: b\n", "run.yaml:2: the key 'name' is given twice"),
        ("name: a\nreport: {tables: [table3]}\n", "run.yaml:2: report: table3 compares several runs"),
        ("- name: a\n", "run.yaml:1: expected `key: value` pairs"),
        ("name: [a\n", "run.yaml:2: not valid YAML"),
        ("", "run.yaml:0: the file is empty"),
    ],
)
def test_a_mistake_is_named_with_line_field_and_fix(tmp_path, text, expected):
    assert expected in refusal(tmp_path, text)


def test_every_mistake_is_named_at_once(tmp_path):
    message = refusal(tmp_path, "nam: a\nbase: {model: ''}\n")
    assert len(message.splitlines()) == 3


def test_a_missing_file_points_to_the_ready_ones(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.yaml: cannot be read: .*config/distill/"):
        load_config(tmp_path / "nothing.yaml")
