"""Traces as training conversations: the messages that a policy would send, token for token.

A model is trained on exactly what it will read on the robot. So the messages come from the domain, as
in `prism_planner.domains.policy.ModelPolicy`, and the tokens are put together as
`prism_planner.language.llama.LlamaSession` does: the pieces of the chat template and the contents are
tokenised apart, so that text from the world is never read as a control token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from prism_planner.domains.domain import Domain, Style
from prism_planner.domains.policy import opening
from prism_planner.domains.trace import PlanTrace
from prism_planner.language.chat_format import ChatFormat
from prism_planner.language.model import Message


class Tokenizer(Protocol):
    """Text to tokens, as the language model reads it."""

    begin_text: str
    """The spelling of the token that starts every sequence; empty when there is none."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Tokens of `text`. special: read the spelling of control tokens as those tokens."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as tokens. supervised[i]: whether token i is the planner's own (equation 2 of the
    PRISM paper: losses are of actions, given the task and what was observed and done before)."""

    tokens: list[int]
    supervised: list[bool]

    def __len__(self) -> int:
        return len(self.tokens)

    def until(self, length: int) -> Conversation:
        """The first whole turns, in at most `length` tokens."""
        if len(self) <= length:
            return self
        end = max(length, 0)
        while end and not (self.supervised[end - 1] and not self.supervised[end]):
            end -= 1
        return Conversation(self.tokens[:end], self.supervised[:end])


def messages(
    domain: Domain[Any, Any], trace: PlanTrace, *, context_length: int, style: Style = "distilled"
) -> list[Message]:
    """The dialogue of a trace in `style`, whatever style its plans were written in.

    context_length: tokens of the window that the first observation is cut for. Turns without a plan end
    it. Raises ValueError for a trace that is not of this domain.
    """
    dialogue: list[Message] = []
    previous = None
    observations = domain.recall((turn.observation, turn.feedback) for turn in trace.turns)
    for turn, observation in zip(trace.turns, observations, strict=True):
        if turn.plan is None:
            break
        if not dialogue:
            dialogue += opening(
                domain, trace.header.task, observation, style=style, context_length=context_length
            )
        else:
            text = domain.render(trace.header.task, observation, style=style, first=False)
            dialogue.append(Message("user", text))
        plan = domain.plan(turn.plan)
        dialogue.append(Message("assistant", domain.encode(plan, style=style, previous=previous)))
        previous = plan
    return dialogue


def tokenise(dialogue: Sequence[Message], form: ChatFormat, tokenizer: Tokenizer) -> Conversation:
    """Token ids and which of them are supervised: the assistant's text, and the token that ends it."""
    tokens: list[int] = []
    supervised: list[bool] = []

    def add(new: list[int], of_planner: int = 0) -> None:
        tokens.extend(new)
        supervised.extend(i < of_planner for i in range(len(new)))

    pieces = form.pieces(tuple(message.role for message in dialogue))
    if not pieces[0].startswith(tokenizer.begin_text):
        add(tokenizer.encode(tokenizer.begin_text, special=True))
    previous = ""
    for piece, message in zip(pieces, dialogue, strict=False):
        add(tokenizer.encode(piece, special=True), of_planner=previous == "assistant")
        content = tokenizer.encode(message.content, special=False)
        add(content, of_planner=len(content) if message.role == "assistant" else 0)
        previous = message.role
    if previous == "assistant":
        # What the template writes behind the last message opens another turn; only its first token ends this.
        add(tokenizer.encode(pieces[-1], special=True)[:1], of_planner=1)
    return Conversation(tokens, supervised)
