"""The closed loop: it always ends, and says how."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_planner.cancellation import CancelToken
from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.planner import MAX_TASK_CHARACTERS, Planner, PlannerLimits, check_task
from prism_planner.domains.policy import ExpertPolicy, ModelPolicy
from prism_planner.domains.trace import PlanTrace, TraceHeader
from prism_planner.language.model import Completion, ContextFullError, LanguageModelError

HEADER = TraceHeader(task="find it", domain="line", model="scripted")


def run(domain, world, model, *, limits=None, **options):
    planner = Planner(
        domain=domain, policy=ModelPolicy(domain=domain, model=model, task="find it"), limits=limits
    )
    return planner.run(world, HEADER, **options)


def test_observe_decide_act_until_the_plan_answers(domain, world, scripted):
    trace = run(domain, world, scripted("go b", "go c", "say found it"))
    assert [str(skill) for skill in world.steps] == ["goto(b)", "goto(c)"]
    assert (trace.outcome.status, trace.outcome.reason, trace.outcome.answer) == ("succeeded", "", "found it")
    assert [turn.observation for turn in trace.turns] == [
        {"place": "a", "first": True},
        {"place": "b", "first": False},
        {"place": "c", "first": False},
    ]
    assert [turn.skill for turn in trace.turns] == ["goto(b)", "goto(c)", None]
    assert [turn.code for turn in trace.turns] == [0, 0, None]
    assert [turn.feedback for turn in trace.turns] == [[], ["at b"], ["at c"]]
    assert trace.turns[0].plan == {"go": "b", "say": ""}
    assert trace.turns[0].timing.prompt_s == 0.5
    assert trace.turns[0].evaluated_tokens == 4


def test_a_failed_skill_is_fed_back_not_raised(domain, world, scripted):
    trace = run(domain, world, scripted("go nowhere", "say it cannot be reached"))
    assert trace.outcome.status == "succeeded"
    assert trace.turns[0].code == 101
    assert trace.turns[1].feedback == ["nowhere is unreachable"]


def test_invalid_plans_end_the_episode_with_the_last_reason(domain, world, scripted):
    trace = run(domain, world, scripted("go b", "sing", "jump", "fly"))
    assert (trace.outcome.status, trace.outcome.reason) == ("aborted", "invalid_plans")
    assert "'fly' is not a plan" in trace.outcome.detail
    assert trace.invalid_plans == 3
    assert trace.turns[-1].plan is None


def test_a_model_error_ends_the_episode_and_keeps_its_turns(domain, world, scripted):
    trace = run(domain, world, scripted("go b", LanguageModelError("endpoint is down")))
    assert (trace.outcome.status, trace.outcome.reason) == ("aborted", "model_error")
    assert trace.outcome.detail == "endpoint is down"
    assert len(trace.turns) == 1


def test_a_context_that_never_fits_is_a_model_error(domain, world, scripted):
    trace = run(domain, world, scripted(*[ContextFullError(needed=9, available=8)] * 20))
    assert trace.outcome.reason == "model_error"
    assert "9 tokens" in trace.outcome.detail


def test_a_robot_that_is_gone_ends_the_episode(domain, world, scripted):
    world.gone = True
    trace = run(domain, world, scripted("go b", "go c"))
    assert (trace.outcome.status, trace.outcome.reason) == ("aborted", "world_error")
    assert trace.outcome.detail == "the robot does not answer"
    assert trace.turns[-1].code == 500


def test_a_task_that_turns_out_not_to_be_understood(domain, world, scripted):
    trace = run(domain, world, scripted("go b", InvalidTaskError("which place?")))
    assert (trace.outcome.reason, trace.outcome.detail) == ("invalid_task", "which place?")


@pytest.mark.parametrize(
    ("script", "steps"),
    [
        pytest.param(["go nowhere"], 4, id="same action refused"),
        pytest.param(["go a"], 4, id="same action without effect"),
        pytest.param(["go b", "go a"], 8, id="back and forth"),
    ],
)
def test_going_in_circles_is_detected(domain, world, scripted, script, steps):
    trace = run(domain, world, scripted(*script * 30))
    assert (trace.outcome.status, trace.outcome.reason) == ("aborted", "loop")
    assert "was done 4 times" in trace.outcome.detail
    assert len(trace.turns) == steps


def test_coming_back_between_discoveries_is_no_loop(domain, world, scripted):
    trace = run(
        domain,
        world,
        scripted("go b", "go a", "go b", "go a", "go b", "go c", "go b", "go a", "go b", "say ok"),
    )
    assert trace.outcome.status == "succeeded"


def test_the_step_limit(domain, world, scripted):
    limits = PlannerLimits(max_steps=2)
    trace = run(domain, world, scripted("go b", "go c", "say late"), limits=limits)
    assert (trace.outcome.status, trace.outcome.reason) == ("aborted", "step_limit")
    assert len(world.steps) == 2


def test_cancelled_before_anything_nothing_moves(domain, world, scripted):
    cancel = CancelToken()
    cancel.cancel()
    trace = run(domain, world, scripted("go b"), cancel=cancel)
    assert (trace.outcome.status, trace.outcome.reason) == ("cancelled", "cancelled")
    assert world.steps == []


def test_cancelled_while_the_model_thinks(domain, world, scripted):
    cancel = CancelToken()

    def think(_session, token):
        cancel.cancel()
        token.raise_if_cancelled()

    trace = run(domain, world, scripted("go b", think), cancel=cancel)
    assert trace.outcome.status == "cancelled"
    assert len(world.steps) == 1


def test_cancelled_while_the_robot_moves(domain, world, scripted):
    world.cancel_after = 1
    trace = run(domain, world, scripted("go b", "go c"), cancel=CancelToken())
    assert trace.outcome.status == "cancelled"
    assert trace.turns[-1].skill == "goto(b)"
    assert trace.turns[-1].code is None


def test_every_ending_frees_the_model_session(domain, world, scripted):
    for script in (["say ok"], ["x", "y", "z"], [LanguageModelError("gone")]):
        model = scripted(*script)
        run(domain, world, model)
        assert all(session.closed for session in model.sessions)


def test_events_and_text_are_streamed_in_order(domain, world, scripted):
    events, pieces = [], []
    run(domain, world, scripted("go b", "say ok"), on_event=events.append, on_text=pieces.append)
    assert [(e.kind, e.step, str(e.skill) if e.skill else None) for e in events] == [
        ("plan", 1, None),
        ("skill_started", 1, "goto(b)"),
        ("skill_ended", 1, "goto(b)"),
        ("plan", 2, None),
    ]
    assert events[2].feedback == ("at b",)
    assert pieces == ["go b", "say ok"]


def test_the_expert_runs_the_same_loop(domain, world):
    policy = ExpertPolicy(domain=domain, expert=domain.expert("go"))
    trace = Planner(domain=domain, policy=policy).run(world, HEADER)
    assert trace.outcome.answer == "done"
    assert [turn.raw for turn in trace.turns] == ["go c", "say done"]


def test_same_script_same_trace_but_for_timing(domain, new_world, scripted):
    def untimed():
        trace = run(domain, new_world(), scripted("go b", "nonsense", "go c", "say ok"))
        return [turn.model_dump(exclude={"timing"}) for turn in trace.turns]

    assert untimed() == untimed()


texts = st.sampled_from(["go a", "go b", "go c", "go nowhere", "say ok", "?", ""])
replies = texts | st.builds(Completion, st.text(max_size=5), finish=st.sampled_from(["stop", "length"]))


@given(script=st.lists(replies, max_size=40))
def test_any_model_output_ends_in_an_outcome_that_a_file_keeps(domain, new_world, scripted, script):
    trace = run(domain, new_world(), scripted(*script, *["say stop"] * 3))
    assert trace.outcome is not None
    assert len(trace.turns) <= PlannerLimits().max_steps
    assert PlanTrace.from_lines(trace.lines(), source="memory") == trace


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("\x00\x1b", "empty"),
        ("go " * 5000, "10000|14999|characters"),
        ("go \udcff", "UTF-8"),
    ],
)
def test_tasks_that_nothing_can_be_done_with(task, reason):
    with pytest.raises(InvalidTaskError, match=reason):
        check_task(task)


def test_tasks_are_one_line_in_any_script():
    assert check_task("  is the\npath\x1b clear? ") == "is the path clear?"
    assert check_task("道は空いていますか") == "道は空いていますか"
    assert check_task("x" * MAX_TASK_CHARACTERS)


@given(st.text(max_size=1500))
def test_checking_a_task_twice_changes_nothing(task):
    try:
        once = check_task(task)
    except InvalidTaskError:
        return
    assert check_task(once) == once
    assert "\n" not in once
