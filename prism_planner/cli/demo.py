"""`prism demo`: the whole stack on a simulated robot, from a task to its answer and a picture."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_planner.cli.choices import MODEL_HELP
from prism_planner.cli.errors import CommandError
from prism_planner.cli.options import LARGEST_UINT32, MaskOption

if TYPE_CHECKING:
    from rich.console import Console

    from prism_planner.nodes.supervisor import StackOptions
    from prism_planner.nodes.task_client import TaskResult
    from prism_planner.worlds.spine_scenario import SpineScenario

_SCENARIO = "campus-loop"
_TASK = "Is there debris on the path?"


def demo(
    instruction: Annotated[str, typer.Option("--task", help="What the robot should do or find out.")] = _TASK,
    scenario: Annotated[str, typer.Option(help="The world: a file, or a shipped name.")] = _SCENARIO,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    mask: MaskOption = None,
    speed: Annotated[
        float,
        typer.Option(min=0.1, max=1000.0, help="How many times faster than the clock the robot drives."),
    ] = 10.0,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_UINT32, help="Of the mask, and of models that sample.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Directory for picture and trace. Default: log/demo/TIME.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1.0, help="Cancel the task after so many seconds.")] = 600.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also show the model's own text and the nodes' output.")
    ] = False,
) -> None:
    """A simulated robot takes a task, plans, drives, looks and answers.

    Runs the real nodes as processes, over ROS 2 on this machine only, and
    ends with the answer, a picture from above and the trace of every step.
    Nothing to prepare, no robot, no GPU, no network.

        prism demo
        prism demo --model smollm2-135m
        prism demo --scenario riverside-park --task "I want a shady place to read" --mask 0.3
    """
    from prism_planner.cli.choices import choose_model, scenario_file
    from prism_planner.cli.ros import require_ros
    from prism_planner.cli.show import console
    from prism_planner.cli.task import finish
    from prism_planner.domains.planner import check_task
    from prism_planner.evaluation.episode import default_style
    from prism_planner.nodes.supervisor import StackOptions
    from prism_planner.worlds.scenario import load_scenario
    from prism_planner.worlds.spine_scenario import SpineScenario

    instruction = check_task(instruction)
    file = scenario_file(scenario)
    world = load_scenario(file)
    if not isinstance(world, SpineScenario):
        raise CommandError(f"{file}: a scenario of the domain {world.domain}; the demo needs one of spine")
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # of this process, as of the nodes
    require_ros()
    name, note = choose_model(model)
    screen = console()
    if note:
        screen.print(note, style="yellow")
    directory = (out or Path("log/demo") / time.strftime("%Y%m%d-%H%M%S")).resolve()
    simulation: dict[str, float] = {"speed_factor": speed, "seed": seed}
    if mask is not None:
        simulation |= {"mask_regions": mask, "mask_objects": mask}
    result = _run(
        screen,
        StackOptions(
            robot="falcon4" if world.platform == "uav" else "jackal",
            scenario=file,
            model=name,
            # A name of its own and this machine only: a demo never commands a robot that is really there.
            namespace=f"demo_{os.getpid()}",
            local_only=True,
            parameters={
                "skill_server": {"simulation": simulation},
                "slm_planner": {"style": default_style(name)},
            },
            run_directory=directory / "run",
        ),
        instruction,
        timeout=timeout,
        seed=seed,
        verbose=verbose,
    )
    try:
        finish(result)
    finally:
        if result.trace_path:
            _keep(screen, Path(result.trace_path), world, instruction, directory)


def _run(
    screen: Console, options: StackOptions, instruction: str, *, timeout: float, seed: int, verbose: bool
) -> TaskResult:
    from prism_planner.cli.show import StepPrinter
    from prism_planner.nodes.supervisor import Stack
    from prism_planner.nodes.task_client import TaskClient

    def log(node: str, line: str) -> None:
        if verbose:
            screen.print(f"     [{node}] {line}", style="dim", markup=False)

    with Stack(options, on_log=log) as stack:
        with screen.status(f"starting {', '.join(options.nodes)}"):
            ready = stack.wait_ready(120.0)
        for node, said in ready.items():
            screen.print(f"{node:20} {said}", style="dim", markup=False)
        screen.print(f"\ntask  {instruction}\n", style="bold", markup=False)
        with TaskClient(namespace=options.namespace) as client:
            return client.run(
                instruction,
                seed=seed,
                timeout_s=timeout,
                planner_timeout_s=30.0,
                on_progress=StepPrinter(screen, verbose=verbose),
            )


def _keep(screen: Console, trace_file: Path, world: SpineScenario, instruction: str, directory: Path) -> None:
    """Draw the episode, say whether the scenario counts it as solved, and where everything is."""
    from prism_planner.domains.trace import PlanTrace
    from prism_planner.evaluation.picture import draw_episode
    from prism_planner.evaluation.story import EpisodeStory, true_graph
    from prism_planner.worlds.success import judge

    screen.print()
    trace = PlanTrace.read(trace_file)
    kept = directory / "trace.jsonl"
    trace.write(kept)
    task = next((task for task in world.tasks if task.instruction == instruction), None)
    if task is not None:
        verdict = judge(task, EpisodeStory.of(trace).record(world.world))
        screen.print(
            "judged by the scenario: solved"
            if verdict.success
            else f"judged by the scenario: failed, {verdict.reason}",
            style="green" if verdict.success else "red",
            markup=False,
        )
    picture = directory / "episode.png"
    draw_episode(picture, trace, truth=true_graph(world.world))
    screen.print(f"picture: {picture}\ntrace:   {kept}", markup=False)
