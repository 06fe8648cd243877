"""Several connections to one endpoint as one model, so that threads do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

from prism_planner.cancellation import CancelToken
from prism_planner.language.model import (
    Completion,
    Constraint,
    LanguageModel,
    Limits,
    Message,
    OnText,
    Session,
)


class ModelPool:
    """A LanguageModel whose generations run on whichever of `models` is idle."""

    def __init__(self, models: Sequence[LanguageModel]) -> None:
        self._models = tuple(models)
        self._idle: SimpleQueue[LanguageModel] = SimpleQueue()
        for model in models:
            self._idle.put(model)

    @property
    def name(self) -> str:
        return self._models[0].name

    @property
    def context_length(self) -> int:
        return self._models[0].context_length

    def count_tokens(self, text: str) -> int:
        return self._models[0].count_tokens(text)

    def session(self, messages: Sequence[Message] = ()) -> Session:
        """A session of one of the models, which others wait for meanwhile."""
        return self._models[0].session(messages)

    def generate(
        self,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        with self._any() as model:
            return model.generate(
                messages, constraint=constraint, limits=limits, cancel=cancel, on_text=on_text
            )

    def prefill(self, messages: Sequence[Message], *, cancel: CancelToken | None = None) -> None:
        with self._any() as model:
            model.prefill(messages, cancel=cancel)

    def close(self) -> None:
        for model in self._models:
            model.close()

    @contextmanager
    def _any(self) -> Iterator[LanguageModel]:
        model = self._idle.get()
        try:
            yield model
        finally:
            self._idle.put(model)
