"""Stage 2: episodes of a teacher, what is hidden from it, and which of them are kept."""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pyarrow.parquet as pq
import pytest

from prism_distill.elicitation import elicit, estimate, judge_trace, revealed, trace_shards
from prism_distill.executors import WorkError
from prism_distill.run import Run, RunError
from prism_distill.synthesis import make_source
from prism_planner.domains.trace import PlanTrace, TraceHeader, TraceOutcome, TraceTurn
from prism_planner.language.model import LanguageModelError


def rows(config, split: str = "") -> list[dict]:
    with Run(config) as run:
        return [
            row
            for shard in trace_shards(run)
            if shard.name.startswith(split)
            for row in pq.read_table(shard).to_pylist()
        ]


def elicited(config) -> list[dict]:
    with Run(config) as run:
        elicit(run)
    return rows(config)


def trace_of(row: dict) -> PlanTrace:
    return PlanTrace.from_lines(row["trace"].split("\n"), source="row")


# ------------------------------------------------------------------ rows


def test_every_task_of_every_scenario_is_an_episode_in_order(synthesized):
    config = synthesized()
    found = elicited(config)
    with Run(config) as run:
        assert len(found) == run.manifest.stages["scenarios"].results["tasks"]
        source = make_source(config, "train")
        expected = [
            (source.scenario(i).name, task)
            for i in range(config.scenarios.train)
            for task in range(len(source.scenario(i).tasks))
        ]
    assert [(row["scenario"], row["task"]) for row in found if row["split"] == "train"] == expected


def test_a_row_tells_who_did_what_and_nothing_about_the_truth(synthesized):
    row = elicited(synthesized())[0]
    trace = trace_of(row)
    assert trace.header.task == row["instruction"]
    assert trace.header.model == "expert"
    assert row["accepted"] == (not row["reason"])
    assert row["turns"] == len(trace.turns)
    assert "success" not in row["trace"]
    assert row["intent"] not in ("", "unknown")


def test_tasks_of_a_world_begin_with_the_same_observation(synthesized):
    first = defaultdict(set)
    for row in elicited(synthesized(elicitation={"masks": 2})):
        opening = json.dumps(trace_of(row).turns[0].observation, sort_keys=True)
        first[row["world"], row["mask_seed"]].add(opening)
    assert {len(openings) for openings in first.values()} == {1}
    worlds = {world for world, _ in first}
    assert len(first) == 2 * len(worlds)


def test_more_is_hidden_the_higher_the_range(synthesized):
    def known(mask, name):
        config = synthesized(name=name, elicitation={"mask": mask})
        return sum(len(trace_of(row).turns[0].observation["add_nodes"]) for row in elicited(config))

    assert known([0.6, 0.8], "much") < known([0.0, 0.0], "nothing")


def test_without_masking_the_whole_world_is_known_at_the_start(synthesized):
    config = synthesized(elicitation={"masking": False})
    source = make_source(config, "train")
    sizes = {s.name: len(s.world.nodes) for s in map(source.scenario, range(config.scenarios.train))}
    for row in elicited(config):
        if row["split"] == "train":
            assert len(trace_of(row).turns[0].observation["add_nodes"]) == sizes[row["scenario"]]


def test_revealing_keeps_what_only_a_closer_look_tells(small):
    scenario = make_source(small(), "train").scenario(0)
    shown = revealed(scenario)
    assert not any(node.hidden for node in shown.world.nodes)
    assert [o.attributes for o in shown.world.objects] == [o.attributes for o in scenario.world.objects]


# ------------------------------------------------------------------ validation


def trace(*turns: tuple[str | None, dict], status="succeeded", reason="") -> PlanTrace:
    """Turns as skill and the observation before it."""
    return PlanTrace(
        header=TraceHeader(task="t", domain="spine", model="m"),
        turns=[TraceTurn(observation=seen, raw="", plan={}, skill=skill) for skill, seen in turns],
        outcome=TraceOutcome(status=status, reason=reason),
    )


START, NEW, NOTHING = {"update_robot_location": "a"}, {"update_robot_location": "b"}, {}


@pytest.mark.parametrize(
    ("success", "episode", "reason"),
    [
        (True, trace(("goto(b)", START), (None, NEW)), ""),
        (False, trace(("goto(b)", START), (None, NEW)), "unsuccessful"),
        (True, trace(("goto(b)", START), status="aborted", reason="step_limit"), "step_limit"),
        (True, trace(("goto(b)", START), status="aborted", reason="loop"), "loop"),
        (True, trace(("goto(b)", START), status="cancelled"), "cancelled"),
        (True, trace(("map(a)", START), (None, NOTHING)), ""),
        (True, trace(("map(a)", START), ("map(a)", NOTHING), (None, NOTHING)), "ineffective"),
        (True, trace(("map(a)", START), ("map(c)", NOTHING), (None, NOTHING)), ""),
    ],
)
def test_an_episode_is_kept_when_it_succeeded_without_repeating_what_was_in_vain(success, episode, reason):
    assert judge_trace(success, episode, max_ineffective=1) == reason


def test_dropped_episodes_keep_their_reason(synthesized):
    config = synthesized(elicitation={"max_steps": 2})
    found = elicited(config)
    reasons = {row["reason"] for row in found}
    assert "step_limit" in reasons
    for row in found:
        assert row["accepted"] == (row["reason"] == "")
        assert bool(row["detail"]) >= bool(row["reason"] not in ("", "ineffective"))
    with Run(config) as run:
        results = run.manifest.stages["elicitation"].results
    assert results["failed"]["step_limit"] == sum(row["reason"] == "step_limit" for row in found)
    assert results["kept"] == sum(row["accepted"] for row in found)


def test_without_validation_failures_are_kept_and_still_named(synthesized):
    found = elicited(synthesized(elicitation={"max_steps": 2, "validation": False}))
    assert all(row["accepted"] for row in found)
    assert any(row["reason"] == "step_limit" for row in found)


# ------------------------------------------------------------------ whoever does it


def test_processes_give_the_same_rows_as_one(synthesized):
    alone = elicited(synthesized(name="alone"))
    config = synthesized(name="together", elicitation={"workers": 2, "executor": "processes"})
    assert elicited(config) == alone


def test_threads_give_the_same_rows_as_one(synthesized):
    alone = elicited(synthesized(name="alone"))
    assert elicited(synthesized(name="threads", elicitation={"workers": 3, "executor": "threads"})) == alone


def test_ray_gives_the_same_rows_as_one(synthesized):
    pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
    alone = elicited(synthesized(name="alone"))
    assert elicited(synthesized(name="ray", elicitation={"workers": 2, "executor": "ray"})) == alone


def test_ray_that_is_missing_says_how_to_get_it(synthesized, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        Run(synthesized(elicitation={"executor": "ray"})) as run,
        pytest.raises(WorkError, match="pip install ray"),
    ):
        elicit(run)


def test_a_killed_command_ends_its_workers_goes_on_and_gets_the_same(synthesized, killed):
    sections = {"scenarios": {"train": 90, "validation": 2, "shard": 15}}
    whole = elicited(synthesized(name="whole", **sections))
    config = synthesized(name="killed", **sections, elicitation={"workers": 2})
    kept = killed("elicit", config, config.run_directory / "traces", "train-*.parquet")
    assert kept
    assert elicited(config) == whole
    assert {file: file.stat().st_mtime_ns for file in kept} == kept


# ------------------------------------------------------------------ models


@contextmanager
def endpoint(answers: int):
    """An OpenAI-compatible endpoint that sends the robot home at once, and dies after so many answers."""
    left = [answers]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if left[0] <= 0:
                self.send_error(400, "dead")
                return
            left[0] -= 1
            plan = {
                "primary_goal": "answer",
                "relevant_graph": "",
                "reasoning": "nothing to do",
                "plan": ["answer(I am done)"],
            }
            chunk = {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 0,
                "model": request["model"],
                "choices": [{"index": 0, "delta": {"content": json.dumps(plan)}, "finish_reason": "stop"}],
            }
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", left
    finally:
        server.shutdown()


def test_an_endpoint_that_dies_loses_nothing_and_is_asked_again_for_the_rest_only(synthesized, monkeypatch):
    with endpoint(answers=10) as (address, left):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        config = synthesized(elicitation={"teacher": "openai:stub", "workers": 3, "validation": False})
        with Run(config) as run:
            with pytest.raises(LanguageModelError, match=r"openai:stub does not answer .*same command"):
                elicit(run)
            total = run.manifest.stages["scenarios"].results["tasks"]
            left[0] = total  # alive again
            assert elicit(run)
        assert left[0] == 10, "finished episodes were paid for twice"
        assert len(rows(config)) == total
        with Run(config) as run:
            assert run.manifest.stages["elicitation"].results["episodes"] == total


def test_a_paid_teacher_is_estimated_before_it_starts_and_stopped_when_too_dear(synthesized, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    prices = {"prompt": 2.5, "completion": 10.0}
    config = synthesized(elicitation={"teacher": "openai:gpt-4o", "prices": prices, "max_cost": 0.001})
    with Run(config) as run:
        found = estimate(run)
        assert found.requests >= found.items > 0
        assert found.prompt_tokens > found.completion_tokens > 0
        assert found.cost == pytest.approx((found.prompt_tokens * 2.5 + found.completion_tokens * 10) / 1e6)
        with pytest.raises(RunError, match=r"more than `elicitation.max_cost: 0.001` allows"):
            found.check(config.elicitation.max_cost, "elicitation.max_cost")


def test_another_teacher_does_not_mix_with_what_is_there(synthesized, small, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    before = elicited(synthesized())
    with (
        Run(small(elicitation={"teacher": "openai:stub"})) as run,
        pytest.raises(RunError, match=r"elicitation.teacher: expert then, openai:stub now"),
    ):
        elicit(run)
    assert rows(small()) == before


def test_numbers_of_masks_differ_between_scenarios():
    from prism_distill.elicitation import mask_seed

    seeds = [mask_seed(0, f"train-0-{i}", 0) for i in range(50)]
    assert all(a != b for a, b in pairwise(sorted(seeds)))
