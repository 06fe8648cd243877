"""What attribute texts say: polarity, negation, keys, ownership."""

from __future__ import annotations

import pytest

from prism_planner.domains.spine.expert.evidence import (
    adjective,
    holds,
    judge,
    ownership,
    properties,
    query,
    relevant,
)
from prism_planner.domains.spine.expert.intent import Condition

POLARITY = [
    ("occupied", {"occupied": "no, it is empty"}, False),
    ("occupied", {"occupied": "yes, a coat lies on it"}, True),
    ("occupied", {"state": "a person is sitting on it"}, True),
    ("occupied", {"state": "not occupied"}, False),
    ("occupied", {"in_use": "false"}, False),
    ("occupied", {"available": "yes"}, False),
    ("occupied", {"status": "vacant"}, False),
    ("occupied", {"seats": "ten"}, None),
    ("occupied", {}, None),
    ("damaged", {"damage": "none"}, False),
    ("damaged", {"damage": "dent on the rear bumper"}, True),
    ("damaged", {"condition": "no visible damage"}, False),
    ("damaged", {"condition": "dent on the rear bumper"}, True),
    ("damaged", {"condition": "good condition"}, False),
    ("damaged", {"state": "undamaged"}, False),
    ("damaged", {"state": "mostly fine, but the mirror is broken"}, True),
    ("damaged", {"roof": "intact, no damage"}, False),
    ("damaged", {"roof": "damaged, the rain has broken through and a large hole is visible"}, True),
    ("damaged", {"damaged": "no, only the gutter is full of leaves"}, False),
    ("damaged", {"colour": "red"}, None),
    ("blocked", {"blocking": "no, it works on the lawn and the sidewalk beside it is open"}, False),
    ("blocked", {"clear": "no"}, True),
    ("blocked", {"description": "free of debris"}, False),
    ("blocked", {"state": "lies across the path"}, True),
    ("blocked", {"state": "not blocking the path"}, False),
    ("blocked", {"state": "leans against the wall, there is room to pass"}, False),
    ("blocked", {"open": "no, it is chained"}, True),
    ("blocked", {"open": "no, but unlocked"}, None),
    ("full", {"text": "lot full, no free spaces"}, True),
    ("full", {"free spaces": "3"}, False),
    ("full", {"free spaces": "0"}, True),
    ("full", {"capacity": "12 spaces available"}, False),
    ("full", {"occupied": "yes, a car stands in it"}, None),
    ("shaded", {"shade": "none, it stands in full sun"}, False),
    ("shaded", {"shade": "almost none, the crowns are bare"}, False),
    ("shaded", {"shade": "none, the trees above it are bare"}, False),
    ("shaded", {"shade": "dense shade"}, True),
    ("shaded", {"location": "under a large oak"}, True),
    ("built", {"built": "no, only the foundations have been poured"}, False),
    ("built", {"status": "under construction"}, False),
    ("built", {"status": "not finished yet"}, False),
    ("built", {"status": "finished, children are playing"}, True),
    ("dangerous", {"dangerous": "no, it is unplugged, locked and covered"}, False),
    ("dangerous", {"state": "blade exposed"}, True),
    ("dangerous", {"condition": "folded"}, False),
    ("working", {"working": "no, the screen is cracked and dark"}, False),
    ("working", {"status": "out of order"}, False),
    ("working", {"power": "on"}, True),
    ("wet", {"condition": "dry"}, False),
    ("wet", {"surface": "flooded after the rain"}, True),
    ("open", {"open": "no, but unlocked"}, False),
    ("locked", {"state": "padlocked"}, True),
    ("red", {"colour": "red"}, True),
    ("red", {"colour": "blue"}, False),
    ("wooden", {"material": "wooden slats"}, True),
    ("wooden", {"size": "large"}, None),
]


@pytest.mark.parametrize(("prop", "attributes", "expected"), POLARITY)
def test_polarity(prop: str, attributes: dict[str, str], expected: bool | None) -> None:
    assert judge(prop, attributes) is expected


def test_a_condition_may_be_negative() -> None:
    free = Condition(property="occupied", value=False)
    assert holds(free, {"occupied": "no"}) is True
    assert holds(free, {"occupied": "yes"}) is False
    assert holds(free, {}) is None


@pytest.mark.parametrize(
    ("word", "prop", "value"),
    [
        ("free", "occupied", False),
        ("intact", "damaged", False),
        ("shady", "shaded", True),
        ("shut", "open", False),
    ],
)
def test_adjectives(word: str, prop: str, value: bool) -> None:
    assert adjective(word) == Condition(property=prop, value=value)


def test_words_for_and_against_differ() -> None:
    for prop in properties().values():
        assert not set(prop.positive) & set(prop.negative), prop.name
        assert not prop.keys & prop.keys_not, prop.name
        for word in prop.positive:
            assert prop.judge_text(word) is not False, (prop.name, word)
        for word in prop.negative:
            assert prop.judge_text(word) is not True, (prop.name, word)


def test_every_property_has_a_query() -> None:
    assert query("occupied") == "is it occupied"
    assert query("striped") == "is it striped"


def test_what_is_relevant_is_said_without_yes_or_no() -> None:
    attributes = {"damaged": "yes, the rear bumper is dented", "colour": "red"}
    assert relevant(attributes, ["damaged"]) == "the rear bumper is dented"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"description": "your car, a red hatchback"}, True),
        ({"owner": "you"}, True),
        ({"description": "the guard's dog, on a chain"}, False),
        ({"owner": "a child, says the name tag"}, False),
        ({"description": "a taxi waiting for passengers"}, False),
        ({"description": "a blue estate car"}, None),
        ({}, None),
    ],
)
def test_ownership(attributes: dict[str, str], expected: bool | None) -> None:
    assert ownership(attributes) is expected
