"""Whole runs on an endpoint: it writes the scenarios, and it is the teacher."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice

import pyarrow.parquet as pq
import pytest
import yaml

from prism_distill.elicitation import elicit, trace_shards
from prism_distill.executors import WorkError
from prism_distill.leakage import layout_of
from prism_distill.run import Run, RunError
from prism_distill.scenarios import SPLITS
from prism_distill.scenarios.splits import split_of_world
from prism_distill.synthesis import estimate, make_writer, synthesize
from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.trace import PlanTrace
from prism_planner.evaluation.episode import EpisodeOptions, run_episode
from prism_planner.language.openai_compatible import OpenAIModel
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.spine_scenario import SpineScenario

from .author import Author, Reply, author, worlds

WRITER = {"nodes": [5, 60], "tasks": 2, "workers": 2, "prices": {"prompt": 1.0, "completion": 10.0}}
COUNTS = {"train": 5, "validation": 1, "test": 1, "shard": 2}


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Author]:
    with author() as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.address)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield served


@pytest.fixture
def written(small):
    """A config whose scenarios a model writes."""

    def make(**sections):
        scenarios = {"source": "openai:stub", "writer": WRITER, **COUNTS, "size": None, "tasks": None}
        return small(**{**sections, "scenarios": scenarios | sections.get("scenarios", {})})

    return make


def dealt() -> Iterator[Reply]:
    """Worlds of all splits, about as often as a model happens to write them."""
    streams = {split: worlds(split) for split in SPLITS}
    while True:
        for split in ("train", "train", "validation", "train", "test", "train"):
            yield next(streams[split])


def scenarios(config) -> dict[str, list[SpineScenario]]:
    folder = config.run_directory / "scenarios"
    return {
        split: [
            SpineScenario.model_validate_json(line)
            for file in sorted(folder.glob(f"{split}-*.jsonl"))
            for line in file.read_text().split("\n")[:-1]
        ]
        for split in SPLITS
    }


def test_a_run_has_as_many_as_asked_for_each_in_its_split(endpoint, written):
    endpoint.script(dealt())
    config = written()
    with Run(config) as run:
        assert synthesize(run)
        found = run.manifest.stages["scenarios"].results["written"]
        assert not synthesize(run)
    made = scenarios(config)
    assert {split: len(items) for split, items in made.items()} == {"train": 5, "validation": 1, "test": 1}
    for split, items in made.items():
        assert [s.name for s in items] == [f"{split}-written-{i}" for i in range(len(items))]
        assert {split_of_world(layout_of(s)) for s in items} == {split}
    assert endpoint.most_at_a_time <= WRITER["workers"]
    assert found["requests"] == len(endpoint.requests)
    assert found["cost"] == pytest.approx(found["requests"] * (100 + 10 * 40) / 1e6, abs=1e-4)
    assert 0 < found["diversity"]["similarity"] < 0.5 and found["diversity"]["distinct_2"] > 0.3


def test_a_run_whose_endpoint_died_goes_on_and_pays_for_nothing_twice(endpoint, written):
    replies = dealt()
    endpoint.script(islice(replies, 4))
    config = written(scenarios={"writer": WRITER | {"workers": 1}})
    endpoint.afterwards = Reply(status=401)
    with Run(config) as run:
        with pytest.raises(WorkError) as error:
            synthesize(run)
        assert "4 scenarios are written and kept: run the same command again" in str(error.value)
        assert error.value.code == 3
        endpoint.requests.clear()
        endpoint.script(replies)
        assert synthesize(run)
        # The seven that were needed; the test split's came sixth or so, whatever had to be written till then.
        assert run.manifest.stages["scenarios"].results["written"]["requests"] == 4 + len(endpoint.requests)
    made = scenarios(config)
    assert len({layout_of(s) for items in made.values() for s in items}) == 7


def test_a_model_that_repeats_itself_ends_the_command_with_a_message(endpoint, written, prism, tmp_path):
    endpoint.afterwards = next(worlds())
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(written().model_dump(mode="json")))
    done = prism("synthesize", file)
    assert done.returncode == 3, done.stderr
    assert "duplicate 1" in done.stderr and "run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(endpoint.requests) < 20


def test_an_interrupted_command_ends_at_once_and_keeps_what_was_written(endpoint, written, tmp_path):
    endpoint.script(islice(worlds(), 2))
    endpoint.afterwards = Reply(wait_s=60)
    file = tmp_path / "run.yaml"
    file.write_text(yaml.safe_dump(written().model_dump(mode="json")))
    command = [sys.executable, "-m", "prism_planner.cli.main", "synthesize", str(file)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while len(endpoint.requests) < 4 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)  # long before the endpoint would have answered
    assert process.returncode == 130, said
    assert "the same command goes on from there" in said
    assert make_writer(written()).library.count("train") == 2


def test_estimates_are_of_all_worlds_that_must_be_written_and_then_by_experience(endpoint, written):
    config = written(scenarios={"train": 80, "validation": 20, "test": 0})
    with Run(config) as run:
        before = estimate(run)
        assert (before.items, before.requests) == (100, 200), "one world in ten is for validation"
        assert before.cost == pytest.approx((before.prompt_tokens + 10 * before.completion_tokens) / 1e6)
        endpoint.script(islice(worlds(), 2))
        endpoint.afterwards = Reply(status=401)
        with pytest.raises(WorkError):
            synthesize(run)
        after = estimate(run)
        assert after.prompt_tokens == pytest.approx(100 * after.requests)
        with pytest.raises(RunError, match="allows"):
            after.check(0.0001, "scenarios.writer.max_cost")


# ------------------------------------------------------------------ the teacher


def plans(scenario: SpineScenario, task: int, mask: Mask) -> list[str]:
    """What a large model would say: the expert's plans in its words."""
    options = EpisodeOptions(mask=mask, style="source")
    result, trace = run_episode(
        domain=SpineDomain(), model=None, scenario=scenario, task=task, options=options
    )
    assert result.success
    return [turn.raw for turn in trace.turns]


@pytest.fixture
def scenario() -> SpineScenario:
    from prism_distill.scenarios import generate

    return generate(12, size=14, tasks=3)


def run_teacher(endpoint: Author, scenario: SpineScenario, task: int) -> tuple:
    model = OpenAIModel("stub", base_url=endpoint.address, backoff_s=0.01, max_attempts=2)
    options = EpisodeOptions(mask=Mask(), style="source")
    return run_episode(domain=SpineDomain(), model=model, scenario=scenario, task=task, options=options)


def test_an_endpoint_plans_as_the_source_planner_does(endpoint, scenario):
    for task in range(len(scenario.tasks)):
        said = plans(scenario, task, Mask())
        endpoint.requests.clear()
        endpoint.script(map(Reply, said))
        result, trace = run_teacher(endpoint, scenario, task)
        assert result.success, result.reason
        assert [turn.raw for turn in trace.turns] == said
        assert len(endpoint.requests) == len(said)
        first, last = endpoint.requests[0]["messages"], endpoint.requests[-1]["messages"]
        assert first[0]["role"] == "system" and "map_region" in first[0]["content"]
        assert first[-1]["content"].endswith(f"task: {scenario.tasks[task].instruction}")
        assert last[: len(first)] == first, "the conversation only grows"
        schema = endpoint.requests[0]["response_format"]["json_schema"]["schema"]
        assert {"primary_goal", "relevant_graph", "reasoning", "plan"} == schema["properties"].keys()
        assert sum(turn.generated_tokens for turn in trace.turns) == 40 * len(said)


def test_prose_cut_off_and_overload_are_survived(endpoint, scenario):
    said = plans(scenario, 0, Mask())
    trouble = [
        Reply(status=429, headers={"Retry-After": "0"}),
        Reply("First I would look around."),
        Reply(said[0][:30], finish="length"),
    ]
    endpoint.script([*trouble, *map(Reply, said)])
    result, trace = run_teacher(endpoint, scenario, 0)
    assert result.success
    assert [reason for _, reason in trace.turns[0].rejected] == [
        'The reply is not JSON. Reply with one JSON object with the keys "primary_goal", "relevant_graph", '
        '"reasoning" and "plan", where plan is a list of actions.',
        "The answer was too long and was cut off. Answer shorter.",
    ]


def test_prose_for_ever_ends_the_episode(endpoint, scenario):
    endpoint.afterwards = Reply("I cannot do that.")
    result, trace = run_teacher(endpoint, scenario, 0)
    assert not result.success
    assert trace.outcome.reason == "invalid_plans"
    assert len(endpoint.requests) == 3


def test_one_action_for_ever_ends_the_episode_as_a_loop(endpoint, scenario):
    step = {"primary_goal": "g", "relevant_graph": [], "reasoning": "r"}
    endpoint.afterwards = Reply(json.dumps({**step, "plan": [f"goto({scenario.world.robot})"]}))
    result, trace = run_teacher(endpoint, scenario, 0)
    assert not result.success
    assert trace.outcome.reason == "loop"


def test_an_endpoint_that_dies_ends_the_episode_with_what_happened(endpoint, scenario):
    endpoint.script([Reply(plans(scenario, 0, Mask())[0], broken=True)])
    result, trace = run_teacher(endpoint, scenario, 0)
    assert not result.success
    assert trace.outcome.reason == "model_error"
    assert "broke off" in trace.outcome.detail


def test_a_written_run_is_elicited_from_the_same_endpoint(endpoint, written):
    """From nothing but an endpoint: scenarios, then plans in them, then rows that training reads."""
    endpoint.script(dealt())
    config = written(elicitation={"teacher": "openai:stub", "workers": 1, "mask": [0.0, 0.0]})
    with Run(config) as run:
        synthesize(run)
        said = [
            text
            for split in SPLITS
            for scenario in scenarios(config)[split]
            for task in range(len(scenario.tasks))
            for text in answers(scenario, task)
        ]
        endpoint.script(map(Reply, said))
        assert elicit(run)
        rows = [row for shard in trace_shards(run) for row in pq.read_table(shard).to_pylist()]
    assert len(rows) == sum(len(s.tasks) for items in scenarios(config).values() for s in items)
    accepted = [row for row in rows if row["accepted"]]
    assert len(accepted) >= 0.5 * len(rows)
    for row in accepted:
        trace = PlanTrace.from_lines(row["trace"].split("\n"), source="row")
        assert trace.header.model == "openai:stub" and trace.header.style == "source"
        assert row["completion_tokens"] == 40 * row["turns"]


def answers(scenario: SpineScenario, task: int) -> list[str]:
    """The expert's plans; of a sentence that it does not read, an excuse."""
    options = EpisodeOptions(mask=Mask(), style="source")
    _, trace = run_episode(domain=SpineDomain(), model=None, scenario=scenario, task=task, options=options)
    excuse = {
        "primary_goal": "none",
        "relevant_graph": [],
        "reasoning": "not understood",
        "plan": ["answer(I do not understand)"],
    }
    return [turn.raw for turn in trace.turns] or [json.dumps(excuse)]
