"""Training, validation and test share neither worlds nor phrasings, nor what is kept for evaluation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prism_distill.scenarios import SPLITS, generate_many
from prism_distill.scenarios.phrasing import MOODS, groups, phrasings, wrappers
from prism_distill.scenarios.reserved import layout_digest, layouts, normalised, sentences
from prism_distill.scenarios.splits import split_phrasings
from prism_planner.worlds.scenario import load_scenarios
from prism_planner.worlds.spine_scenario import SpineScenario

ROOT = Path(__file__).parents[3]
NEAR_DUPLICATE = 0.7

# The tasks of the PRISM paper, tables 5, 6 and 7.
PAPER = """
Go to the desk
Go to the table
Inspect the chair
Map the area near the desk
Go to the door
Go to the ground_1
Inspect the television
Go inspect the table then return to where you started
Inspect the plant then return to where you started
Inspect the chair then inspect the table
Is the path to the exit clear?
Find a place to sit
Find a place to work
I want to watch a movie. Help
I need to do some robotics experiments
Go to the southern part of the scene
Help me find my backpack. I last saw it when I was working.
I lost my laptop. Help.
What is near the person?
I will be giving a tour of the lab for kids. Is there anything dangerous around?
Map the path
Go to the trees
Inspect the car
Go to sidewalk 2
Go to parking lot 1
Where can I park my car?
I want a shady place to read
Are the chairs under the trees occupied?
Is my car damaged?
Is there debris on the path?
Is construction blocking the sidewalk?
I lost my car. Help.
Is the path clear?
Can I get to the parking lot?
Map the building
Go to the canine center
Go to the landing strip
Map the bike rack
Return to the landing strip
Is there space to park my car?
Is construction blocking the road?
Find my dog
Has rain damaged any roofs?
Is the playground built?
Return to land
""".strip().splitlines()


@pytest.fixture(scope="module")
def shipped() -> list[SpineScenario]:
    return load_scenarios([ROOT / "scenarios" / "spine"])


@pytest.fixture(scope="module")
def many() -> list[SpineScenario]:
    return list(generate_many(1200, seed=21))


def test_no_world_is_in_two_splits(train, held_out):
    validation = list(generate_many(100, seed=11, split="validation"))
    digests = [{_digest(s) for s in part} for part in (train, validation, held_out)]
    assert not digests[0] & digests[1] and not digests[0] & digests[2] and not digests[1] & digests[2]


@pytest.mark.parametrize("group", groups())
def test_no_phrasing_is_in_two_splits(group):
    parts = [phrasings(group, split) for split in SPLITS]
    assert all(parts)
    assert sum(len(part) for part in parts) == len(phrasings(group))
    said = [{variant for p in part for variant in p.variants()} for part in parts]
    assert not said[0] & said[1] and not said[0] & said[2] and not said[1] & said[2]


def test_a_phrasing_that_occurs_in_two_groups_is_in_one_split():
    home: dict[str, tuple[str, str]] = {}
    for group in groups():
        for split in SPLITS:
            for phrasing in phrasings(group, split):
                for variant in phrasing.variants():
                    other = home.setdefault(variant, (split, group))
                    assert other[0] == split, (variant, group, *other)


def test_what_is_said_in_the_splits_differs(train, held_out):
    """Sentences with their nouns taken out, as far as they are in the held-out phrasings at all."""
    trained = {normalised(t.instruction) for s in train for t in s.tasks}
    tested = [normalised(t.instruction) for s in held_out for t in s.tasks]
    assert sum(said in trained for said in tested) <= 0.05 * len(tested)


def test_politeness_is_held_out_too():
    for mood in MOODS:
        parts = [set(wrappers(mood, split)) for split in SPLITS]
        assert all(parts) and not parts[0] & parts[1] and not parts[0] & parts[2]


def test_the_division_is_stable():
    assert split_phrasings(
        ["go there", "drive there", "walk there", "be there", "get there", "head there"]
    ) == {
        "train": ("walk there", "be there", "drive there", "get there"),
        "validation": ("go there",),
        "test": ("head there",),
    }


def test_a_phrasing_stays_where_another_list_put_it():
    texts = ["go there", "drive there", "walk there", "be there", "get there", "head there"]
    parts = split_phrasings(texts, {"head there": "train", "walk there": "test"})
    assert "head there" in parts["train"] and parts["test"] == ("walk there",)


# What is kept for evaluation


def test_the_reserved_sentences_are_all_of_the_paper_and_of_the_shipped_scenarios(shipped):
    wanted = {*PAPER, *(task.instruction for scenario in shipped for task in scenario.tasks)}
    assert {normalised(sentence) for sentence in wanted} <= sentences()


def test_the_reserved_layouts_are_those_of_the_shipped_worlds(shipped):
    assert {_digest(scenario) for scenario in shipped} <= layouts()


def test_no_reserved_sentence_is_ever_generated(many):
    for scenario in many:
        for task in scenario.tasks:
            assert normalised(task.instruction) not in sentences()
            assert _words(task.instruction) not in {_words(sentence) for sentence in PAPER}


def test_no_shipped_world_is_generated_nor_one_much_like_it(many, shipped):
    reserved = [(_digest(s), _shape(s)) for s in shipped]
    for scenario in many:
        shape = _shape(scenario)
        for digest, other in reserved:
            assert _digest(scenario) != digest
            assert len(shape & other) / len(shape | other) < NEAR_DUPLICATE


def test_worlds_differ_from_each_other(many):
    assert len({_digest(scenario) for scenario in many}) >= 0.93 * len(many)
    assert len({(_digest(s), frozenset(o.name for o in s.world.objects)) for s in many}) >= 0.99 * len(many)


@pytest.mark.parametrize(
    ("sentence", "same"),
    [
        ("Please, go to the desk.", "Go to the desk"),
        ("GO TO SIDEWALK_2", "Go to sidewalk 2"),
        ("I lost my laptop", "I lost my laptop. Help."),
        ("Robot, could you find a place to sit?", "Find a place to sit"),
    ],
)
def test_politeness_and_punctuation_do_not_hide_a_reserved_sentence(sentence, same):
    assert normalised(sentence) == normalised(same)


def _digest(scenario: SpineScenario) -> str:
    return layout_digest((region.name for region in scenario.world.regions), scenario.world.edges)


def _shape(scenario: SpineScenario) -> set[str]:
    return {"-".join(sorted(edge)) for edge in scenario.world.edges} | {
        o.name for o in scenario.world.objects
    }


def _words(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.lower()))
