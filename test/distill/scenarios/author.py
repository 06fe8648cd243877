"""A scripted OpenAI-compatible endpoint on a real socket, and what a model might write there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from prism_distill.scenarios import Split, generate
from prism_distill.scenarios.generator import to_document
from prism_distill.scenarios.written import sound_tasks
from prism_planner.worlds.spine_scenario import SpineScenario


@dataclass(frozen=True)
class Reply:
    """One answer: text in pieces, or an HTTP error. broken: the connection ends in the middle of it."""

    text: str = ""
    finish: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    broken: bool = False
    wait_s: float = 0.0


DEAD = Reply(status=503)


class Author:
    """Gives the replies in turn, then for ever `afterwards`. requests: their bodies, in order of arrival."""

    def __init__(self, replies: Iterable[Reply], afterwards: Reply = DEAD) -> None:
        self._replies = iter(replies)
        self.afterwards = afterwards
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.at_a_time = self.most_at_a_time = 0
        author = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                author._serve(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def script(self, replies: Iterable[Reply]) -> None:
        """What to reply from now on."""
        self._replies = iter(replies)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            reply = next(self._replies, self.afterwards)
            self.at_a_time += 1
            self.most_at_a_time = max(self.most_at_a_time, self.at_a_time)
        try:
            time.sleep(reply.wait_s)
            self._send(handler, request, reply)
        except OSError:
            pass  # the client has gone
        finally:
            with self._lock:
                self.at_a_time -= 1

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, request: dict[str, Any], reply: Reply) -> None:
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if reply.status != 200:
            handler.end_headers()
            handler.wfile.write(json.dumps({"error": {"message": "scripted"}}).encode())
            return
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()

        def send(**data: Any) -> None:
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
            handler.wfile.write(f"data: {json.dumps(chunk | data)}\n\n".encode())

        half = len(reply.text) // 2
        for piece in (reply.text[:half], reply.text[half:]):
            send(choices=[{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
            if reply.broken:
                return
        send(choices=[{"index": 0, "delta": {}, "finish_reason": reply.finish}])
        send(choices=[], usage={"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140})
        handler.wfile.write(b"data: [DONE]\n\n")


@contextmanager
def author(*replies: Reply, afterwards: Reply = DEAD) -> Iterator[Author]:
    served = Author(replies, afterwards)
    try:
        yield served
    finally:
        served.close()


def worlds(split: Split = "train", *, start: int = 0, tasks: int = 2) -> Iterator[Reply]:
    """Answers with varied and sound scenarios, whose worlds belong to a split, without end."""
    return (reply for seed in count(start) if (reply := _world(split, seed, tasks)))


@cache
def _world(split: Split, seed: int, tasks: int) -> Reply | None:
    scenario = generate(seed, split=split, size=10, tasks=tasks)
    sound = len(sound_tasks(scenario)[0]) == len(scenario.tasks)
    return Reply(json.dumps(as_answer(scenario))) if sound else None


def as_answer(
    scenario: SpineScenario, change: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """The scenario as a model is asked to write it; `change` alters the document."""
    document = to_document(scenario)
    answer = {key: document[key] for key in ("description", "world", "tasks")}
    answer["platform"] = scenario.platform
    for thing in answer["world"].get("objects", ()):
        thing["attributes"] = [
            {"fact": key, "value": value} for key, value in thing.get("attributes", {}).items()
        ]
    for task in answer["tasks"]:
        task.pop("intent", None)
        task.pop("kind", None)
    change(answer)
    return answer
