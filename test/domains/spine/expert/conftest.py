"""Small worlds, and one way to run an episode of the expert in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.actions import SpinePlan
from prism_planner.domains.spine.expert import SpineExpert
from prism_planner.domains.spine.validation import check_plan
from prism_planner.skills.monitor import SafetyLimits, SafetyMonitor
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.semantic_graph import SemanticGraphWorld
from prism_planner.worlds.spine_scenario import SpineScenario

MAX_TURNS = 30


@dataclass
class Episode:
    """What the expert did and said. failed: skills that did not succeed."""

    plans: list[SpinePlan] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    answer: str = ""
    ended_at: str = ""

    @property
    def reasons(self) -> list[str]:
        return [plan.reasoning for plan in self.plans]


def make_world(
    regions: dict[str, tuple[float, float]],
    objects: dict[str, tuple[str, dict[str, str]]] | None = None,
    edges: list[tuple[str, str]] | None = None,
    hidden: tuple[str, ...] = (),
    robot: str | None = None,
    categories: dict[str, str] | None = None,
    descriptions: dict[str, str] | None = None,
) -> SpineScenario:
    """A world from regions and their places, objects and (the region that sees them, attributes); regions
    are connected in a row unless `edges` says otherwise."""
    names = list(regions)
    said = descriptions or {}
    return SpineScenario.model_validate(
        {
            "format": "prism-scenario/1",
            "domain": "spine",
            "name": "small",
            "world": {
                "robot": robot or names[0],
                "regions": [
                    {"name": n, "at": at, "hidden": n in hidden, "description": said.get(n)}
                    for n, at in regions.items()
                ],
                "objects": [
                    {
                        "name": n,
                        "at": [regions[seen][0] + 1 + i / 10, regions[seen][1] + 1],
                        "seen_from": [seen],
                        "hidden": n in hidden,
                        "category": (categories or {}).get(n),
                        "description": said.get(n),
                        "attributes": attributes,
                    }
                    for i, (n, (seen, attributes)) in enumerate((objects or {}).items())
                ],
                "edges": list(pairwise(names)) if edges is None else edges,
            },
        }
    )


def run_episode(
    scenario: SpineScenario,
    task: str,
    intent: dict[str, Any] | None = None,
    limits: SafetyLimits | None = None,
    mask: Mask | None = None,
    seed: int = 0,
) -> Episode:
    """One episode to its answer; every plan is checked against what is known."""
    domain = SpineDomain()
    world = SemanticGraphWorld(scenario, mask=mask, seed=seed, monitor=SafetyMonitor(limits))
    expert = SpineExpert(task, intent)
    observation = world.observe()
    episode = Episode()
    for _ in range(MAX_TURNS):
        plan = expert.plan(observation)
        check_plan(plan, observation.graph)
        episode.plans.append(plan)
        skill = domain.next_skill(plan)
        if skill is None:
            episode.answer = domain.answer(plan)
            episode.ended_at = world.record.final_location
            return episode
        episode.skills.append(str(skill))
        result = world.step(skill)
        if not result.ok:
            episode.failed.append(str(skill))
        observation = result.observation
    raise AssertionError(f"no answer after {MAX_TURNS} turns: {episode.skills}")


@pytest.fixture
def world() -> Callable[..., SpineScenario]:
    return make_world


@pytest.fixture
def run() -> Callable[..., Episode]:
    return run_episode
