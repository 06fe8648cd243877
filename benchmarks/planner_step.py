"""A planning step on the embedded model: PRISM's way against the plain way, side by side.

    python benchmarks/planner_step.py --json FILE

Ours: one session, the distilled style under its constraint, through the domain and its policy. Plain:
chat completion of llama-cpp-python with SPINE's own prompt and examples, JSON under a JSON grammar, the
whole conversation sent each step. Both read the same observations of the same shipped tasks from the
same model file with the same threads and context length, in turns; both have read the instructions and
the first graph before the clock starts, as a robot has when a task arrives. The world follows the
expert, so that every episode has six steps whatever the models say.

Keys: speedup_median (plain/ours), p99_over_median (ours), ours_median_s, ours_p99_s, plain_median_s,
prefetch_s (reading instructions and graph, ours), rss_mb (before the plain way is loaded), tokens per
step, steps and invalid plans of each.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import psutil

from prism_planner.domains.domain import InvalidPlanError
from prism_planner.domains.policy import ModelPolicy, prefetch
from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.actions import SpineObservation
from prism_planner.language.llama import LlamaModel, default_threads, default_threads
from prism_planner.language.registry import load_model
from prism_planner.worlds.envelope import Scenario
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import SemanticGraphWorld

STEPS = 6
TARGET_RSS_MB = 600.0
SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios" / "spine"
# (file, number of the task): each takes the expert at least six steps.
TASKS = [
    ("indoor/office_floor.yaml", 10),
    ("outdoor/campus_loop.yaml", 10),
    ("uav/industrial_estate.yaml", 10),
    ("outdoor/riverside_park.yaml", 13),
    ("uav/farm_village.yaml", 10),
    ("indoor/robotics_lab.yaml", 12),
]
DOMAIN = SpineDomain()


@dataclass(frozen=True)
class Step:
    """What one planning step took and came to."""

    seconds: float
    valid: bool
    generated: int
    evaluated: int = 0


class Ours:
    """The session of one episode, as the planner node runs it."""

    def __init__(self, model: LlamaModel, task: str, first: SpineObservation) -> None:
        began = time.perf_counter()
        prefetch(domain=DOMAIN, model=model, observation=first, style="distilled")
        self.prefetch_s = time.perf_counter() - began
        self._policy = ModelPolicy(domain=DOMAIN, model=model, task=task, style="distilled", retries=0)

    def step(self, observation: SpineObservation) -> Step:
        began = time.perf_counter()
        decision = self._policy.decide(observation)
        seconds = time.perf_counter() - began
        usage = decision.usage
        return Step(seconds, decision.plan is not None, usage.generated, usage.evaluated)


class Plain:
    """Chat completion, as its documentation shows it."""

    def __init__(self, llama: llama_cpp.Llama, task: str, first: SpineObservation) -> None:
        self._llama = llama
        self._task = task
        self._messages: list[Any] = [
            {"role": message.role, "content": message.content} for message in DOMAIN.system("source")
        ]
        graph = DOMAIN.render("", first, style="source", first=True)
        self._complete([*self._messages, {"role": "user", "content": graph}], max_tokens=1)
        self._first = True

    def step(self, observation: SpineObservation) -> Step:
        began = time.perf_counter()
        text = DOMAIN.render(self._task, observation, style="source", first=self._first)
        self._first = False
        self._messages.append({"role": "user", "content": text})
        answer = self._complete(self._messages, max_tokens=DOMAIN.limits("source"))
        content = answer["choices"][0]["message"]["content"]
        self._messages.append({"role": "assistant", "content": content})
        try:
            DOMAIN.parse(content, observation, style="source", previous=None)
            valid = True
        except InvalidPlanError:
            valid = False
        seconds = time.perf_counter() - began
        return Step(seconds, valid, answer["usage"]["completion_tokens"])

    def _complete(self, messages: list[Any], *, max_tokens: int) -> Any:
        return self._llama.create_chat_completion(
            messages, response_format={"type": "json_object"}, max_tokens=max_tokens, temperature=0.0
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--model", default="smollm2-135m", help="default: smollm2-135m")
    parser.add_argument("--episodes", type=int, default=6, help="of six steps each, ours (default: 6)")
    parser.add_argument("--plain-episodes", type=int, default=2, help="of them also plain (default: 2)")
    parser.add_argument("--threads", type=int, default=default_threads(), help="of both")
    arguments = parser.parse_args()

    model = load_model(arguments.model, threads=arguments.threads)
    assert isinstance(model, LlamaModel)
    ours: list[Step] = []
    plain: list[Step] = []
    prefetched: list[float] = []
    llama: llama_cpp.Llama | None = None
    rss_mb = 0.0
    for episode in range(arguments.episodes):
        file, number = TASKS[episode % len(TASKS)]
        scenario = load_scenario(SCENARIOS / file)
        observations = list(walk(scenario, number))
        task = scenario.tasks[number].instruction
        our_side = Ours(model, task, observations[0])
        prefetched.append(our_side.prefetch_s)
        plain_side: Plain | None = None
        if episode < arguments.plain_episodes:
            rss_mb = rss_mb or psutil.Process().memory_info().rss / 2**20
            llama = llama or load_plain(model, arguments.threads)
            plain_side = Plain(llama, task, observations[0])
        for observation in observations:
            ours.append(our_side.step(observation))
            if plain_side is not None:
                plain.append(plain_side.step(observation))
            print(
                f"{scenario.name}: ours {ours[-1].seconds:.2f} s"
                + (f", plain {plain[-1].seconds:.2f} s" if plain_side is not None else ""),
                flush=True,
            )
    report(ours, plain, prefetched, rss_mb, arguments)


def walk(scenario: Scenario, number: int) -> Iterator[SpineObservation]:
    """The observations of the first six steps of an episode that the expert plans."""
    task = scenario.tasks[number]
    world = SemanticGraphWorld(scenario, task=task)
    expert = DOMAIN.expert(task.instruction, task.intent)
    observation = world.observe()
    for _ in range(STEPS):
        yield observation
        skill = DOMAIN.next_skill(expert.plan(observation))
        if skill is None:
            raise RuntimeError(f"{scenario.name}, task {number}, takes the expert fewer than {STEPS} steps")
        observation = world.step(skill).observation


def load_plain(model: LlamaModel, threads: int) -> llama_cpp.Llama:
    return llama_cpp.Llama(
        str(model.path),
        n_ctx=model.context_length,
        n_threads=threads,
        n_threads_batch=threads,
        verbose=False,
    )


def report(
    ours: Sequence[Step],
    plain: Sequence[Step],
    prefetched: Sequence[float],
    rss_mb: float,
    arguments: argparse.Namespace,
) -> None:
    times = sorted(step.seconds for step in ours)
    median, p99 = statistics.median(times), times[math.ceil(len(times) * 0.99) - 1]
    figures: dict[str, Any] = {
        "model": arguments.model,
        "threads": arguments.threads,
        "ours_median_s": median,
        "ours_p99_s": p99,
        "p99_over_median": p99 / median,
        "ours_steps": len(ours),
        "ours_invalid": sum(not step.valid for step in ours),
        "ours_generated_median": statistics.median(step.generated for step in ours),
        "ours_evaluated_median": statistics.median(step.evaluated for step in ours),
        "prefetch_s": statistics.median(prefetched),
        "rss_mb": rss_mb or psutil.Process().memory_info().rss / 2**20,
    }
    print(f"ours: median {median:.2f} s, p99 {p99:.2f} s; p99/median {p99 / median:.2f} (at most 2)")
    if plain:
        plain_median = statistics.median(step.seconds for step in plain)
        figures |= {
            "plain_median_s": plain_median,
            "plain_steps": len(plain),
            "plain_invalid": sum(not step.valid for step in plain),
            "plain_generated_median": statistics.median(step.generated for step in plain),
            "speedup_median": plain_median / median,
        }
        print(f"plain: median {plain_median:.2f} s; speed-up {plain_median / median:.1f} (at least 5)")
    print(f"resident memory with the model: {figures['rss_mb']:.0f} MB (under {TARGET_RSS_MB:g})")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
