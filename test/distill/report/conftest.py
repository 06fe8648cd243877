"""A small scenario, results without running anything, and an endpoint that always plans the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from prism_distill.report.contenders import Contender, contender
from prism_distill.report.measure import Results, Setting
from prism_distill.report.scenario_sets import ScenarioSet
from prism_planner.evaluation.episode import EpisodeResult

SCENARIO = """\
format: prism-scenario/1
domain: spine
name: yard
world:
  robot: road_1
  regions: [{name: road_1, at: [0, 0]}, {name: road_2, at: [10, 0]}, {name: gate_1, at: [20, 0]}]
  edges: [[road_1, road_2], [road_2, gate_1]]
tasks:
  - {instruction: "Go to gate_1", specification: full, kind: mapping, success: [{ended_at: gate_1}]}
  - {instruction: "Map road_2", specification: full, kind: mapping, success: [{mapped: road_2}]}
"""

PLAN = "goal: answer\nabout: road_1\nwhy: nothing to do\ndo: answer: all is done\n"

Outcomes = dict[str, dict[str, dict[str, tuple[int, int]]]]


@pytest.fixture
def yard(tmp_path: Path) -> Path:
    path = tmp_path / "yard.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def three() -> list[Contender]:
    return [contender("source", "expert"), contender("prism", "planner"), contender("slm", "tiny")]


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    sets = (ScenarioSet("held-out", ()), ScenarioSet("shipped", ()))
    return Setting(domain="spine", sets=sets, out=tmp_path)


@pytest.fixture
def results() -> Callable[[Outcomes], Results]:
    """Episodes from `{row: {set: {cell: (successes, episodes)}}}`."""

    def make(outcomes: Outcomes) -> Results:
        return {
            row: {
                name: [
                    EpisodeResult(
                        scenario=name,
                        task=i,
                        instruction="Go",
                        cell=cell,
                        seed=0,
                        success=i < successes,
                        status="succeeded",
                        turns=1,
                    )
                    for cell, (successes, episodes) in cells.items()
                    for i in range(episodes)
                ]
                for name, cells in sets.items()
            }
            for row, sets in outcomes.items()
        }

    return make


class Endpoint:
    """Streams PLAN to everyone. requests: the bodies that arrived."""

    def __init__(self) -> None:
        self.requests: list[dict[str, object]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append(json.loads(body))
                choice = {"index": 0, "delta": {"content": PLAN}, "finish_reason": "stop"}
                chunk = {
                    "id": "1",
                    "object": "chat.completion.chunk",
                    "created": int(time.time()),
                    "model": "m",
                }
                data = f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\ndata: [DONE]\n\n".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()
