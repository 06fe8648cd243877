"""How alike scenarios are, and how varied a set of them is."""

from __future__ import annotations

import json
from itertools import combinations

from prism_distill.scenarios import generate_many
from prism_distill.scenarios.answer import read_answer
from prism_distill.scenarios.similarity import diversity, features, similarity
from prism_distill.scenarios.written import example

from .author import as_answer


def test_similarity_is_that_of_sets(train):
    found = [features(scenario) for scenario in train[:20]]
    for a, b in combinations(found, 2):
        assert similarity(a, b) == similarity(b, a)
        assert 0 <= similarity(a, b) < 1
    assert all(similarity(a, a) == 1 for a in found)


def test_one_task_less_is_less_of_a_change_than_another_world(train):
    scenario = next(s for s in train if len(s.tasks) > 2)
    shorter = scenario.model_copy(update={"tasks": scenario.tasks[:-1]})
    near = similarity(features(scenario), features(shorter))
    assert near > 0.5
    assert all(similarity(features(scenario), features(s)) < near for s in train if s is not scenario)


def test_numbers_count_for_how_many_there_are_but_not_for_which():
    one = example()
    text = json.dumps(as_answer(one)).replace("bench_1", "bench_9").replace("gate_1", "gate_3")
    renumbered = read_answer(text, name="other", nodes=(1, 60))
    assert renumbered.world != one.world
    assert similarity(features(one), features(renumbered)) == 1
    fewer = one.world.model_copy(update={"objects": one.world.objects[1:]})
    assert similarity(features(one), features(one.model_copy(update={"world": fewer}))) < 1


def test_diversity_of_repetition_is_none(train):
    varied, repeated = diversity(train[:30]), diversity([train[0]] * 30)
    assert repeated["similarity"] == 1
    assert varied["similarity"] < 0.3
    for key in ("distinct_1", "distinct_2", "distinct_3", "regions", "objects", "distinct_sentences"):
        assert varied[key] > repeated[key], key
    assert repeated["distinct_sentences"] == len({t.instruction for t in train[0].tasks})


def test_diversity_of_what_is_not_there():
    assert diversity([])["similarity"] == 0
    assert diversity(list(generate_many(1, seed=0)))["similarity"] == 0


def test_distinct_counts_sequences_of_words():
    one = example()
    tasks = tuple(
        one.tasks[0].model_copy(update={"instruction": text}) for text in ("go there", "go here now")
    )
    found = diversity([one.model_copy(update={"tasks": tasks})])
    assert found["sentences"] == found["distinct_sentences"] == 2
    assert found["distinct_1"] == 4 / 5
    assert found["distinct_2"] == 1
