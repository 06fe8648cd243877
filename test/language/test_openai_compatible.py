"""The endpoint backend against a server on a real socket: good, slow, failing and lying."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from prism_planner.cancellation import Cancelled, CancelToken
from prism_planner.language.model import (
    Constraint,
    ContextFullError,
    EndpointError,
    LanguageModel,
    LanguageModelError,
    Limits,
    Message,
    ModelLoadError,
    Session,
)
from prism_planner.language.openai_compatible import OpenAIModel

ASK = [Message("system", "You plan."), Message("user", "Where to?")]
SCHEMA = {"type": "object", "properties": {"goto": {"enum": ["a", "b"]}}, "required": ["goto"]}


@dataclass
class Reply:
    """What the endpoint does with one request. chunks: (seconds of waiting, data) each."""

    status: int = 200
    body: str | None = None
    chunks: list[tuple[float, str]] = field(default_factory=list)
    delay_s: float = 0.0
    content_type: str = "text/event-stream"


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> str:
    data = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
        **more,
    }
    return f"data: {json.dumps(data)}\n\n"


def answer(*texts: str, finish: str = "stop") -> Reply:
    """A well-formed streamed answer."""
    usage = {"prompt_tokens": 7, "completion_tokens": len(texts), "total_tokens": 7 + len(texts)}
    chunks = [chunk(text) for text in texts]
    chunks += [chunk(finish=finish), chunk(choices=[], usage=usage), "data: [DONE]\n\n"]
    return Reply(chunks=[(0.0, data) for data in chunks])


class Endpoint:
    """Replies in turn; the last reply repeats. `requests` holds the bodies that arrived."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[dict[str, Any]] = []
        self.hung_up = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                endpoint.requests.append(json.loads(self.rfile.read(length)))
                endpoint.reply(self)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def reply(self, handler: BaseHTTPRequestHandler) -> None:
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        time.sleep(reply.delay_s)
        try:
            handler.send_response(reply.status)
            handler.send_header(
                "Content-Type", reply.content_type if reply.body is None else "application/json"
            )
            handler.end_headers()
            if reply.body is not None:
                handler.wfile.write(reply.body.encode())
            for wait_s, data in reply.chunks:
                time.sleep(wait_s)
                handler.wfile.write(data.encode())
                handler.wfile.flush()
        except OSError:
            self.hung_up.set()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def model(endpoint: Endpoint) -> Iterator[OpenAIModel]:
    model = OpenAIModel("m", base_url=endpoint.url, read_timeout_s=5.0, backoff_s=0.01, max_attempts=3)
    yield model
    model.close()


def test_it_is_a_language_model(model: OpenAIModel) -> None:
    assert isinstance(model, LanguageModel)
    assert isinstance(model.session(), Session)
    assert model.name == "openai:m"


def test_an_answer_streams_and_is_counted(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [answer("go", "to ", "a\u00e9")]
    pieces: list[str] = []
    completion = model.generate(
        ASK, limits=Limits(max_tokens=9, temperature=0.5, seed=3), on_text=pieces.append
    )
    assert completion.text == "".join(pieces) == "goto a\u00e9"
    assert completion.finish == "stop"
    assert (completion.usage.prompt, completion.usage.generated) == (7, 3)
    request = endpoint.requests[0]
    assert request["messages"] == [{"role": m.role, "content": m.content} for m in ASK]
    assert (request["max_tokens"], request["temperature"], request["seed"]) == (9, 0.5, 3)
    assert "response_format" not in request


def test_a_budget_that_cuts_the_answer_shows(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [answer("goto", finish="length")]
    assert model.generate(ASK).finish == "length"


def test_a_session_grows_by_its_answers(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [answer("a"), answer("b")]
    session = model.session(ASK)
    session.generate()
    session.append(Message("user", "And then?"))
    session.generate()
    assert [m.content for m in session.messages] == ["You plan.", "Where to?", "a", "And then?", "b"]
    assert [m["content"] for m in endpoint.requests[1]["messages"]] == [
        "You plan.",
        "Where to?",
        "a",
        "And then?",
    ]


def test_a_schema_is_sent_as_response_format(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [answer("{}")]
    model.generate(ASK, constraint=Constraint(grammar="start: A", json_schema=SCHEMA))
    assert endpoint.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_an_endpoint_without_schemas_is_asked_once_without(endpoint: Endpoint, model: OpenAIModel) -> None:
    refusal = Reply(status=400, body='{"error": {"message": "response_format is not supported"}}')
    endpoint.replies = [refusal, answer("a")]
    constraint = Constraint(json_schema=SCHEMA)
    assert model.generate(ASK, constraint=constraint).text == "a"
    assert model.generate(ASK, constraint=constraint).text == "a"
    assert ["response_format" in request for request in endpoint.requests] == [True, False, False]


def test_a_refused_request_is_not_repeated(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [Reply(status=400, body='{"error": {"message": "no such parameter"}}')]
    with pytest.raises(EndpointError, match="no such parameter"):
        model.generate(ASK)
    assert len(endpoint.requests) == 1


def test_a_full_context_is_told_apart(endpoint: Endpoint, model: OpenAIModel) -> None:
    body = '{"error": {"message": "too long", "code": "context_length_exceeded"}}'
    endpoint.replies = [Reply(status=400, body=body)]
    with pytest.raises(ContextFullError):
        model.generate(ASK)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_overload_and_failure_are_retried(endpoint: Endpoint, model: OpenAIModel, status: int) -> None:
    endpoint.replies = [Reply(status=status, body="{}"), Reply(status=status, body="{}"), answer("a")]
    assert model.generate(ASK).text == "a"
    assert len(endpoint.requests) == 3


def test_retries_end(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [Reply(status=500, body="<html>oops</html>")]
    session = model.session(ASK)
    with pytest.raises(EndpointError, match="after 3 attempts"):
        session.generate()
    assert len(endpoint.requests) == 3
    assert list(session.messages) == ASK


def test_a_wrong_key_is_named(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [Reply(status=401, body="{}")]
    with pytest.raises(EndpointError, match="OPENAI_API_KEY"):
        model.generate(ASK)


def test_an_endpoint_that_is_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{port}/v1", backoff_s=0.01, max_attempts=2)
    with pytest.raises(EndpointError, match=r"cannot be reached after 2 attempts.*OPENAI_BASE_URL"):
        model.generate(ASK)


def test_a_silent_endpoint_times_out(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(delay_s=3.0)]
    model = OpenAIModel("m", base_url=endpoint.url, read_timeout_s=0.2, max_attempts=1)
    with pytest.raises(EndpointError, match="did not answer in time"):
        model.generate(ASK)


def test_the_time_limit_of_a_generation(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [Reply(chunks=[(0.1, chunk("x"))] * 50)]
    with pytest.raises(LanguageModelError, match=r"within 0\.3 s"):
        model.generate(ASK, limits=Limits(timeout_s=0.3))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(chunks=[(0, "data: {this is no JSON\n\n")]),
        Reply(chunks=[(0, "data: 17\n\n")]),
        Reply(chunks=[(0, 'data: {"foo": 1}\n\n'), (0, "data: [DONE]\n\n")]),
        Reply(chunks=[(0, 'data: {"choices": [{"delta": 5}]}\n\n')]),
        Reply(body="<html>welcome</html>"),
        Reply(body='{"choices": []}'),
        Reply(chunks=[(0, chunk(choices=[])), (0, "data: [DONE]\n\n")]),
        Reply(chunks=[(0, "data: [DONE]\n\n")]),
        Reply(chunks=[(0, chunk("half an ans"))]),
    ],
    ids=["json", "number", "object", "delta", "html", "body", "choices", "nothing", "broken"],
)
def test_garbage_is_an_error_in_words(endpoint: Endpoint, model: OpenAIModel, reply: Reply) -> None:
    endpoint.replies = [reply]
    with pytest.raises(EndpointError, match="openai:m"):
        model.generate(ASK)


def cancelled_after(seconds: float) -> CancelToken:
    token = CancelToken()
    threading.Timer(seconds, token.cancel).start()
    return token


@pytest.mark.parametrize(
    "reply",
    [
        Reply(chunks=[(0.02, chunk("x"))] * 500),
        Reply(chunks=[(0.0, chunk("x")), (30.0, chunk("y")), (0.0, chunk("z"))]),
        Reply(delay_s=30.0),
    ],
    ids=["while it streams", "while it is silent", "before it answers"],
)
def test_cancelling(endpoint: Endpoint, model: OpenAIModel, reply: Reply) -> None:
    endpoint.replies = [reply]
    session = model.session(ASK)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        session.generate(cancel=cancelled_after(0.3))
    assert time.monotonic() - began < 10.0, "it waited for the endpoint"
    assert list(session.messages) == ASK


def test_a_cancelled_stream_is_closed(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [Reply(chunks=[(0.02, chunk("x"))] * 500)]
    with pytest.raises(Cancelled):
        model.generate(ASK, cancel=cancelled_after(0.2))
    assert endpoint.hung_up.wait(5.0), "the endpoint went on generating"


def test_cancelling_between_retries(endpoint: Endpoint) -> None:
    endpoint.replies = [Reply(status=500, body="{}")]
    model = OpenAIModel("m", base_url=endpoint.url, backoff_s=60.0)
    with pytest.raises(Cancelled):
        model.generate(ASK, cancel=cancelled_after(0.2))


def test_without_key_and_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelLoadError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt-4o")
    with pytest.raises(ModelLoadError, match="no name"):
        OpenAIModel("")


def test_half_a_character_is_replaced(endpoint: Endpoint, model: OpenAIModel) -> None:
    endpoint.replies = [answer("a \ud800", " \U0001f600 b")]
    texts: list[str] = []
    assert model.generate(ASK, on_text=texts.append).text == "a \ufffd \U0001f600 b" == "".join(texts)
