"""Reading what a model wrote: whatever it is, it is a scenario or an error that says what to mend."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_distill.scenarios.answer import AnswerError, read_answer
from prism_distill.scenarios.written import example
from prism_planner.worlds.spine_scenario import SpineScenario

from .author import as_answer

ANSWER = as_answer(example())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def read(text: str) -> SpineScenario:
    return read_answer(text, name="n", nodes=(1, 60))


def places(value: Any, at: tuple = ()) -> list[tuple]:
    """All paths into a JSON value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [at, *(path for key in keys for path in places(value[key], (*at, key)))]


PLACES = [path for path in places(ANSWER) if path]


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with pytest.raises(AnswerError):
        read(text)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(st.sampled_from(PLACES), JSON)
def test_any_value_anywhere_is_read_or_refused(path, value):
    answer = json.loads(json.dumps(ANSWER))
    parent = answer
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    try:
        assert isinstance(read(json.dumps(answer)), SpineScenario)
    except AnswerError as error:
        assert str(error)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, len(json.dumps(ANSWER)) - 1))
def test_an_answer_that_ends_anywhere_is_refused(end):
    with pytest.raises(AnswerError, match="not one whole JSON object"):
        read(json.dumps(ANSWER)[:end])


def test_null_is_the_same_as_nothing_and_facts_may_be_a_mapping():
    answer = json.loads(json.dumps(ANSWER))
    for thing in answer["world"]["objects"]:
        thing["attributes"] = {pair["fact"]: pair["value"] for pair in thing["attributes"]}
        thing.setdefault("description", None)
    assert read(json.dumps(answer)) == read(json.dumps(ANSWER))


def test_many_problems_are_told_in_part():
    answer = json.loads(json.dumps(ANSWER))
    answer["world"]["edges"] = [["a_1", f"b_{i}"] for i in range(30)]
    with pytest.raises(AnswerError) as error:
        read(json.dumps(answer))
    assert len(str(error.value).splitlines()) == 9
    assert str(error.value).endswith("more")
