"""Episodes that the benchmarks share: shipped tasks, acted out by the expert."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.spine import SpineDomain
from prism_planner.worlds.envelope import Mask, Scenario, Task
from prism_planner.worlds.observation import GraphObservation
from prism_planner.worlds.scenario import load_scenarios
from prism_planner.worlds.semantic_graph import SemanticGraphWorld

SCENARIOS = Path(__file__).parents[1] / "scenarios" / "spine"
MASK = Mask(regions=0.3, objects=0.3)


@dataclass(frozen=True)
class Episode:
    """A task and what a planner sees of it, step by step, when the expert's actions are executed."""

    name: str
    task: str
    observations: tuple[GraphObservation, ...]


def tasks(paths: list[Path] | None = None) -> Iterator[tuple[Scenario, Task]]:
    """The shipped tasks, one scenario after the other in turn, so that any few of them are a mixture."""
    scenarios = load_scenarios(paths or [SCENARIOS])
    for index in range(max(len(scenario.tasks) for scenario in scenarios)):
        for scenario in scenarios:
            if index < len(scenario.tasks):
                yield scenario, scenario.tasks[index]


def long_episodes(steps: int, *, seed: int = 0) -> Iterator[Episode]:
    """Episodes in which the expert needs at least `steps` steps, cut to that length."""
    domain = SpineDomain()
    for scenario, task in tasks():
        world = SemanticGraphWorld(scenario, task=task, mask=MASK, seed=seed)
        try:
            expert = domain.expert(task.instruction)
        except InvalidTaskError:
            continue
        observations = [world.observe()]
        while (skill := domain.next_skill(expert.plan(observations[-1]))) and len(observations) < steps:
            observations.append(world.step(skill).observation)
        if len(observations) == steps:
            yield Episode(scenario.name, task.instruction, tuple(observations))
