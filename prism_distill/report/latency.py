"""Figure 5 of the PRISM paper: how long a plan takes on board, and from an endpoint behind a network.

The planner on board works through whole episodes. What it was asked at each step is then asked of the
endpoint, in the same conversation and once for each network, so that every curve answers the same queries.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from prism_distill.conversation import messages
from prism_distill.report.delay_proxy import delay_proxy
from prism_planner.cli.errors import CommandError
from prism_planner.domains.domain import Style
from prism_planner.domains.registry import load_domain
from prism_planner.domains.trace import PlanTrace
from prism_planner.evaluation.episode import EpisodeOptions, run_episode
from prism_planner.language.model import ContextFullError, EndpointError, LanguageModel, Limits, Message
from prism_planner.language.openai_compatible import OpenAIModel
from prism_planner.worlds.scenario import load_scenario

OURS = "ours"

_EPISODES_PER_ROUND = 4
"""Rounds alternate between the curves, so that a machine that slows down slows all. In a round of one
episode, an endpoint would have the whole conversation in its cache when the next network's turn comes."""


@dataclass(slots=True)
class Curve:
    """seconds: from the query to the whole plan. written: characters of each plan; endpoints count tokens
    differently, or not at all."""

    label: str
    round_trip_ms: float | None = None
    seconds: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def as_json(self) -> dict[str, float | None]:
        """`{mean_s, std_s, median_s, p95_s, queries, median_characters, round_trip_ms}`"""
        return {
            "mean_s": statistics.fmean(self.seconds),
            "std_s": statistics.stdev(self.seconds) if len(self.seconds) > 1 else 0.0,
            "median_s": statistics.median(self.seconds),
            "p95_s": sorted(self.seconds)[int(0.95 * (len(self.seconds) - 1))],
            "queries": len(self.seconds),
            "median_characters": statistics.median(self.written),
            "round_trip_ms": self.round_trip_ms,
        }


@dataclass(frozen=True, slots=True)
class Endpoint:
    """address: such as http://host:8000/v1. model: as the endpoint calls it. style: how it is asked."""

    address: str
    model: str
    style: Style


def measure_latency(
    model: LanguageModel,
    endpoint: Endpoint,
    *,
    domain_name: str,
    files: Sequence[Path],
    options: EpisodeOptions,
    round_trips_ms: Sequence[float],
    queries: int,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, Curve]:
    """`ours`, and `endpoint_6.7ms` and the like for each network, over at least `queries` steps of `model`.

    on_progress: called with queries answered and wanted, of all curves. Raises CommandError when
    the scenarios have too few tasks or the address is no http address; LanguageModelError.
    """
    domain = load_domain(domain_name)
    curves = {OURS: Curve("on board")}
    wanted = queries * (1 + len(round_trips_ms))
    tasks = _tasks(files)
    limits = Limits(max_tokens=domain.limits(endpoint.style))
    examples = len(domain.system(endpoint.style))

    def tell() -> None:
        on_progress(sum(len(curve.seconds) for curve in curves.values()), wanted)

    with ExitStack() as stack:
        networks: list[tuple[Curve, OpenAIModel]] = []
        for round_trip_ms in round_trips_ms:
            curve = Curve(f"endpoint, {round_trip_ms:g} ms", round_trip_ms)
            curves[f"endpoint_{round_trip_ms:g}ms"] = curve
            networks.append((curve, stack.enter_context(_behind(endpoint, round_trip_ms / 1000))))
        while len(curves[OURS].seconds) < queries:
            round_ = list(islice(tasks, _EPISODES_PER_ROUND))
            if not round_:
                raise CommandError(
                    f"the scenarios gave {len(curves[OURS].seconds)} queries, not {queries}: give more with "
                    "--scenarios, or ask for fewer with --queries"
                )
            dialogues = []
            for file, task in round_:
                _, trace = run_episode(
                    domain=domain, model=model, scenario=load_scenario(file), task=task, options=options
                )
                if _add(curves[OURS], trace):
                    dialogues.append(
                        messages(domain, trace, context_length=model.context_length, style=endpoint.style)
                    )
                tell()
            for curve, asked in networks:
                for dialogue in dialogues:
                    _ask(asked, dialogue, limits, curve, start=examples)
                    tell()
    return curves


@contextmanager
def _behind(endpoint: Endpoint, round_trip_s: float) -> Iterator[OpenAIModel]:
    """The endpoint behind a network; it has answered once, so that one which is not there is told at once."""
    parts = urlsplit(endpoint.address)
    if parts.scheme != "http" or not parts.hostname:
        raise CommandError(
            f"--endpoint {endpoint.address}: expected an address such as http://host:8000/v1. The delay is "
            "between this command and the endpoint, where a certificate would be for another host: let a "
            "gateway on this machine, such as LiteLLM's, speak https"
        )
    with delay_proxy(parts.hostname, parts.port or 80, round_trip_s=round_trip_s) as port:
        model = OpenAIModel(endpoint.model, base_url=f"http://127.0.0.1:{port}{parts.path}")
        try:
            try:
                model.generate([Message("user", "ready?")], limits=Limits(max_tokens=1))
            except EndpointError as error:
                raise EndpointError(f"{endpoint.address}, through the delaying proxy: {error}") from None
            yield model
        finally:
            model.close()


def _tasks(files: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Task by task over all scenarios: the first of each, then the second of each, and so on."""
    numbers = {file: len(load_scenario(file).tasks) for file in files}
    for task in range(max(numbers.values(), default=0)):
        yield from ((file, task) for file, number in numbers.items() if task < number)


def _add(curve: Curve, trace: PlanTrace) -> bool:
    """Take the steps that came to a plan; whether there were any."""
    if trace.outcome is not None and trace.outcome.reason == "model_error":
        raise CommandError(f"the planner failed: {trace.outcome.detail}")
    for turn in trace.turns:
        if turn.plan is None:
            break
        curve.seconds.append(turn.timing.prompt_s + turn.timing.generation_s)
        curve.written.append(len(turn.raw))
    return bool(trace.turns) and trace.turns[0].plan is not None


def _ask(
    model: OpenAIModel, dialogue: Sequence[Message], limits: Limits, curve: Curve, *, start: int
) -> None:
    """Every question of a dialogue from message `start` on, each with what was said before."""
    for number, message in enumerate(dialogue):
        if number < start or message.role != "assistant":
            continue
        started = time.perf_counter()
        try:
            completion = model.generate(dialogue[:number], limits=limits)
        except ContextFullError:
            return  # a longer conversation than this endpoint can read; the planner would begin a new one
        curve.seconds.append(time.perf_counter() - started)
        curve.written.append(len(completion.text))
