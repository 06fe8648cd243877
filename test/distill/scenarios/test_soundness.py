"""Criteria of generated tasks: the expert meets them, idling and the wrong answer do not."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from prism_distill.scenarios.lexicon import categories, traits
from prism_planner.domains.planner import Planner
from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.expert import evidence
from prism_planner.domains.trace import TraceHeader
from prism_planner.evaluation.episode import make_policy
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.success import judge

MASK = Mask(regions=0.3, objects=0.3)
EXPERT_SUCCESS = 0.95


@pytest.fixture(scope="module")
def episodes(train):
    """Episodes of the expert with the intent: the task, the world after it, and whether it succeeded."""
    domain = SpineDomain()
    found = []
    for seed, scenario in enumerate(train[:120]):
        for task in scenario.tasks:
            world = SemanticGraphWorld(scenario, task=task, mask=MASK, seed=seed)
            policy = make_policy(domain, None, task=task.instruction, intent=task.intent)
            header = TraceHeader(
                task=task.instruction,
                domain="spine",
                model="expert",
                style="distilled",
                seed=seed,
                scenario=scenario.name,
            )
            trace = Planner(domain=domain, policy=policy).run(world, header)
            world.record.finish(trace.outcome.answer)
            found.append((task, world, judge(task, world.record)))
    return found


def test_the_expert_solves_them_under_masking(episodes):
    failed = [(task.instruction, verdict.reason) for task, _, verdict in episodes if not verdict.success]
    assert len(failed) <= (1 - EXPERT_SUCCESS) * len(episodes), failed[:10]
    cells = Counter(task.cell for task, *_ in episodes)
    solved = Counter(task.cell for task, _, verdict in episodes if verdict.success)
    assert all(solved[cell] >= 0.9 * cells[cell] for cell in cells)


def test_the_opposite_answer_fails(episodes):
    questions = 0
    for task, world, verdict in episodes:
        answer = world.record.answer
        if not verdict.success or not any(c.answer_says for c in task.success):
            continue
        flipped = re.sub(r"^(Yes|No)\b", lambda match: {"Yes": "No", "No": "Yes"}[match[0]], answer)
        assert flipped != answer
        world.record.finish(flipped)
        assert not judge(task, world.record).success, (task.instruction, flipped)
        world.record.finish(answer)
        questions += 1
    assert questions > 80


@pytest.mark.parametrize("opening", ["Done.", "Yes,", "No,", "There are 0 1 2 3 4 5 6 of them:"])
def test_doing_nothing_fails(train, opening):
    """Even for a robot that names all it knows."""
    for scenario in train:
        for task in scenario.tasks:
            world = SemanticGraphWorld(scenario, task=task)
            world.record.finish(f"{opening} I know {', '.join(world.known)}.")
            assert not judge(task, world.record).success, task.instruction


def test_attribute_texts_say_what_they_are_meant_to_say():
    """The expert reads them as the generator means them."""
    for name, trait in traits().items():
        if not trait.property:
            continue
        for holds, side in ((True, trait.holds), (False, trait.lacks)):
            for key, text in side:
                said = evidence.judge(trait.property, {key: text.format(n=3, year=2020, hours="10:30")})
                assert said == holds, (name, key, text)


def test_things_of_one_kind_have_facts_under_different_names():
    """Otherwise one fact would hide another."""
    for category in categories().values():
        for trait in category.traits:
            assert len({key for key, _ in traits()[trait].holds}) <= len(traits()[trait].holds)
        plain = [traits()[t].holds[0][0] for t in category.traits if not traits()[t].property]
        assert len(plain) == len(set(plain))
