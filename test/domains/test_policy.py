"""Policies: retries with feedback, the full context window, and the expert behind the same interface."""

from __future__ import annotations

import pytest

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.domains.policy import ExpertPolicy, ModelPolicy, prefetch
from prism_planner.language.model import (
    Completion,
    ContextFullError,
    LanguageModel,
    LanguageModelError,
    Session,
)

FULL = ContextFullError(needed=2000, available=1000)


def policy(domain, model, **options):
    return ModelPolicy(domain=domain, model=model, task="find it", **options)


def contents(session):
    return [message.content for message in session.messages]


def test_the_scripted_model_is_a_language_model(scripted):
    model = scripted("say hi")
    assert isinstance(model, LanguageModel)
    assert isinstance(model.session(), Session)


def test_conversation_only_grows_and_later_turns_say_what_changed(domain, world, scripted):
    model = scripted("go b", "say done")
    decider = policy(domain, model)
    first = decider.decide(world.observe())
    second = decider.decide(world.step(domain.next_skill(first.plan)).observation)
    assert (first.plan.go, second.plan.say) == ("b", "done")
    assert len(model.sessions) == 1
    assert contents(model.sessions[0]) == [
        "rules in distilled",
        "find it: at a, budget 1000",
        "go b",
        "now b",
        "say done",
    ]
    assert [c.grammar for c in model.constraints] == ["start: first=True", "start: first=False"]


def test_invalid_answers_are_answered_with_what_is_wrong(domain, world, scripted):
    model = scripted("dance", "go mars", "go b")
    decision = policy(domain, model).decide(world.observe())
    assert decision.plan.go == "b"
    assert [text for text, _ in decision.rejected] == ["dance", "go mars"]
    assert "places are a, b, c" in decision.rejected[0][1]
    assert contents(model.sessions[0])[2:4] == ["dance", "'dance' is not a plan; places are a, b, c"]
    # Every attempt is paid for; the prompt is as long as the last one was.
    assert (decision.usage.prompt, decision.usage.evaluated, decision.usage.generated) == (10, 12, 9)
    assert decision.usage.forced == 3
    assert decision.timing.total_s == pytest.approx(2.25)


def test_retries_are_bounded(domain, world, scripted):
    model = scripted("x", "y", "z", "go b")
    decision = policy(domain, model, retries=2).decide(world.observe())
    assert decision.plan is None
    assert decision.raw == "z"
    assert len(decision.rejected) == 3
    assert model.script == ["go b"]


def test_an_answer_that_was_cut_off_is_not_parsed(domain, world, scripted):
    model = scripted(Completion("say all is we", finish="length"), "say well")
    decision = policy(domain, model).decide(world.observe())
    assert decision.plan.say == "well"
    assert "cut off" in decision.rejected[0][1]


def test_a_full_context_restarts_from_the_whole_current_observation(domain, world, scripted):
    model = scripted("go b", FULL, "say done")
    decider = policy(domain, model)
    first = decider.decide(world.observe())
    decision = decider.decide(world.step(domain.next_skill(first.plan)).observation)
    assert decision.plan.say == "done"
    old, new = model.sessions
    assert old.closed
    assert contents(new)[:2] == ["rules in distilled", "find it: at b, budget 1000"]
    assert model.constraints[-1].grammar == "start: first=True"


def test_the_budget_shrinks_until_the_observation_fits(domain, world, scripted):
    model = scripted(FULL, FULL, FULL, "say done")
    assert policy(domain, model).decide(world.observe()).plan.say == "done"
    budgets = [int(contents(session)[1].rpartition(" ")[2]) for session in model.sessions]
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[-1] < budgets[0]


def test_a_context_that_never_fits_ends_with_the_reason(domain, world, scripted):
    model = scripted(*[FULL] * 50)
    with pytest.raises(ContextFullError, match="2000 tokens"):
        policy(domain, model).decide(world.observe())
    assert len(model.script) > 30


def test_unconstrained_models_get_no_constraint(domain, world, scripted):
    model = scripted("say hi")
    policy(domain, model, constrained=False).decide(world.observe())
    assert model.constraints == [None]


def test_source_style_reaches_the_system_prompt(domain, world, scripted):
    model = scripted("say hi")
    policy(domain, model, style="source").decide(world.observe())
    assert contents(model.sessions[0])[0] == "rules in source"


def test_errors_and_cancellation_pass_through(domain, world, scripted):
    def cancelled(_session, cancel):
        cancel.raise_if_cancelled()

    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        policy(domain, scripted(cancelled)).decide(world.observe(), cancel=token)
    with pytest.raises(LanguageModelError, match="endpoint"):
        policy(domain, scripted(LanguageModelError("endpoint down"))).decide(world.observe())


def test_close_closes_the_session_and_may_be_repeated(domain, world, scripted):
    model = scripted("say hi")
    decider = policy(domain, model)
    decider.close()
    decider.decide(world.observe())
    decider.close()
    decider.close()
    assert model.sessions[0].closed


def test_the_expert_speaks_as_the_distilled_model_should(domain, world):
    texts = []
    decider = ExpertPolicy(domain=domain, expert=domain.expert("go"))
    decision = decider.decide(world.observe(), on_text=texts.append)
    assert texts == [decision.raw] == ["go c"]
    assert domain.parse(decision.raw, world.observe(), style="distilled", previous=None) == decision.plan
    assert decision.rejected == ()
    assert decision.timing.total_s > 0


def test_the_expert_can_be_cancelled(domain, world):
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        ExpertPolicy(domain=domain, expert=domain.expert("go")).decide(world.observe(), cancel=token)


def test_prefetch_reads_what_a_task_will_begin_with(domain, world, scripted):
    model = scripted("say done")
    prefetch(domain=domain, model=model, observation=world.observe(), style="distilled")
    policy(domain, model).decide(world.observe())
    [ahead] = model.prefilled
    assert contents(model.sessions[0])[0] == ahead[0].content
    assert ahead[1].content.split(": ")[1:] == contents(model.sessions[0])[1].split(": ")[1:]
