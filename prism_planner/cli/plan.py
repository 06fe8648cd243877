"""`prism plan`: one planning step, without ROS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_planner.cli.choices import MODEL_HELP, STYLE_HELP, StyleChoice
from prism_planner.cli.errors import FAILED, CommandError
from prism_planner.cli.options import MaskOption

if TYPE_CHECKING:
    from prism_planner.worlds.observation import GraphObservation


def plan(
    instruction: Annotated[
        str,
        typer.Argument(metavar="TASK", help="What the robot should do or find out, in a sentence or two."),
    ],
    graph: Annotated[Path | None, typer.Option(help="What is known: a scene graph in SPINE's JSON.")] = None,
    scenario: Annotated[
        str | None, typer.Option(help="What is known: the start of this scenario, a file or a shipped name.")
    ] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    style: Annotated[StyleChoice | None, typer.Option(help=STYLE_HELP)] = None,
    mask: MaskOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the mask, and of models that sample.")] = 0,
    constrained: Annotated[bool, typer.Option(help="Hold the model to valid plans while it writes.")] = True,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the plan to this file.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the model's text as it is written.")
    ] = False,
) -> None:
    """Plan once for a task, from a graph or the start of a scenario. Needs no ROS; nothing moves.

    prism plan --scenario campus-loop "Is there debris on the path?"
    prism plan --graph graph.json --model smollm2-135m "Inspect the car"
    """
    from prism_planner.cli.choices import EXPERT, choose_model
    from prism_planner.cli.show import console, show_plan
    from prism_planner.domains.planner import check_task
    from prism_planner.domains.registry import load_domain
    from prism_planner.evaluation.episode import default_style, make_policy
    from prism_planner.language.registry import load_model

    instruction = check_task(instruction)
    observation = _observation(graph, scenario, mask, seed)
    name, note = choose_model(model)
    out = console()
    if note:
        out.print(note, style="yellow")
    domain = load_domain("spine")
    policy = make_policy(
        domain,
        None if name == EXPERT else load_model(name),
        task=instruction,
        style=style.value if style else default_style(name),
        constrained=constrained,
        seed=seed,
    )
    try:
        decision = policy.decide(observation, on_text=_stream(out) if verbose else None)
    finally:
        policy.close()
    if verbose:
        out.print()
    decided = decision.plan.model_dump(mode="json") if decision.plan is not None else None
    data = {
        "task": instruction,
        "model": name,
        "plan": decided,
        "raw": decision.raw,
        "rejected": [{"text": text, "feedback": feedback} for text, feedback in decision.rejected],
        "prompt_tokens": decision.usage.prompt,
        "generated_tokens": decision.usage.generated,
        "seconds": decision.timing.total_s,
    }
    if json_file is not None:
        write_json(json_file, data)
    for text, feedback in decision.rejected:
        out.print(f"rejected: {text!r}: {feedback}", style="yellow", markup=False)
    if decided is None:
        raise CommandError("the model gave no valid plan", FAILED)
    show_plan(
        out,
        head="plan",
        goal=decided["primary_goal"],
        reasoning=decided["reasoning"],
        actions=[action_text(action) for action in decided["plan"]],
        seconds=decision.timing.total_s,
        rejected=len(decision.rejected),
    )


def action_text(action: dict[str, Any]) -> str:
    """`inspect(car_1, is it damaged)`"""
    values = [value for key, value in action.items() if key != "action"]
    arguments = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return f"{action['action']}({', '.join(arguments)})"


def write_json(path: Path, data: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from error


def _observation(graph: Path | None, scenario: str | None, mask: float | None, seed: int) -> GraphObservation:
    from prism_planner.cli.choices import scenario_file
    from prism_planner.graph.spine_json import load_file
    from prism_planner.worlds.envelope import Mask
    from prism_planner.worlds.observation import GraphObservation
    from prism_planner.worlds.scenario import load_scenario
    from prism_planner.worlds.semantic_graph import SemanticGraphWorld

    if (graph is None) == (scenario is None):
        raise CommandError("say what is known: either --graph FILE or --scenario FILE")
    if graph is not None:
        known = load_file(graph)
        if known.robot_location is None:
            raise CommandError(f'{graph}: robot_location: is missing; add "robot_location": "REGION"')
        return GraphObservation(known)
    assert scenario is not None
    hiding = Mask(regions=mask, objects=mask) if mask is not None else None
    return SemanticGraphWorld(load_scenario(scenario_file(scenario)), mask=hiding, seed=seed).observe()


def _stream(out: Any) -> Any:
    return lambda text: out.print(text, end="", style="dim", markup=False)
