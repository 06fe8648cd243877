"""Choosing tokens: what a constraint allows, and which of it to take."""

from __future__ import annotations

import json
from collections import OrderedDict

import llguidance.numpy
import numpy as np
from llguidance import LLMatcher, LLTokenizer
from numpy.typing import NDArray

from prism_planner.language.model import Constraint, LanguageModelError, Limits

_CACHED_GRAMMARS = 8


class TokenConstraint:
    """The state of one constrained answer."""

    def __init__(self, matcher: LLMatcher, vocabulary_size: int) -> None:
        self._matcher = matcher
        self._size = vocabulary_size
        self._bits = llguidance.numpy.allocate_token_bitmask(1, vocabulary_size)

    @property
    def finished(self) -> bool:
        """Whether nothing but the end may follow. Raises LanguageModelError when the grammar failed."""
        if self._matcher.is_error():
            reason = _first_line(self._matcher.get_error())
            raise LanguageModelError(f"the grammar cannot be followed: {reason}")
        return bool(self._matcher.is_stopped())

    def forced(self) -> list[int]:
        """The tokens that must come next whatever the model says."""
        return list(self._matcher.compute_ff_tokens())

    def allowed(self) -> NDArray[np.bool_]:
        """A mask over the vocabulary of the tokens that may come next."""
        llguidance.numpy.fill_next_token_bitmask(self._matcher, self._bits)
        bits = np.unpackbits(self._bits.view(np.uint8).ravel(), count=self._size, bitorder="little")
        return bits.view(np.bool_)

    def advance(self, tokens: list[int]) -> None:
        self._matcher.consume_tokens(tokens)


class ConstraintCompiler:
    """Compiles constraints for one vocabulary, and keeps the latest, since grammars recur."""

    def __init__(self, tokenizer: LLTokenizer) -> None:
        self._tokenizer = tokenizer
        self._compiled: OrderedDict[str, LLMatcher] = OrderedDict()

    def compile(self, constraint: Constraint) -> TokenConstraint | None:
        """The constraint at its start, None when it constrains nothing.

        Raises LanguageModelError for an invalid grammar or schema.
        """
        if constraint.grammar is not None:
            kind, source = "grammar", LLMatcher.grammar_from_lark(constraint.grammar)
        elif constraint.json_schema is not None:
            kind, source = "JSON schema", _json_grammar(constraint)
        else:
            return None
        matcher = self._compiled.pop(source, None)
        if matcher is None:
            matcher = LLMatcher(self._tokenizer, source, log_level=0)
            if matcher.is_error():
                raise LanguageModelError(f"the {kind} is invalid: {_first_line(matcher.get_error())}")
        self._compiled[source] = matcher
        if len(self._compiled) > _CACHED_GRAMMARS:
            self._compiled.popitem(last=False)
        return TokenConstraint(matcher.deep_copy(), self._tokenizer.vocab_size)


class Sampler:
    """Picks a token: the likeliest at temperature 0 (the lowest id of equals), else at random by the seed."""

    def __init__(self, limits: Limits) -> None:
        self._temperature = limits.temperature
        self._random = np.random.default_rng(limits.seed)

    def choose(self, logits: NDArray[np.float32], allowed: NDArray[np.bool_]) -> int:
        masked = np.where(allowed, logits, -np.inf)
        if self._temperature <= 0:
            return int(masked.argmax())
        # Gumbel noise turns the likeliest token into a sample of the softmax.
        noise = self._random.gumbel(size=masked.shape)
        return int((masked / self._temperature + noise).argmax())


class PromptLookup:
    """Guesses what comes next: what followed when the last two tokens occurred before.

    Plans copy names from observations, and reasoning repeats itself from turn to turn. A first guess is one
    token, which fills a row that is padded anyway; guesses grow fast while they come true, since a text
    that repeats itself does so at length.
    """

    _SHORTEST, _LONGEST = 1, 15

    def __init__(self) -> None:
        self._length = self._SHORTEST
        self._known = 0
        self._after: dict[tuple[int, int], int] = {}
        self._guess: list[int] = []

    def guess(self, tokens: list[int]) -> list[int]:
        """A few tokens, or none. `tokens` must start with the tokens of the call before."""
        since = tokens[self._known :]
        came_true = bool(self._guess) and since[: len(self._guess)] == self._guess
        self._length = min(4 * self._length + 3, self._LONGEST) if came_true else self._SHORTEST
        for end in range(max(self._known, 2), len(tokens)):
            self._after[tokens[end - 2], tokens[end - 1]] = end
        self._known = len(tokens)
        start = self._after.get((tokens[-2], tokens[-1])) if len(tokens) > 1 else None
        self._guess = [] if start is None else tokens[start : start + self._length]
        return self._guess


def _json_grammar(constraint: Constraint) -> str:
    schema = constraint.json_schema
    try:
        # The model's whitespace would only cost tokens.
        grammar: str = LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides={"whitespace_flexible": False}
        )
    except (TypeError, ValueError) as error:
        raise LanguageModelError(f"the JSON schema is invalid: {error}") from None
    return grammar


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"
