"""A planning step on the embedded model: PRISM's way against the plain way, side by side.

    python benchmarks/planner_step.py --json FILE

Ours: one session, the distilled style under its constraint, through the domain and its policy. Plain:
chat completion of llama-cpp-python with SPINE's own prompt and examples, JSON under a JSON grammar, the
whole conversation sent each step. Schema: the same under the grammar that the library makes of SPINE's
output schema, since under the other one the bare model rarely writes a whole plan. (In both, the library
itself keeps the prefix that it has evaluated.)

All read the same observations of the same shipped tasks from the same model file with the same threads
and context length, in turns; all have read the instructions and the first graph before the clock starts,
as a robot has when a task arrives. The world follows the expert, so that every episode has six steps
whatever the models say.

Keys: speedup_median (plain/ours, on the steps that both took), p99_over_median (ours), ours_median_s,
ours_p99_s, plain_median_s, schema_median_s, speedup_schema_median, prefetch_s (reading instructions and
graph, ours), rss_mb (before the other ways are loaded), and of each way the steps, invalid plans and
tokens written.
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
from prism_planner.language.llama import LlamaModel, default_threads
from prism_planner.language.registry import load_model
from prism_planner.worlds.envelope import Scenario
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import SemanticGraphWorld

STEPS = 6
TARGET_SPEEDUP, TARGET_SPREAD, TARGET_RSS_MB = 5.0, 2.0, 600.0
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
    """Chat completion under a JSON grammar, as the library's documentation shows it."""

    def __init__(self, llama: llama_cpp.Llama, task: str, first: SpineObservation, *, schema: bool) -> None:
        self._llama = llama
        self._schema = schema
        self._task = task
        self._messages: list[Any] = [
            {"role": message.role, "content": message.content} for message in DOMAIN.system("source")
        ]
        self._first = True
        graph = DOMAIN.render("", first, style="source", first=True)
        self._complete([*self._messages, {"role": "user", "content": graph}], first, max_tokens=1)

    def step(self, observation: SpineObservation) -> Step:
        began = time.perf_counter()
        text = DOMAIN.render(self._task, observation, style="source", first=self._first)
        self._first = False
        self._messages.append({"role": "user", "content": text})
        answer = self._complete(self._messages, observation, max_tokens=DOMAIN.limits("source"))
        content = answer["choices"][0]["message"]["content"]
        self._messages.append({"role": "assistant", "content": content})
        try:
            DOMAIN.parse(content, observation, style="source", previous=None)
            valid = True
        except InvalidPlanError:
            valid = False
        seconds = time.perf_counter() - began
        return Step(seconds, valid, answer["usage"]["completion_tokens"])

    def _complete(self, messages: list[Any], observation: SpineObservation, *, max_tokens: int) -> Any:
        response_format: Any = {"type": "json_object"}
        if self._schema:
            constraint = DOMAIN.constraint(observation, style="source", first=self._first)
            response_format["schema"] = constraint.json_schema
        return self._llama.create_chat_completion(
            messages, response_format=response_format, max_tokens=max_tokens, temperature=0.0
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--model", default="smollm2-135m", help="default: smollm2-135m")
    parser.add_argument("--episodes", type=int, default=6, help="of six steps each, ours (default: 6)")
    parser.add_argument(
        "--plain-episodes", type=int, default=2, help="of them also the other ways (default: 2)"
    )
    parser.add_argument("--threads", type=int, help="of all ways (default: see default_threads)")
    arguments = parser.parse_args()

    model = load_model(arguments.model, threads=arguments.threads)
    assert isinstance(model, LlamaModel)
    steps: dict[str, list[Step]] = {"ours": [], "plain": [], "schema": []}
    prefetched: list[float] = []
    others: dict[str, llama_cpp.Llama] = {}
    rss_mb = 0.0
    for episode in range(arguments.episodes):
        file, number = TASKS[episode % len(TASKS)]
        scenario = load_scenario(SCENARIOS / file)
        observations = list(walk(scenario, number))
        task = scenario.tasks[number].instruction
        ours = Ours(model, task, observations[0])
        prefetched.append(ours.prefetch_s)
        sides: dict[str, Ours | Plain] = {"ours": ours}
        if episode < arguments.plain_episodes:
            rss_mb = rss_mb or psutil.Process().memory_info().rss / 2**20
            for name in ("plain", "schema"):
                others[name] = others.get(name) or load_plain(model, arguments.threads)
                sides[name] = Plain(others[name], task, observations[0], schema=name == "schema")
        for observation in observations:
            for name, side in sides.items():
                steps[name].append(side.step(observation))
            print(
                scenario.name,
                *(f"{name} {steps[name][-1].seconds:.2f} s" for name in sides),
                flush=True,
            )
    report(steps, prefetched, rss_mb, arguments)


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


def load_plain(model: LlamaModel, threads: int | None) -> llama_cpp.Llama:
    writing, reading = default_threads()
    return llama_cpp.Llama(
        str(model.path),
        n_ctx=model.context_length,
        n_threads=threads or writing,
        n_threads_batch=threads or reading,
        verbose=False,
    )


def report(
    steps: dict[str, list[Step]], prefetched: Sequence[float], rss_mb: float, arguments: argparse.Namespace
) -> None:
    figures: dict[str, Any] = {"model": arguments.model, "threads": arguments.threads}
    for name, taken in steps.items():
        if taken:
            figures |= {
                f"{name}_median_s": statistics.median(step.seconds for step in taken),
                f"{name}_steps": len(taken),
                f"{name}_invalid": sum(not step.valid for step in taken),
                f"{name}_generated_median": statistics.median(step.generated for step in taken),
            }
            print(
                f"{name}: median {figures[f'{name}_median_s']:.2f} s, "
                f"{figures[f'{name}_generated_median']:g} tokens, "
                f"{figures[f'{name}_invalid']} of {len(taken)} plans invalid"
            )
    median = figures["ours_median_s"]
    times = sorted(step.seconds for step in steps["ours"])
    figures["ours_p99_s"] = times[math.ceil(len(times) * 0.99) - 1]
    figures["p99_over_median"] = figures["ours_p99_s"] / median
    figures["prefetch_s"] = statistics.median(prefetched)
    figures["rss_mb"] = rss_mb or psutil.Process().memory_info().rss / 2**20
    if steps["plain"]:
        # The episodes that were run in all ways come first.
        beside = statistics.median(step.seconds for step in steps["ours"][: len(steps["plain"])])
        figures["speedup_median"] = figures["plain_median_s"] / beside
        figures["speedup_schema_median"] = figures["schema_median_s"] / beside
        print(f"speed-up {figures['speedup_median']:.1f} (target: at least {TARGET_SPEEDUP:g})")
    print(f"p99/median {figures['p99_over_median']:.2f} (target: at most {TARGET_SPREAD:g})")
    print(f"resident memory {figures['rss_mb']:.0f} MB (target: under {TARGET_RSS_MB:g})")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
