"""Episodes in the emulated world, judged by the scenario's own criteria."""

from __future__ import annotations

import pytest

from prism_planner.domains.spine.domain import SpineDomain
from prism_planner.evaluation.episode import EpisodeOptions, default_style, run_episode
from prism_planner.language.model import Completion
from prism_planner.worlds.scenario import load_scenario


@pytest.fixture
def yard(yard_file):
    return load_scenario(yard_file)


def episode(yard, task, *plans, **options):
    return run_episode(
        domain=SpineDomain(),
        model=Writer(*plans),
        scenario=yard,
        task=task,
        options=EpisodeOptions(style="source", **options),
    )


class Writer:
    """A language model that writes the given plans in SPINE's JSON, one action each."""

    name = "writer"
    context_length = 100_000

    def __init__(self, *actions: str) -> None:
        self.actions = list(actions)

    def count_tokens(self, text):
        return len(text)

    def session(self, messages=()):  # noqa: ARG002 - the script is fixed
        return self

    def append(self, message):
        """The script is fixed."""

    def generate(self, **options):  # noqa: ARG002 - the script is fixed
        import json

        action = self.actions.pop(0)
        plan = {"primary_goal": "g", "relevant_graph": "", "reasoning": "r", "plan": [action]}
        return Completion(action if action == "nonsense" else json.dumps(plan))

    def close(self):
        """Nothing to free."""


def test_a_solved_task(yard):
    result, trace = episode(yard, 0, "map_region(shed_1)", "answer(mapped it)")
    assert (result.success, result.reason, result.status) == (True, "", "succeeded")
    assert (result.scenario, result.instruction, result.cell) == ("yard", "Map the shed", "mapping/full")
    assert (result.turns, result.invalid_actions) == (2, 0)
    assert len(result.step_s) == 2
    assert trace.header.scenario == "yard"
    assert trace.header.model == "writer"


def test_an_answer_is_not_yet_success(yard):
    result, _ = episode(yard, 0, "answer(mapped it)")
    assert not result.success
    assert "never mapped shed_1" in result.reason
    assert result.answer == "mapped it"


def test_a_loop_says_so(yard):
    result, trace = episode(yard, 0, *["goto(gate_1)"] * 9)
    assert (result.success, result.status) == (False, "aborted")
    assert result.reason.startswith("loop: ")
    assert trace.outcome.reason == "loop"


def test_invalid_plans_are_counted(yard):
    result, _ = episode(yard, 0, "nonsense", "map_region(shed_1)", "nonsense", "answer(done)")
    assert result.success
    assert result.invalid_actions == 2


def test_the_step_limit_is_an_option(yard):
    result, _ = episode(yard, 0, "goto(shed_1)", "goto(gate_1)", "answer(done)", max_steps=2)
    assert result.reason.startswith("step_limit")


def test_a_task_that_the_expert_cannot_read_fails_with_its_reason(yard):
    result, trace = run_episode(domain=SpineDomain(), model=None, scenario=yard, task=1)
    assert not result.success
    assert result.reason.startswith("invalid_task: ")
    assert trace.outcome.reason == "invalid_task"


def test_styles_suit_the_model():
    assert default_style("openai:gpt-4o") == "source"
    assert default_style("smollm2-135m") == default_style("expert") == "distilled"
