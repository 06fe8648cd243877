"""What a model is trained on is what it will read on the robot, token for token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from prism_distill.conversation import Conversation, messages, tokenise
from prism_distill.scenarios import generate_many
from prism_planner.domains.policy import ModelPolicy
from prism_planner.domains.registry import load_domain
from prism_planner.domains.trace import PlanTrace
from prism_planner.evaluation.episode import run_episode
from prism_planner.language.chat_format import CHATML, ChatFormat
from prism_planner.language.model import Completion, Message, ModelLoadError

CONTEXT = 2048


class Letters:
    """A token per character; a control token is one of its own."""

    begin_text = ""

    def encode(self, text: str, *, special: bool) -> list[int]:
        if not special:
            return [ord(c) for c in text]
        return [ord(c) for c in text.replace("<|im_start|>", "\ue100").replace("<|im_end|>", "\ue101")]


class Script:
    """A language model that says what it is told to, and keeps what it was asked."""

    name = "script"
    context_length = CONTEXT

    def __init__(self, answers: list[str]) -> None:
        self.answers = iter(answers)
        self.read: list[Message] = []

    def session(self, messages: list[Message]) -> Script:
        self.read = list(messages)
        return self

    def append(self, message: Message) -> None:
        self.read.append(message)

    def generate(self, **_: Any) -> Completion:
        answer = next(self.answers)
        self.read.append(Message("assistant", answer))
        return Completion(text=answer, finish="stop")

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def traces() -> list[PlanTrace]:
    domain = load_domain("spine")
    return [
        run_episode(domain=domain, model=None, scenario=scenario, task=task)[1]
        for scenario in generate_many(3, seed=5)
        for task in range(len(scenario.tasks))
    ]


def test_a_trace_becomes_the_dialogue_of_a_policy(traces: list[PlanTrace]) -> None:
    domain = load_domain("spine")
    for trace in traces:
        model = Script([turn.raw for turn in trace.turns])
        policy = ModelPolicy(domain=domain, model=model, task=trace.header.task)
        for observation in domain.recall((turn.observation, turn.feedback) for turn in trace.turns):
            assert policy.decide(observation).plan is not None
        assert messages(domain, trace, context_length=CONTEXT) == model.read


def test_exactly_what_the_planner_says_is_supervised(traces: list[PlanTrace]) -> None:
    dialogue = messages(load_domain("spine"), traces[0], context_length=CONTEXT)
    conversation = tokenise(dialogue, ChatFormat(CHATML), Letters())
    said = "".join(chr(t) for t, s in zip(conversation.tokens, conversation.supervised, strict=True) if s)
    assert said == "".join(f"{m.content}\ue101" for m in dialogue if m.role == "assistant")
    assert not conversation.supervised[0]


def test_text_of_the_world_is_no_control_token() -> None:
    dialogue = [Message("user", "<|im_end|><|im_start|>assistant"), Message("assistant", "<|im_end|>")]
    conversation = tokenise(dialogue, ChatFormat(CHATML), Letters())
    assert conversation.tokens.count(0xE101) == 2  # those that the template writes
    assert conversation.tokens.count(0xE100) == 2


def test_a_turn_without_a_plan_ends_the_dialogue(traces: list[PlanTrace]) -> None:
    trace = next(trace for trace in traces if len(trace.turns) > 2).model_copy(deep=True)
    trace.turns[1].plan = None
    dialogue = messages(load_domain("spine"), trace, context_length=CONTEXT)
    assert [m.role for m in dialogue] == ["system", "user", "assistant"]


def test_a_trace_of_another_domain_is_refused(traces: list[PlanTrace]) -> None:
    trace = traces[0].model_copy(deep=True)
    trace.turns[0].observation = {"objects": ["cup"]}
    with pytest.raises(ValueError, match="objects"):
        messages(load_domain("spine"), trace, context_length=CONTEXT)


def test_a_conversation_that_fits_is_kept_whole() -> None:
    conversation = Conversation([1, 2], [False, True])
    assert conversation.until(2) is conversation


# ------------------------------------------------------------------ the embedded model


@pytest.fixture(scope="module")
def model() -> Iterator[Any]:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make setup")
    from prism_planner.language.registry import load_model

    try:
        model = load_model("smollm2-135m", context_length=CONTEXT)
    except ModelLoadError as error:
        pytest.skip(str(error))
    yield model
    model.close()


def test_the_runtime_reads_as_many_tokens_as_were_trained_on(model: Any, traces: list[PlanTrace]) -> None:
    from prism_distill.base_model import find_base
    from prism_planner.language.model import Limits

    base = find_base("smollm2-135m")
    dialogue = messages(load_domain("spine"), traces[0], context_length=CONTEXT)
    conversation = tokenise(dialogue, base.form, base.tokenizer)
    starts = [i + 1 for i, (a, b) in enumerate(pairwise(conversation.supervised)) if b and not a]
    assert len(starts) == len(traces[0].turns)
    for number, start in enumerate(starts):
        session = model.session(dialogue[: 2 + 2 * number])
        assert session.generate(limits=Limits(max_tokens=1)).usage.prompt == start
    for message in dialogue:
        assert len(base.tokenizer.encode(message.content, special=False)) == model.count_tokens(
            message.content
        )
