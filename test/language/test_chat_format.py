"""Chat templates: pieces around contents, and refusals in words."""

from __future__ import annotations

import pytest

pytest.importorskip("jinja2", reason="jinja2 is not installed: make setup")

from prism_planner.language.chat_format import CHATML, ChatFormat
from prism_planner.language.model import LanguageModelError, ModelLoadError


def test_chatml_pieces() -> None:
    assert ChatFormat(CHATML).pieces(("system", "user")) == (
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
    )


def test_earlier_pieces_never_change() -> None:
    chat = ChatFormat(CHATML)
    short, long = chat.pieces(("user",)), chat.pieces(("user", "assistant", "user"))
    assert long[0] == short[0]
    assert long[1].startswith("<|im_end|>\n<|im_start|>assistant\n")


def test_a_template_that_adds_a_system_prompt() -> None:
    template = "{% if messages[0].role != 'system' %}SYS {% endif %}" + CHATML
    assert ChatFormat(template).pieces(("user",))[0] == "SYS <|im_start|>user\n"


def test_a_template_that_refuses() -> None:
    template = "{{ raise_exception('no system role') }}"
    with pytest.raises(LanguageModelError, match="no system role"):
        ChatFormat(template).pieces(("system",))


def test_a_template_that_drops_a_message() -> None:
    with pytest.raises(LanguageModelError, match="drops message 1"):
        ChatFormat("{{ messages[-1].content }}").pieces(("system", "user"))


def test_a_template_that_does_not_compile() -> None:
    with pytest.raises(ModelLoadError, match="invalid"):
        ChatFormat("{% for %}")


def test_a_template_cannot_reach_python() -> None:
    with pytest.raises(LanguageModelError):
        ChatFormat("{{ messages.__class__.__mro__[1].__subclasses__() }}").pieces(("user",))
