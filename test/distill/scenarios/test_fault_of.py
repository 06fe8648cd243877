"""Criteria that were not computed from the world: what is wrong with them is found by acting."""

from __future__ import annotations

import json

import pytest

from prism_distill.scenarios import generate_many
from prism_distill.scenarios.answer import read_answer
from prism_distill.scenarios.soundness import fault_of, needs_exploration
from prism_distill.scenarios.written import sound_tasks

WORLD = {
    "robot": "hall_1",
    "regions": [
        {"name": "hall_1", "at": [0, 0]},
        {"name": "kitchen_1", "at": [10, 0]},
        {"name": "cellar_1", "at": [20, 0], "hidden": True},
        {"name": "island_1", "at": [0, 30]},
    ],
    "objects": [
        {"name": "chair_1", "category": "chair", "at": [10, 2], "seen_from": ["kitchen_1"],
         "attributes": {"occupied": "yes, a cat sleeps on it", "colour": "red"}},
        {"name": "chair_2", "category": "chair", "at": [21, 2], "seen_from": ["cellar_1"], "hidden": True,
         "attributes": {"occupied": "no, it is empty", "colour": "blue"}},
        {"name": "stove_1", "category": "stove", "at": [11, 1], "seen_from": ["kitchen_1"],
         "attributes": {"dangerous": "yes, it is hot"}},
        {"name": "buoy_1", "category": "buoy", "at": [1, 31], "seen_from": ["island_1"]},
    ],
    "edges": [["hall_1", "kitchen_1"], ["kitchen_1", "cellar_1"]],
}  # fmt: skip


def scenario(instruction: str, *success, any_success=()):
    task = {"instruction": instruction, "specification": "under", "success": list(success)}
    answer = {"world": WORLD, "tasks": [{**task, "any_success": list(any_success)}]}
    return read_answer(json.dumps(answer), name="house", nodes=(1, 60))


SOUND = [
    ("Go to the kitchen", [{"ended_at": ["kitchen_1"]}], "mapping"),
    ("What is in the cellar?", [{"mapped": ["cellar_1"]}, {"answer_mentions": ["chair_2"]}], "exploration"),
    (
        "Inspect the blue chair, then come back",
        [{"order": [{"inspected": ["chair_2"]}, {"ended_at": ["hall_1"]}]}],
        "exploration",
    ),
    (
        "Is the chair in the kitchen taken?",
        [{"inspected": ["chair_1"]}, {"answer_says": "yes"}],
        "mapping",
    ),
    ("Can you get to the island?", [{"visited": ["kitchen_1"]}, {"answer_says": "no"}], "mapping"),
    (
        "Which colour has the chair in the cellar?",
        [{"inspected": ["chair_2"]}, {"answer_matches": r"(?i)\bblue\b"}],
        "exploration",
    ),
    (
        "How many chairs are in the kitchen?",
        [{"mapped": ["kitchen_1"]}, {"answer_matches": r"\b1\b"}],
        "mapping",
    ),
    ("Look at a chair", [{"inspected": ["chair_1", "chair_2"]}], "mapping"),
]

UNSOUND = [
    ("Go to the hall", [{"ended_at": ["hall_1"]}], "satisfied"),
    ("Is anything dangerous here?", [{"answer_says": "yes"}], "satisfied"),
    ("Name a chair", [{"answer_mentions": ["chair_1"]}], "satisfied"),
    ("Say something", [{"answer_matches": "."}], "satisfied"),
    ("Go to the island", [{"ended_at": ["island_1"]}], "impossible"),
    ("Look at the buoy", [{"inspected": ["buoy_1"]}], "impossible"),
    ("End up in two places", [{"ended_at": ["kitchen_1"]}, {"ended_at": ["cellar_1"]}], "impossible"),
    (
        "Which colour has the first chair?",
        [{"inspected": ["chair_1"]}, {"answer_matches": r"(?i)\bgreen\b"}],
        "impossible",
    ),
    ("Look at the chair", [{"inspected": ["chair_1"]}], "ambiguous"),
    ("Go to the chair", [{"ended_at": ["cellar_1"]}], "ambiguous"),
    (
        "Is the chair in the kitchen occupied?",
        [{"inspected": ["chair_1"]}, {"answer_says": "no"}],
        "contested",
    ),
    ("x" * 1001, [{"mapped": ["kitchen_1"]}], "no_task"),
]  # fmt: skip


@pytest.mark.parametrize(("instruction", "success", "kind"), SOUND)
def test_sound_tasks_are_kept_with_their_kind(instruction, success, kind):
    (task,), problems = sound_tasks(scenario(instruction, *success))
    assert problems == []
    assert task.kind == kind


@pytest.mark.parametrize(("instruction", "success", "fault"), UNSOUND)
def test_unsound_tasks_are_dropped_with_a_reason_that_quotes_them(instruction, success, fault):
    tasks, ((found, sentence),) = sound_tasks(scenario(instruction, *success))
    assert tasks == ()
    assert found == fault
    assert instruction in sentence


def test_one_alternative_that_can_be_met_is_enough():
    made = scenario(
        "Find somewhere to sit",
        {"inspected": ["chair_2"]},
        any_success=[[{"visited": ["island_1"]}], [{"ended_at": ["cellar_1"]}]],
    )
    assert fault_of(made, 0) is None
    none = scenario("Find somewhere to sit", any_success=[[{"visited": ["island_1"]}]])
    assert fault_of(none, 0).fault == "impossible"
    assert "never visited island_1" in str(fault_of(none, 0))


def test_what_the_generator_computed_from_the_truth_is_sound():
    """Two judges that know nothing of each other. How many there are of what goes by two words, only
    the generator knows."""
    faults = []
    for made in generate_many(15, seed=5, split="validation"):
        for index, task in enumerate(made.tasks):
            if not task.intent.get("count") and (fault := fault_of(made, index)):
                faults.append((task.instruction, str(fault)))
            assert needs_exploration(made, task) <= (task.kind == "exploration")
    assert faults == []
