"""The language-model protocol that every planner talks to.

Two backends implement it: `language.llama` (a GGUF in this process) and
`language.openai_compatible` (any OpenAI-compatible endpoint).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from prism_planner.cancellation import CancelToken

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a model may write next.

    `grammar` is an llguidance Lark grammar whose start rule matches the whole answer; the
    in-process backend enforces it token by token. `json_schema` describes the same language for
    endpoints that only take JSON schemas, and for styles whose text is JSON. At least one is set;
    where both are, `grammar` wins in process.
    """

    grammar: str | None = None
    json_schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of one generation. `temperature` 0 is greedy and deterministic."""

    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Where the seconds of one generation went."""

    prompt_s: float = 0.0
    generation_s: float = 0.0

    @property
    def total_s(self) -> float:
        return self.prompt_s + self.generation_s


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one generation.

    prompt: tokens of the whole conversation; evaluated: prompt tokens that were not in the KV
    cache; generated: answer tokens, of which `forced` were implied by the constraint and evaluated
    in batch.
    """

    prompt: int = 0
    evaluated: int = 0
    generated: int = 0
    forced: int = 0


FinishReason = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote. `finish` is "length" when a budget cut it short."""

    text: str
    finish: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    timing: Timing = field(default_factory=Timing)


class LanguageModelError(Exception):
    """A model could not be loaded or could not answer; the message says why and what to do."""


class ModelLoadError(LanguageModelError):
    """The model, adapter or endpoint is missing, broken or does not fit."""


class EndpointError(LanguageModelError):
    """An endpoint stayed unreachable, refused or answered garbage after bounded retries."""


class ContextFullError(LanguageModelError):
    """The conversation plus the answer budget does not fit in the context window."""

    def __init__(self, *, needed: int, available: int) -> None:
        super().__init__(f"the conversation needs {needed} tokens but the context holds {available}")
        self.needed = needed
        self.available = available


@runtime_checkable
class Session(Protocol):
    """A conversation that only grows, so that the model keeps its KV prefix between turns."""

    @property
    def messages(self) -> Sequence[Message]: ...

    def append(self, message: Message) -> None:
        """Add a message. Cheap: nothing is evaluated until `generate`."""

    def generate(
        self,
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Answer the conversation so far and append the answer to it.

        Raises ContextFullError (session unchanged), Cancelled (session unchanged) and
        LanguageModelError. `on_text` receives pieces of text as they are decided.
        """

    def close(self) -> None: ...


@runtime_checkable
class LanguageModel(Protocol):
    """A loaded model. One generation at a time; safe to share between threads (calls queue)."""

    @property
    def name(self) -> str: ...

    @property
    def context_length(self) -> int:
        """Tokens of prompt and answer together."""

    def count_tokens(self, text: str) -> int: ...

    def session(self, messages: Sequence[Message] = ()) -> Session: ...

    def generate(
        self,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion: ...

    def prefill(self, messages: Sequence[Message], *, cancel: CancelToken | None = None) -> None:
        """Read messages ahead of a conversation that will begin with the same text; may do nothing.

        Raises Cancelled, ContextFullError and LanguageModelError.
        """

    def close(self) -> None: ...
