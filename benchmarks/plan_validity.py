"""How many plans of the bare model are no plans at all, with and without the constraint.

    python benchmarks/plan_validity.py --json FILE

Steps through the shipped scenarios, each task for at most six steps; the world follows the expert. A plan
is invalid when it cannot be read, calls an action that does not exist, or names what does not exist.

Keys: constrained_steps, invalid_constrained, unconstrained_steps, invalid_unconstrained.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from prism_planner.domains.domain import InvalidTaskError
from prism_planner.domains.policy import ModelPolicy
from prism_planner.domains.spine import SpineDomain
from prism_planner.domains.spine.actions import SpineObservation
from prism_planner.language.model import LanguageModel
from prism_planner.language.registry import load_model
from prism_planner.worlds.envelope import Scenario
from prism_planner.worlds.scenario import load_scenario
from prism_planner.worlds.semantic_graph import SemanticGraphWorld

STEPS = 6
SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios" / "spine"
DOMAIN = SpineDomain()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--model", default="smollm2-135m", help="default: smollm2-135m")
    parser.add_argument("--steps", type=int, default=200, help="under the constraint (default: 200)")
    parser.add_argument("--unconstrained-steps", type=int, default=50, help="without (default: 50)")
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    constrained = invalid(model, arguments.steps, constrained=True)
    print(f"with the constraint: {constrained} of {arguments.steps} plans invalid (target: 0)")
    unconstrained = invalid(model, arguments.unconstrained_steps, constrained=False)
    print(f"without: {unconstrained} of {arguments.unconstrained_steps}")
    if arguments.json is not None:
        figures = {
            "constrained_steps": arguments.steps,
            "invalid_constrained": constrained,
            "unconstrained_steps": arguments.unconstrained_steps,
            "invalid_unconstrained": unconstrained,
        }
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def invalid(model: LanguageModel, steps: int, *, constrained: bool) -> int:
    """How many of the first `steps` planning steps end without a valid plan."""
    found, left = 0, steps
    for scenario, number in tasks():
        policy = ModelPolicy(
            domain=DOMAIN,
            model=model,
            task=scenario.tasks[number].instruction,
            constrained=constrained,
            retries=0,
        )
        for observation in walk(scenario, number):
            decision = policy.decide(observation)
            if decision.plan is None:
                found += 1
                _text, reason = decision.rejected[-1]
                print(f"  {scenario.name}: {reason[:150]!r}", flush=True)
            left -= 1
            if left == 0:
                return found
        policy.close()
    raise RuntimeError(f"the shipped scenarios have fewer than {steps} steps")


def tasks() -> Iterator[tuple[Scenario, int]]:
    """Every task of every scenario, the scenarios in turn."""
    scenarios = [load_scenario(path) for path in sorted(SCENARIOS.rglob("*.yaml"))]
    for number in itertools.count():
        left = [scenario for scenario in scenarios if number < len(scenario.tasks)]
        if not left:
            return
        yield from ((scenario, number) for scenario in left)


def walk(scenario: Scenario, number: int) -> Iterator[SpineObservation]:
    """The observations of an episode that the expert plans, at most six."""
    task = scenario.tasks[number]
    world = SemanticGraphWorld(scenario, task=task)
    try:
        expert = DOMAIN.expert(task.instruction, task.intent)
    except InvalidTaskError:
        return
    observation = world.observe()
    for _ in range(STEPS):
        yield observation
        skill = DOMAIN.next_skill(expert.plan(observation))
        if skill is None:
            return
        observation = world.step(skill).observation


if __name__ == "__main__":
    main()
