"""Grammar pieces: whatever the text, the grammar matches exactly that text."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_planner.language.constraint import free_text, literal, one_of
from prism_planner.language.model import Constraint, Limits, Message

llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed: make setup")

# Any text that UTF-8 can hold, with what tends to break grammars made likely.
awkward = st.sampled_from(
    ['"', "\\", "/", "(?:", ")*", "|", "\n", "\x00", "\x7f", "<|im_end|>", "{", "é", "😀"]
)
# A vocabulary need not have tokens for control characters, nor for characters that Unicode lacks.
spellable = st.characters(exclude_categories=["Cs", "Cn", "Cc"])
texts = st.lists(st.text(spellable, max_size=6) | awkward, min_size=1, max_size=4).map("".join).filter(bool)


def accepts(grammar: str, text: str) -> bool:
    """Whether the grammar matches the whole text; tokens are bytes here."""
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_bytes(text.encode())
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()


@given(text=texts, other=texts)
def test_a_literal_matches_itself_only(text: str, other: str) -> None:
    assert accepts(f"start: {literal(text)}", text)
    assert accepts(f"start: {literal(text)}", other) == (text == other)


@given(names=st.lists(texts, min_size=1, max_size=5), other=texts)
def test_one_of_matches_its_names_only(names: list[str], other: str) -> None:
    grammar = f"start: {one_of(names)}"
    assert all(accepts(grammar, name) for name in names)
    assert accepts(grammar, other) == (other in names)


@given(text=st.text(min_size=1, max_size=30))
def test_free_text_is_one_line_without_what_is_forbidden(text: str) -> None:
    grammar = "start: said\nsaid" + free_text(40, forbid=";]\\")
    one_line = all(c.isprintable() or c == " " for c in text) and not set(text) & set(";]\\")
    if one_line and text.isascii() and not text.isspace() and not text.startswith("  "):
        assert accepts(grammar, text)
    if any(c in text for c in ";]\\\n\r\x00\x7f\u2028"):
        assert not accepts(grammar, text)


def test_bad_pieces_are_refused() -> None:
    for wrong in (lambda: one_of([]), lambda: one_of([""]), lambda: literal("\ud800"), lambda: free_text(1)):
        with pytest.raises(ValueError):
            wrong()


def test_ten_thousand_names_compile(model) -> None:
    names = [f"region_{i}" for i in range(10_000)]
    constraint = Constraint(grammar=f'start: "goto " {one_of(names)} "\\n"')
    answer = model.generate([Message("user", "Where?")], constraint=constraint).text
    assert answer.removeprefix("goto ").removesuffix("\n") in names


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(texts, min_size=1, max_size=6))
def test_any_name_survives_generation(model, names: list[str]) -> None:
    """Whatever objects are called, an answer contains one of the names, spelled exactly so."""
    constraint = Constraint(grammar=f'start: "[" {one_of(names)} "]"')
    completion = model.generate([Message("user", "Which one?")], constraint=constraint)
    assert completion.finish == "stop"
    assert completion.text in {f"[{name}]" for name in names}


def test_free_text_ends_within_its_budget(model) -> None:
    """The answer as a whole is never cut, however much the model would like to say."""
    grammar = 'start: "why:" why "\\ngoto " ("a" | "b")\nwhy' + free_text(6)
    completion = model.generate(
        [Message("user", "Tell me a very long story about robots, in one line.")],
        constraint=Constraint(grammar=grammar),
        limits=Limits(max_tokens=64),
    )
    assert completion.finish == "stop"
    assert completion.text.splitlines()[1] in ("goto a", "goto b")
    assert model.count_tokens(completion.text.splitlines()[0]) <= 6 + 3


def test_a_json_schema_is_followed(model) -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"enum": ["road_1", 'say "hi"']},
            "steps": {"type": "integer", "maximum": 9},
        },
        "required": ["region", "steps"],
        "additionalProperties": False,
    }
    text = model.generate([Message("user", "Plan.")], constraint=Constraint(json_schema=schema)).text
    assert json.loads(text)["region"] in schema["properties"]["region"]["enum"]
