"""Stage 1: the same scenarios however they are made, and after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_distill.run import Run, RunError
from prism_distill.scenarios import SPLITS
from prism_distill.synthesis import estimate, make_source, synthesize
from prism_planner.worlds.spine_scenario import SpineScenario


def made(config) -> dict[str, str]:
    folder = config.run_directory / "scenarios"
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())}


def lines(config, split) -> list[str]:
    return [
        line
        for name, text in made(config).items()
        if name.startswith(split)
        for line in text.split("\n")[:-1]
    ]


def test_shards_hold_as_many_valid_scenarios_as_asked_for(synthesized):
    config = synthesized()
    for split in SPLITS:
        scenarios = [SpineScenario.model_validate_json(line) for line in lines(config, split)]
        assert len(scenarios) == config.scenarios.count(split)
        assert [list(scenario.problems()) for scenario in scenarios] == [[]] * len(scenarios)
    assert list(made(config)) == [
        "test-00000.jsonl",
        "train-00000.jsonl",
        "train-00001.jsonl",
        "train-00002.jsonl",
        "validation-00000.jsonl",
    ]


def test_a_scenario_depends_on_seed_and_number_alone(small):
    whole = small(name="whole", scenarios={"shard": 100})
    parallel = small(name="parallel", scenarios={"workers": 2, "shard": 3})
    for config in (whole, parallel):
        with Run(config) as run:
            assert synthesize(run)
    for split in SPLITS:
        assert lines(whole, split) == lines(parallel, split)
    assert lines(whole, "train")[0] != lines(whole, "test")[0]


def test_what_is_done_is_not_made_again(synthesized):
    config = synthesized()
    with Run(config) as run:
        assert not synthesize(run)
        assert run.manifest.stages["scenarios"].results["scenarios"] == 14


def test_a_killed_command_goes_on_and_gets_the_same(small, killed):
    sections = {"scenarios": {"train": 300, "shard": 30, "size": 20}}
    whole, config = small(name="whole", **sections), small(name="killed", **sections)
    kept = killed("synthesize", config, config.run_directory / "scenarios", "train-*.jsonl")
    assert kept
    for one in (whole, config):
        with Run(one) as run:
            assert synthesize(run)
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert made(config) == made(whole)


def test_an_estimate_counts_what_is_left(synthesized):
    config = synthesized()
    more = config.run_directory / "scenarios" / "train-00002.jsonl"
    more.unlink()
    with Run(config) as run:
        assert estimate(run).items == 2
        assert estimate(run, fresh=True).items == 14
        assert estimate(run).cost is None


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"theme": "moon"}, "unknown theme 'moon'; known themes: "),
        ({"theme": "harbour", "platform": "uav"}, "is for ugv, not uav"),
    ],
)
def test_options_that_the_generator_does_not_know_are_refused(small, options, reason):
    with pytest.raises(RunError, match=reason):
        make_source(small(scenarios=options), "train")


def test_scenarios_of_other_domains_are_refused(small):
    with pytest.raises(RunError, match="scenarios are made for spine only"):
        make_source(small(domain="saycan"), "train")


def test_other_settings_do_not_mix_with_what_is_there(synthesized, small):
    before = made(synthesized())
    with (
        Run(small(scenarios={"size": 9})) as run,
        pytest.raises(RunError, match=r"scenarios\.size: 8 then, 9 now"),
    ):
        synthesize(run)
    assert made(small()) == before
    with Run(small(scenarios={"size": 9})) as run:
        assert synthesize(run, fresh=True)
    assert made(small()) != before


def test_scenarios_are_files_of_the_package_format(synthesized, tmp_path):
    from prism_planner.worlds.scenario import load_scenario

    line = lines(synthesized(), "train")[0]
    file = tmp_path / "scenario.yaml"
    file.write_text(line)  # JSON is YAML
    assert load_scenario(file) == SpineScenario.model_validate_json(line)
    assert Path(file).exists()
