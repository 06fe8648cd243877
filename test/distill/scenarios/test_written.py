"""Scenarios written by a model, through an endpoint on a real socket: good, failing, repetitive, unsound."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, repeat
from pathlib import Path

import pytest

from prism_distill.config import WriterSettings
from prism_distill.leakage import layout_of
from prism_distill.model_pool import ModelPool
from prism_distill.scenarios import SPLITS, generate
from prism_distill.scenarios.answer import read_answer
from prism_distill.scenarios.reserved import layouts, normalised
from prism_distill.scenarios.splits import split_of_world
from prism_distill.scenarios.written import (
    ScenarioWriter,
    WritingError,
    example,
    opening_messages,
    sound_tasks,
)
from prism_planner.cli.choices import shipped_scenarios
from prism_planner.language.openai_compatible import OpenAIModel
from prism_planner.worlds.scenario import load_scenario

from .author import Author, Reply, as_answer, author, worlds

STRANGE = {"name": "Old Bench", "category": "bench", "at": [0, 0], "seen_from": ["dirt_road_1"]}
SETTINGS = WriterSettings(nodes=(5, 60), tasks=3, attempts=3)


@pytest.fixture
def endpoint() -> Iterator[Author]:
    with author() as served:
        yield served


@pytest.fixture
def writer(endpoint: Author, tmp_path: Path) -> Callable[..., ScenarioWriter]:
    """`writer()` writes through the endpoint, and goes on from the journal."""

    def make(settings: WriterSettings = SETTINGS, **options) -> ScenarioWriter:
        model = OpenAIModel("m", base_url=endpoint.address, backoff_s=0.01, max_attempts=2)
        return ScenarioWriter(settings, model, journal=tmp_path / "written.jsonl", **options)

    return make


def texts(endpoint: Author, request: int) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in endpoint.requests[request]["messages"]]


# ------------------------------------------------------------------ what is asked for


def test_the_request_says_format_size_tasks_and_place_and_differs_each_time(endpoint, writer):
    endpoint.script(worlds())
    written = writer(WriterSettings(nodes=(7, 12), tasks=4))
    for index in range(3):
        written.scenario("train", index)
    (_, system), (_, request) = texts(endpoint, 0)
    assert '"seen_from": ["courtyard_1"]' in system and "`seen_from`" in system and '{"answer_says"' in system
    assert "{observation_format}" not in system
    assert "Tasks: 4, of which" in request and "Place: " in request
    assert len({texts(endpoint, i)[1] for i in range(3)}) == 3
    assert len({r["seed"] for r in endpoint.requests}) == 3, (
        "an endpoint that honours seeds would repeat itself"
    )
    assert {r["temperature"] for r in endpoint.requests} == {1.0}


def test_sizes_asked_for_are_those_that_are_accepted():
    for index in range(200):
        request = opening_messages(WriterSettings(nodes=(6, 9)), seed=1, index=index)[1].content
        size = re.search(r"Size: between (\d+) and (\d+) ", request)
        assert 6 <= int(size[1]) <= int(size[2]) <= 9


def test_the_schema_is_of_the_strict_kind_and_the_example_follows_it(endpoint, writer):
    endpoint.script(worlds())
    writer().scenario("train", 0)
    schema = endpoint.requests[0]["response_format"]["json_schema"]["schema"]

    def objects(node) -> Iterator[dict]:
        if isinstance(node, dict):
            if node.get("type") == "object":
                yield node
            for inner in node.values():
                yield from objects(inner)
        elif isinstance(node, list):
            for inner in node:
                yield from objects(inner)

    for found in objects(schema):
        assert found["required"] == list(found["properties"])
        assert found["additionalProperties"] is False
    matcher = pytest.importorskip("llguidance").LLMatcher
    assert matcher.validate_grammar(matcher.grammar_from_json_schema(json.dumps(schema))) == ""


def test_an_endpoint_that_refuses_schemas_is_asked_without(endpoint, writer):
    endpoint.script([Reply(status=400), *islice(worlds(), 1)])
    writer().scenario("train", 0)
    assert ["response_format" in request for request in endpoint.requests] == [True, False]


# ------------------------------------------------------------------ what is accepted


def test_worlds_are_in_the_split_of_their_layout_with_kinds_worked_out_by_code(endpoint, writer):
    validation, train = worlds("validation"), worlds("train")
    endpoint.script(reply for pair in zip(validation, train, strict=True) for reply in pair)
    written = writer()
    found = [written.scenario("train", i) for i in range(3)]
    assert len(endpoint.requests) == 6
    # What was written for another split on the way costs nothing more.
    found += [written.scenario("validation", i) for i in range(3)]
    assert len(endpoint.requests) == 6
    assert [s.name for s in found] == [f"{split}-written-{i}" for split in SPLITS[:2] for i in range(3)]
    assert [split_of_world(layout_of(s)) for s in found] == ["train"] * 3 + ["validation"] * 3
    tasks = [task for s in found for task in s.tasks]
    assert {task.kind for task in tasks} == {"mapping", "exploration"}
    assert all(task.intent is None for task in tasks)


def test_no_sentence_is_in_two_splits(endpoint, writer):
    scenario = generate(1, split="train", size=10, tasks=3)
    sentence = scenario.tasks[0].instruction

    def said_again(answer):
        answer["tasks"].append(
            {
                "instruction": f"Please, {sentence}!",
                "specification": "full",
                "success": [{"inspected": [answer["world"]["objects"][0]["name"]]}],
            }
        )

    other = generate(4, split="test", size=12, tasks=3)
    endpoint.script([Reply(json.dumps(as_answer(scenario))), Reply(json.dumps(as_answer(other, said_again)))])
    written = writer()
    first, second = written.scenario("train", 0), written.scenario("test", 0)
    kept = {normalised(task.instruction) for task in second.tasks}
    assert kept and not kept & {normalised(task.instruction) for task in first.tasks}
    assert written.report()["dropped_tasks"]["held_out"] == 1


def test_prose_and_fences_around_the_answer_do_no_harm(endpoint, writer):
    answer = next(worlds()).text
    endpoint.script([Reply(f"Sure {{here}} it is:\n```json\n{answer}\n```\nEnjoy {{}}!")])
    assert writer().scenario("train", 0).tasks


# ------------------------------------------------------------------ asked again


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda a: a["world"].update(robot="moon_1"), "world.robot: no region named 'moon_1'"),
        (lambda a: a["world"]["regions"][0].pop("at"), "world.regions[0].at: is missing"),
        (lambda a: a["world"]["edges"].append(["lobby_77", "lobby_78"]), "no region named 'lobby_77'"),
        (lambda a: a["tasks"][0].update(success=[{"visited": ["x_1"]}]), "tasks[0].success[0]"),
        (lambda a: a["tasks"][0].update(success=[], any_success=[]), "no success criteria"),
        (lambda a: a.update(tasks=[]), "tasks: is empty"),
        (lambda a: a.update(tasks="none"), "tasks: expected a list"),
        (lambda a: a["world"]["regions"][0].update(at=[9000, 0]), "at most "),
        (lambda a: a["world"]["objects"].append(STRANGE), "expected lower-case words and a number"),
        (lambda a: a["world"]["objects"][0].update(name="statue_9"), "no object named"),
        (
            lambda a: a["world"]["objects"][0].update(seen_from=[], hidden=False),
            "name the regions from which",
        ),
    ],
)
def test_an_invalid_world_is_written_again_with_its_error_told(endpoint, writer, spoil, told):
    good, scenario = next(worlds()), generate(3, size=12, tasks=2)
    bad = json.dumps(as_answer(scenario, spoil))
    endpoint.script([Reply(bad), good])
    written = writer()
    assert written.scenario("train", 0)
    assert [role for role, _ in texts(endpoint, 1)] == ["system", "user", "assistant", "user"]
    assert texts(endpoint, 1)[2][1] == bad
    assert told in texts(endpoint, 1)[3][1]
    assert "answer:" not in texts(endpoint, 1)[3][1], "file names and lines mean nothing to the model"
    assert written.report()["unusable_answers"] == {"invalid": 1}
    assert written.report()["requests"] == 2


def test_prose_is_answered_with_what_is_expected(endpoint, writer):
    endpoint.script([Reply("I would rather write a poem."), next(worlds())])
    written = writer()
    assert written.scenario("train", 0)
    assert "not one whole JSON object with the keys description" in texts(endpoint, 1)[3][1]
    assert written.report()["unusable_answers"] == {"prose": 1}


def test_an_answer_that_was_cut_off_is_asked_for_in_short_and_not_sent_back(endpoint, writer):
    answer = next(worlds())
    endpoint.script([Reply(answer.text[:400], finish="length"), answer])
    written = writer()
    assert written.scenario("train", 0)
    (_, (role, request)) = texts(endpoint, 1)
    assert role == "user" and "longer than 6000 tokens" in request and "Place: " in request
    assert written.report()["unusable_answers"] == {"cut_off": 1}


def test_a_world_without_a_sound_task_is_written_again_with_the_reasons(endpoint, writer):
    def start_only(answer):
        start = answer["world"]["robot"]
        answer["tasks"] = [
            {"instruction": "Be here", "specification": "full", "success": [{"visited": [start]}]}
        ]

    endpoint.script([Reply(json.dumps(as_answer(generate(3, size=12), start_only))), next(worlds())])
    written = writer()
    assert written.scenario("train", 0)
    assert "'Be here': it succeeds without doing anything" in texts(endpoint, 1)[3][1]
    assert written.report()["unusable_answers"] == {"no_task": 1}
    assert written.report()["dropped_tasks"] == {"satisfied": 1}


# ------------------------------------------------------------------ repetition


def test_a_model_that_repeats_one_world_is_given_up_with_a_clear_message(endpoint, writer):
    endpoint.afterwards = next(worlds())
    written = writer()
    assert written.scenario("train", 0)
    with pytest.raises(WritingError) as error:
        written.scenario("train", 1)
    message = str(error.value)
    assert "wrote no usable scenario in 10 answers running (duplicate 10)" in message
    assert "to 100% those of train-written-0" in message
    assert "temperature" in message and "similarity" in message
    assert "1 scenario is written and kept: run the same command again" in message
    assert len(endpoint.requests) == 11


def test_other_numbers_and_a_word_more_make_no_new_world(endpoint, writer):
    scenario = generate(5, size=30, tasks=3)

    def disguise(answer):
        text = json.dumps(answer)
        for region in scenario.world.regions:
            stem, _, number = region.name.rpartition("_")
            text = text.replace(f'"{region.name}"', f'"{stem}_{int(number) + 40}"')
        answer.update(json.loads(text))
        answer["tasks"][0]["instruction"] += " today"

    disguised = Reply(json.dumps(as_answer(scenario, disguise)))
    endpoint.script([Reply(json.dumps(as_answer(scenario))), disguised, *islice(worlds(start=50), 8)])
    written = writer(SETTINGS.model_copy(update={"similarity": 0.8}))
    assert written.scenario("train", 1)
    assert written.report()["unusable_answers"] == {"duplicate": 1}


def test_the_example_handed_back_is_a_duplicate(endpoint, writer):
    endpoint.script([Reply(json.dumps(as_answer(example()))), *islice(worlds(), 1)])
    written = writer()
    written.scenario("train", 0)
    assert written.report()["unusable_answers"] == {"duplicate": 1}


def test_what_is_reserved_for_evaluation_is_refused(endpoint, writer):
    shipped = load_scenario(shipped_scenarios() / "spine/outdoor/campus_loop.yaml")
    assert layout_of(shipped) in layouts()

    def another_task(answer):
        answer["tasks"] = [
            {
                "instruction": "Check on something, would you",
                "specification": "under",
                "success": [{"inspected": [thing["name"] for thing in answer["world"]["objects"]]}],
            }
        ]

    def reserved_sentence(answer):
        answer["tasks"].append({**answer["tasks"][0], "instruction": "please find my DOG!"})

    endpoint.script(
        [
            Reply(json.dumps(as_answer(shipped, another_task))),
            Reply(json.dumps(as_answer(generate(3, size=12), reserved_sentence))),
        ]
    )
    written = writer()
    found = written.scenario("train", 0)
    assert "dog" not in " ".join(task.instruction.lower() for task in found.tasks)
    assert written.report()["unusable_answers"] == {"reserved": 1}
    assert written.report()["dropped_tasks"]["reserved"] == 1


# ------------------------------------------------------------------ endpoints that fail


def test_nothing_is_lost_when_the_endpoint_dies_and_it_goes_on_from_there(endpoint, writer):
    replies = worlds()
    endpoint.script(islice(replies, 3))
    before = writer()
    with pytest.raises(WritingError, match=r"503|failed after 2 attempts") as error:
        before.scenario("train", 9)
    assert "3 scenarios are written and kept: run the same command again" in str(error.value)
    before.close()
    endpoint.script(replies)
    endpoint.requests.clear()
    after = writer()
    assert [after.scenario("train", i) for i in range(3)] == [before.scenario("train", i) for i in range(3)]
    assert endpoint.requests == []
    assert after.scenario("train", 3).name == "train-written-3"
    assert len(endpoint.requests) == 1
    # What was repeated before is still a repetition, and what was spent before still counts.
    assert after.report()["requests"] == 4
    assert after.report()["prompt_tokens"] == 400 and after.report()["completion_tokens"] == 160


def test_an_answer_that_breaks_off_is_an_error_of_the_endpoint(endpoint, writer):
    endpoint.script([Reply(next(worlds()).text, broken=True)])
    with pytest.raises(
        WritingError, match=r"broke off in the middle of its answer.* No scenario was written yet"
    ):
        writer().scenario("train", 0)


def test_prose_for_ever_ends(endpoint, writer):
    endpoint.afterwards = Reply("Once upon a time")
    with pytest.raises(WritingError, match=r"in \d+ answers running \(prose \d+\).*(?s:.*)JSON schemas"):
        writer().scenario("train", 0)
    assert len(endpoint.requests) <= 12


def test_answers_cut_off_for_ever_end(endpoint, writer):
    endpoint.afterwards = Reply('{"world": {', finish="length")
    with pytest.raises(WritingError, match=r"cut_off \d+\)(?s:.*)Raise `scenarios.writer.max_tokens`"):
        writer().scenario("train", 0)


def test_an_endpoint_that_is_overloaded_gets_the_pause_that_it_asks_for(endpoint, writer):
    endpoint.script([Reply(status=429, headers={"Retry-After": "1"}), *islice(worlds(), 1)])
    assert writer().scenario("train", 0)
    assert endpoint.times[1] - endpoint.times[0] >= 1


def test_closing_ends_what_others_wait_for(endpoint, writer):
    endpoint.afterwards = Reply(wait_s=30)
    written = writer()
    ended: list[str] = []

    def wait() -> None:
        try:
            written.scenario("train", 0)
        except WritingError as error:
            ended.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while not endpoint.requests:
        thread.join(0.01)
    written.close()
    thread.join(10)
    assert ended and ended[0].startswith("stopped")


def test_threads_share_what_they_write_and_never_send_more_requests_than_they_are(endpoint, tmp_path):
    endpoint.script(Reply(reply.text, wait_s=0.2) for reply in worlds())
    pool = ModelPool([OpenAIModel("m", base_url=endpoint.address) for _ in range(3)])
    written = ScenarioWriter(SETTINGS, pool, journal=tmp_path / "written.jsonl")
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(written.scenario, repeat("train"), range(9)))
    assert [s.name for s in found] == [f"train-written-{i}" for i in range(9)]
    assert len({layout_of(s) for s in found}) == 9
    assert endpoint.most_at_a_time == 3
    assert len(endpoint.requests) <= 9 + 2


def test_half_a_record_that_a_kill_left_is_dropped(endpoint, writer, tmp_path):
    endpoint.script(worlds())
    first = writer()
    kept = first.scenario("train", 1)
    first.close()
    (journal,) = tmp_path.glob(".written*")
    journal.write_bytes(journal.read_bytes()[:-20])
    again = writer()
    assert again.library.count("train") == 1
    assert again.scenario("train", 1) != kept
    assert json.loads(journal.read_bytes().splitlines()[-1])


def test_the_example_is_sound_and_in_the_format():
    tasks, problems = sound_tasks(example())
    assert problems == [] and len(tasks) == len(example().tasks)
    again = read_answer(json.dumps(as_answer(example())), name="the example", nodes=(1, 60))
    assert again == example()
