"""A language model in this process: a GGUF under llama.cpp, constrained token by token."""

from __future__ import annotations

import codecs
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.language.chat_format import CHATML, ChatFormat
from prism_planner.language.decoding import ConstraintCompiler, PromptLookup, Sampler
from prism_planner.language.llama_context import BATCH, EvaluationAborted, LlamaContext
from prism_planner.language.model import (
    Completion,
    Constraint,
    ContextFullError,
    FinishReason,
    LanguageModelError,
    Limits,
    Message,
    ModelLoadError,
    OnText,
    Timing,
    Usage,
)

_POLL_S = 0.01


def default_threads() -> tuple[int, int]:
    """Threads for writing, and for reading: half of the cores this process may use, and all.

    llama.cpp's threads wait for each other hundreds of times per token. While it writes, token by token,
    one that has to share its core with other software stalls all of them; a robot's computer is never
    idle. Reading a batch waits as often for many more tokens.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, cores // 2), cores


class LlamaModel:
    """A GGUF model with its KV memory.

    Sessions share one KV sequence: whoever generates keeps the prefix that its conversation has in
    common with the last one evaluated, and evaluates the rest.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        context_length: int | None = None,
        threads: int | None = None,
        gpu_layers: int = 0,
        chat_template: str | None = None,
        adapter: str | os.PathLike[str] | None = None,
        adapter_scale: float = 1.0,
    ) -> None:
        """Load and warm up.

        name: how the model is called in logs and traces; the file's name by default.
        context_length: tokens of prompt and answer together; by default what the model was trained
        with, at most 8192. threads: see `default_threads`. gpu_layers: layers
        to offload (-1: all) where llama-cpp-python was built for it. chat_template: Jinja source
        instead of the GGUF's own. adapter, adapter_scale: a LoRA GGUF to start with.

        Raises ModelLoadError, naming the file, the reason and what to do.
        """
        path = Path(path)
        self._name = name or path.stem
        self._lock = threading.Lock()
        if context_length is not None and context_length < 2 * BATCH:
            raise ModelLoadError(f"context_length is {context_length}: it must be at least {2 * BATCH}")
        writing, reading = default_threads()
        self._context = LlamaContext(
            path,
            context_length=context_length,
            threads=threads or writing,
            reading_threads=threads or reading,
            gpu_layers=gpu_layers,
        )
        try:
            self._format = self._chat_format(chat_template)
            self._compiler = ConstraintCompiler(self._context.constraint_tokenizer())
            self._text_tokens = ~self._context.control_tokens()
            self._text_tokens[self._context.end_tokens] = True
            self.adapter: Path | None = None
            if adapter is not None:
                self.set_adapter(adapter, scale=adapter_scale)
            self._context.evaluate([0] * BATCH)
            self._context.evaluate([0])
            self._context.forget()
        except BaseException:
            self._context.close()
            raise

    @property
    def name(self) -> str:
        return self._name

    @property
    def path(self) -> Path:
        """The file of the base model."""
        return self._context.path

    @property
    def context_length(self) -> int:
        """Tokens of prompt and answer together."""
        return self._context.context_length

    def count_tokens(self, text: str) -> int:
        return len(self._context.tokenize(text, special=False))

    def session(self, messages: Sequence[Message] = ()) -> LlamaSession:
        """A conversation that starts with `messages`."""
        return LlamaSession(self, messages)

    def generate(
        self,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Answer `messages` once. Raises as `LlamaSession.generate` does."""
        return self.session(messages).generate(
            constraint=constraint, limits=limits, cancel=cancel, on_text=on_text
        )

    def prefill(self, messages: Sequence[Message], *, cancel: CancelToken | None = None) -> None:
        """Evaluate messages before there is anything to answer.

        A conversation that begins with the same text then starts at once. Raises Cancelled,
        ContextFullError and LanguageModelError.
        """
        _Generation(self, Limits(max_tokens=1), cancel, None).prefill(self.session(messages)._prompt())

    def set_adapter(self, path: str | os.PathLike[str] | None, *, scale: float = 1.0) -> None:
        """Generate with this LoRA adapter (a GGUF) from now on, or with the bare model for None.

        Waits for a generation that is running. Sessions stay valid and are evaluated anew when next
        used. Raises ModelLoadError, naming the file and the reason; the adapter before then stays.
        """
        adapter = None if path is None else Path(path)
        with self._lock:
            self._require_open()
            self._context.set_adapter(adapter, scale=scale)
            self.adapter = adapter

    def close(self) -> None:
        """Free the memory, after the generation that is running. The model cannot be used afterwards."""
        with self._lock:
            self._context.close()

    def _chat_format(self, template: str | None) -> ChatFormat:
        source = template or self._context.metadata("tokenizer.chat_template")
        if source is None:
            if len(self._context.tokenize("<|im_start|>", special=True)) != 1:
                raise ModelLoadError(
                    f"{self._context.path} has no chat template and is no ChatML model: pass chat_template"
                )
            source = CHATML
        return ChatFormat(source, bos_token=self._context.begin_text)

    def _require_open(self) -> None:
        if self._context.closed:
            raise LanguageModelError(f"the model {self._name} is closed")

    @contextmanager
    def _exclusive(self, check: Callable[[], None]) -> Iterator[None]:
        """Hold the model; `check` may raise while others have it."""
        while not self._lock.acquire(timeout=_POLL_S):
            check()
        try:
            self._require_open()
            yield
        finally:
            self._lock.release()


class LlamaSession:
    """A conversation that only grows. Its tokens never change once evaluated, answers included."""

    def __init__(self, model: LlamaModel, messages: Sequence[Message] = ()) -> None:
        self._model = model
        self._messages: list[Message] = []
        self._contents: list[list[int]] = []
        for message in messages:
            self.append(message)

    @property
    def messages(self) -> Sequence[Message]:
        return tuple(self._messages)

    def append(self, message: Message) -> None:
        """Add a message. Nothing is evaluated until `generate`."""
        self._append(message, self._model._context.tokenize(message.content, special=False))

    def generate(
        self,
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Answer the conversation so far and append the answer to it.

        Raises, with the session unchanged: ContextFullError before anything is evaluated; Cancelled;
        LanguageModelError for an invalid grammar, a time limit reached or a closed model.
        """
        generation = _Generation(self._model, limits or Limits(), cancel, on_text)
        completion, tokens = generation.run(self._prompt(), constraint)
        self._append(Message("assistant", completion.text), tokens)
        return completion

    def close(self) -> None:
        """Forget the conversation."""
        self._messages.clear()
        self._contents.clear()

    def _append(self, message: Message, tokens: list[int]) -> None:
        self._messages.append(message)
        self._contents.append(tokens)

    def _prompt(self) -> list[int]:
        if not self._messages:
            raise LanguageModelError("the conversation is empty: there is nothing to answer")
        context = self._model._context
        pieces = self._model._format.pieces(tuple(message.role for message in self._messages))
        tokens: list[int] = []
        for piece, content in zip(pieces, [*self._contents, []], strict=True):
            tokens += context.tokenize(piece, special=True)
            tokens += content
        if not pieces[0].startswith(context.begin_text):
            tokens = context.tokenize(context.begin_text, special=True) + tokens
        return tokens


class _Generation:
    """One answer: its budgets, its clock and its cancellation."""

    def __init__(
        self, model: LlamaModel, limits: Limits, cancel: CancelToken | None, on_text: OnText | None
    ) -> None:
        if limits.max_tokens < 1:
            raise LanguageModelError(f"max_tokens is {limits.max_tokens}: it must be at least 1")
        self._model = model
        self._context = model._context
        self._limits = limits
        self._cancel = cancel or CancelToken()
        self._on_text = on_text
        self._deadline = None if limits.timeout_s is None else time.monotonic() + limits.timeout_s
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text: list[str] = []

    def run(self, prompt: list[int], constraint: Constraint | None) -> tuple[Completion, list[int]]:
        with self._admitted(prompt):
            return self._generate(prompt, constraint)

    def prefill(self, prompt: list[int]) -> None:
        with self._admitted(prompt):
            self._context.evaluate(prompt, check=self._check)

    @contextmanager
    def _admitted(self, prompt: list[int]) -> Iterator[None]:
        """Hold the model for a prompt that fits."""
        needed = len(prompt) + self._limits.max_tokens
        if needed > self._context.context_length:
            raise ContextFullError(needed=needed, available=self._context.context_length)
        self._check()
        with self._model._exclusive(self._check), self._watched():
            try:
                yield
            except EvaluationAborted:
                self._check()
                raise LanguageModelError("the evaluation was interrupted") from None

    def _generate(self, prompt: list[int], constraint: Constraint | None) -> tuple[Completion, list[int]]:
        started = time.monotonic()
        matcher = None if constraint is None else self._model._compiler.compile(constraint)
        sampler = Sampler(self._limits)
        lookup = PromptLookup()
        reused = min(self._context.common_prefix(prompt), len(prompt) - 1)
        answer: list[int] = []
        forced = 0
        prompt_s: float | None = None
        finish: FinishReason = "length"
        while True:
            if matcher is not None:
                implied = matcher.forced()[: self._limits.max_tokens - len(answer)]
                matcher.advance(implied)
                answer += implied
                forced += len(implied)
                self._emit(implied)
                if matcher.finished:
                    finish = "stop"
                    break
            if len(answer) == self._limits.max_tokens:
                break
            tokens = prompt + answer
            logits = self._context.evaluate(tokens, draft=lookup.guess, check=self._check)
            if prompt_s is None:
                prompt_s = time.monotonic() - started
            self._check()
            allowed = self._model._text_tokens if matcher is None else matcher.allowed()
            token = sampler.choose(logits, allowed)
            if token in self._context.end_tokens:
                finish = "stop"
                break
            if matcher is not None:
                matcher.advance([token])
            answer.append(token)
            self._emit([token])
        self._emit([], final=True)
        total = time.monotonic() - started
        prompt_s = total if prompt_s is None else prompt_s
        completion = Completion(
            text="".join(self._text),
            finish=finish,
            usage=Usage(
                prompt=len(prompt), evaluated=len(prompt) - reused, generated=len(answer), forced=forced
            ),
            timing=Timing(prompt_s=prompt_s, generation_s=total - prompt_s),
        )
        return completion, answer

    def _emit(self, tokens: Sequence[int], *, final: bool = False) -> None:
        text = self._decoder.decode(b"".join(map(self._context.token_bytes, tokens)), final)
        if text:
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)

    def _check(self) -> None:
        """Raise if the answer is not wanted any more."""
        self._cancel.raise_if_cancelled()
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise LanguageModelError(f"the model did not answer within {self._limits.timeout_s:g} s")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Abort an evaluation that is under way as soon as its answer is not wanted any more."""
        done = threading.Event()
        self._context.clear_abort()

        def watch() -> None:
            while not done.is_set():
                self._cancel.wait(_POLL_S)
                try:
                    self._check()
                except (Cancelled, LanguageModelError):
                    self._context.abort()
                    return

        thread = threading.Thread(target=watch, name="prism-generation-watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
