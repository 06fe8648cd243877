"""`prism up`: start the nodes of a robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from prism_planner.cli.choices import MODEL_HELP


def up(
    robot: Annotated[
        str,
        typer.Option(help="Whose parameters to use: the name of a file in config/, e.g. jackal, falcon4."),
    ] = "jackal",
    scenario: Annotated[
        str | None,
        typer.Option(
            help="World to simulate: a file, or a shipped name. Without it the real robot is driven."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    namespace: Annotated[
        str, typer.Option(help="Put all names below this one, to have several robots.")
    ] = "",
    params: Annotated[
        list[Path] | None,
        typer.Option(help="A further parameter file, which wins over the robot's. May be repeated."),
    ] = None,
    run_directory: Annotated[
        Path | None,
        typer.Option(
            help="Where journal and traces go; an existing one is continued. Default: the robot's own, "
            "or a new one for a scenario or simulated time."
        ),
    ] = None,
    use_sim_time: Annotated[bool, typer.Option(help="Take the time from /clock.")] = False,
) -> None:
    """Start the robot's nodes, restart those that die, and end them cleanly on
    Ctrl-C.

    The same nodes and parameter files as `ros2 launch prism_planner
    prism.launch.py`, without needing ros2 launch. A simulated Jackal on a
    campus, then a task from another terminal:

        prism up --robot jackal --scenario campus-loop
        prism task "Is there debris on the path?"
    """
    from prism_planner.cli.choices import choose_model, scenario_file
    from prism_planner.cli.errors import CommandError
    from prism_planner.cli.ros import require_ros, robot_namespace
    from prism_planner.cli.show import console
    from prism_planner.nodes.share import robot_parameters
    from prism_planner.nodes.supervisor import StackOptions, default_run_directory, run_stack
    from prism_planner.worlds.scenario import load_scenario

    world = scenario_file(scenario) if scenario is not None else None
    if world is not None:
        load_scenario(world)  # its errors are better told here than by a node
    for file in params or ():
        if not file.is_file():
            raise CommandError(f"{file}: there is no such parameter file")
    try:
        robot_parameters(robot)
    except ValueError as error:
        raise CommandError(str(error)) from error
    namespace = robot_namespace(namespace)
    require_ros()
    name, note = choose_model(model)
    out = console()
    if note:
        out.print(note, style="yellow")
    options = StackOptions(
        robot=robot,
        scenario=world,
        model=name,
        namespace=namespace,
        use_sim_time=use_sim_time,
        parameter_files=tuple(params or ()),
    )
    directory = run_directory or default_run_directory(options)
    where = f"in {world}" if world is not None else "on the real robot"
    out.print(f"Starting {robot} {where}; journal and traces in {directory}. Ctrl-C ends all nodes.")
    raise typer.Exit(run_stack(replace(options, run_directory=directory)))
