"""A language model behind an OpenAI-compatible endpoint: hosted, vLLM, llama_cpp.server, ..."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk

from prism_planner.cancellation import CancelToken
from prism_planner.language.model import (
    Completion,
    Constraint,
    ContextFullError,
    EndpointError,
    FinishReason,
    LanguageModelError,
    Limits,
    Message,
    ModelLoadError,
    OnText,
    Timing,
    Usage,
)

_POLL_S = 0.02
_MAX_BACKOFF_S = 8.0
_LONGEST_RETRY_AFTER_S = 60.0
_BYTES_PER_TOKEN = 3


class OpenAIModel:
    """A model at an endpoint. Nothing is sent before the first generation, so a robot can start offline."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        context_length: int = 128_000,
        connect_timeout_s: float = 5.0,
        read_timeout_s: float = 60.0,
        max_attempts: int = 4,
        backoff_s: float = 0.5,
    ) -> None:
        """model: as the endpoint calls it. base_url: such as http://host:8000/v1, by default
        OPENAI_BASE_URL or OpenAI itself. api_key: by default OPENAI_API_KEY; other endpoints than
        OpenAI's may do without. context_length: tokens of prompt and answer together. read_timeout_s:
        the longest silence of the endpoint. max_attempts, backoff_s: how often a request is sent when
        the endpoint cannot be reached, is overloaded (429) or fails (5xx), and the pause after the
        first failure, which doubles with each; an endpoint that asks for a longer one (Retry-After) gets
        it, up to a minute.

        Raises ModelLoadError when the model has no name or the key is missing.
        """
        base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        api_key = api_key or os.environ.get("OPENAI_API_KEY")
        if not model:
            raise ModelLoadError("the endpoint's model has no name: write openai:NAME, such as openai:gpt-4o")
        if not api_key and not base_url:
            raise ModelLoadError(
                f"openai:{model} needs a key in OPENAI_API_KEY, or another endpoint in OPENAI_BASE_URL"
            )
        self._model = model
        self._context_length = context_length
        self._max_attempts = max_attempts
        self._backoff_s = backoff_s
        self._schemas_accepted = True
        self._lock = threading.Lock()
        try:
            self._client = openai.OpenAI(
                base_url=base_url,
                api_key=api_key or "none",
                timeout=openai.Timeout(read_timeout_s, connect=connect_timeout_s),
                max_retries=0,
            )
        except Exception as error:  # whatever a malformed address provokes in the HTTP library
            raise ModelLoadError(f"{base_url!r} is no address of an endpoint: {error}") from None

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    @property
    def context_length(self) -> int:
        return self._context_length

    def count_tokens(self, text: str) -> int:
        """A careful estimate: endpoints do not tell their tokeniser."""
        return -(-len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)

    def session(self, messages: Sequence[Message] = ()) -> OpenAISession:
        return OpenAISession(self, messages)

    def generate(
        self,
        messages: Sequence[Message],
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Answer `messages`. A constraint is sent as a JSON schema where it has one; an endpoint that
        refuses schemas is asked without from then on, so callers validate answers in any case.

        Raises EndpointError, ContextFullError when the endpoint says so, Cancelled, and
        LanguageModelError when `limits.timeout_s` runs out.
        """
        watch = _Watch(cancel or CancelToken(), limits or Limits())
        while not self._lock.acquire(timeout=_POLL_S):
            watch.check()
        try:
            return self._generate(messages, constraint, watch, on_text)
        finally:
            self._lock.release()

    def prefill(self, messages: Sequence[Message], *, cancel: CancelToken | None = None) -> None:
        """Nothing: an endpoint keeps its own cache, and every request costs."""

    def close(self) -> None:
        self._client.close()

    def _generate(
        self,
        messages: Sequence[Message],
        constraint: Constraint | None,
        watch: _Watch,
        on_text: OnText | None,
    ) -> Completion:
        schema = constraint.json_schema if constraint is not None and self._schemas_accepted else None
        attempt = 1
        while True:
            watch.check()
            answer = _Answer(on_text)
            try:
                for chunk in _Exchange(self._client, self._request(messages, schema, watch.limits), watch):
                    answer.add(chunk)
                return answer.completion(self.name)
            except openai.BadRequestError as error:
                if _is_context_full(error):
                    needed = sum(self.count_tokens(m.content) for m in messages) + watch.limits.max_tokens
                    raise ContextFullError(needed=needed, available=self._context_length) from None
                if schema is None:
                    raise EndpointError(f"{self.name} refused the request: {_reason(error)}") from None
                self._schemas_accepted = False
                schema = None
            except _TRANSIENT as error:
                if answer.started or attempt >= self._max_attempts:
                    raise EndpointError(self._failure(error, attempt)) from None
                backoff = min(self._backoff_s * 2 ** (attempt - 1), _MAX_BACKOFF_S)
                watch.sleep(max(backoff, _retry_after(error)))
                attempt += 1
            except openai.OpenAIError as error:
                raise EndpointError(self._failure(error, attempt)) from None
            except _GarbageError as error:
                raise EndpointError(
                    f"{self.name} at {self._client.base_url} answered what is no chat completion ({error}): "
                    "is this the address of an OpenAI-compatible endpoint (usually ending in /v1)?"
                ) from None

    def _request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, limits: Limits
    ) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": limits.max_tokens,
            "temperature": limits.temperature,
            "seed": limits.seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if schema is not None:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": True},
            }
        return request

    def _failure(self, error: Exception, attempts: int) -> str:
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        where = f"{self.name} at {self._client.base_url}"
        if isinstance(error, openai.APITimeoutError):
            return f"{where} did not answer in time{tried}: check that it runs, or allow it more time"
        if isinstance(error, openai.APIConnectionError):
            return f"{where} cannot be reached{tried}: check OPENAI_BASE_URL, and that the endpoint runs"
        if isinstance(error, _BrokenError):
            return f"{where} broke off in the middle of its answer{tried}: {error}"
        if isinstance(error, openai.AuthenticationError):
            return f"{where} refused the key: check OPENAI_API_KEY"
        if isinstance(error, openai.NotFoundError):
            return f"{where} does not know the model or the address: {_reason(error)}"
        return f"{where} failed{tried}: {_reason(error)}"


class OpenAISession:
    """A conversation that is sent whole each time; endpoints cache prefixes by themselves."""

    def __init__(self, model: OpenAIModel, messages: Sequence[Message] = ()) -> None:
        self._model = model
        self._messages = list(messages)

    @property
    def messages(self) -> Sequence[Message]:
        return tuple(self._messages)

    def append(self, message: Message) -> None:
        self._messages.append(message)

    def generate(
        self,
        *,
        constraint: Constraint | None = None,
        limits: Limits | None = None,
        cancel: CancelToken | None = None,
        on_text: OnText | None = None,
    ) -> Completion:
        """Answer the conversation so far and append the answer. Raises as `OpenAIModel.generate`, with
        the session unchanged."""
        completion = self._model.generate(
            self._messages, constraint=constraint, limits=limits, cancel=cancel, on_text=on_text
        )
        self._messages.append(Message("assistant", completion.text))
        return completion

    def close(self) -> None:
        self._messages.clear()


class _GarbageError(Exception):
    """What came back is no chat completion."""


class _BrokenError(Exception):
    """The connection was lost in the middle of an answer."""


class _Watch:
    """The cancellation and the clock of one generation."""

    def __init__(self, cancel: CancelToken, limits: Limits) -> None:
        self.limits = limits
        self._cancel = cancel
        self._deadline = None if limits.timeout_s is None else time.monotonic() + limits.timeout_s

    def check(self) -> None:
        self._cancel.raise_if_cancelled()
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise LanguageModelError(f"the model did not answer within {self.limits.timeout_s:g} s")

    def sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._cancel.wait(min(left, _POLL_S))
            self.check()


_TRANSIENT = (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError, _BrokenError)


class _Exchange:
    """One request. It runs in a thread of its own, since waiting for a socket cannot be cancelled."""

    def __init__(self, client: openai.OpenAI, request: dict[str, Any], watch: _Watch) -> None:
        self._client = client
        self._request = request
        self._watch = watch
        self._arrived: queue.SimpleQueue[ChatCompletionChunk | Exception | None] = queue.SimpleQueue()
        self._stream: openai.Stream[ChatCompletionChunk] | None = None
        self._unwanted = threading.Event()

    def __iter__(self) -> Iterator[ChatCompletionChunk]:
        """The chunks of the answer; raises what the request raised, or what the watch does."""
        threading.Thread(target=self._run, name="prism-endpoint", daemon=True).start()
        try:
            while True:
                self._watch.check()
                try:
                    arrived = self._arrived.get(timeout=_POLL_S)
                except queue.Empty:
                    continue
                if arrived is None:
                    return
                if isinstance(arrived, Exception):
                    raise arrived
                yield arrived
        finally:
            self._hang_up()

    def _run(self) -> None:
        try:
            with self._client.chat.completions.create(**self._request) as self._stream:
                for chunk in self._stream:
                    if self._unwanted.is_set():
                        return
                    self._arrived.put(chunk)
            self._arrived.put(None)
        except openai.OpenAIError as error:
            self._arrived.put(error)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            self._arrived.put(_GarbageError(" ".join(str(error).split())[:200]))
        except Exception as error:  # of the HTTP library, when the connection breaks between chunks
            self._arrived.put(_BrokenError(str(error)))

    def _hang_up(self) -> None:
        self._unwanted.set()
        if self._stream is not None:
            network = self._stream.response.extensions.get("network_stream")
            connection = network.get_extra_info("socket") if network is not None else None
            if isinstance(connection, socket.socket):
                # Only a shutdown wakes the thread that reads from it.
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    return  # it was closed already


class _Answer:
    """Collects the chunks of an answer."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._finish: str | None = None
        self._usage = Usage()
        self._began = time.monotonic()
        self._first: float | None = None

    @property
    def started(self) -> bool:
        """Whether text was passed on already, so that asking again would repeat it."""
        return bool(self._text)

    def add(self, chunk: ChatCompletionChunk) -> None:
        """Raises _GarbageError for what only looks like a chunk: the library does not validate."""
        try:
            if chunk.usage is not None:
                self._usage = _usage(chunk.usage)
            texts = [choice.delta.content for choice in chunk.choices]
            self._finish = next((c.finish_reason for c in chunk.choices if c.finish_reason), self._finish)
            text = "".join(text for text in texts if text)
        except (AttributeError, TypeError) as error:
            raise _GarbageError(str(error)) from None
        if text:
            # JSON can spell halves of surrogate pairs, which can be neither printed nor sent back.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            self._first = self._first or time.monotonic()
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)

    def completion(self, name: str) -> Completion:
        """Raises EndpointError when nothing usable arrived."""
        if self._finish is None:
            if not self._text:
                raise EndpointError(f"{name} sent no answer: the list of choices is empty")
            raise EndpointError(f"{name} broke off in the middle of its answer")
        finish: FinishReason = "length" if self._finish == "length" else "stop"
        first, now = self._first or time.monotonic(), time.monotonic()
        timing = Timing(prompt_s=first - self._began, generation_s=now - first)
        return Completion(text="".join(self._text), finish=finish, usage=self._usage, timing=timing)


def _usage(usage: CompletionUsage) -> Usage:
    details = usage.prompt_tokens_details
    cached = (details.cached_tokens if details is not None else None) or 0
    return Usage(
        prompt=usage.prompt_tokens, evaluated=usage.prompt_tokens - cached, generated=usage.completion_tokens
    )


def _retry_after(error: Exception) -> float:
    """Seconds that an endpoint asks to wait for, at most a minute; 0 when it does not say."""
    if not isinstance(error, openai.APIStatusError):
        return 0.0
    asked = error.response.headers.get("retry-after", "")
    return min(float(asked), _LONGEST_RETRY_AFTER_S) if asked.isdecimal() else 0.0


def _is_context_full(error: openai.BadRequestError) -> bool:
    return error.code == "context_length_exceeded" or "context length" in _reason(error).lower()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
