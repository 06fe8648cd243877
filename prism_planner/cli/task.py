"""`prism task` and `prism cancel`: give a task to a running planner, and take it back."""

from __future__ import annotations

import signal
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from prism_planner.cli.errors import BUSY, CANCELLED, FAILED, NO_ROBOT, CommandError
from prism_planner.cli.options import LARGEST_UINT32

if TYPE_CHECKING:
    from prism_planner.nodes.task_client import TaskResult


def task(
    instruction: Annotated[
        str,
        typer.Argument(metavar="TASK", help="What the robot should do or find out, in a sentence or two."),
    ],
    namespace: Annotated[str, typer.Option(help="The robot's namespace, where it has one.")] = "",
    max_steps: Annotated[
        int,
        typer.Option(
            min=0, max=LARGEST_UINT32, help="Planning steps before giving up; 0: the planner's own limit."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_UINT32, help="For models that sample.")] = 0,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, help="Cancel the task after so many seconds.")
    ] = None,
    wait: Annotated[float, typer.Option(min=0.0, help="Seconds to wait for a planner to appear.")] = 10.0,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also show the model's own text.")] = False,
) -> None:
    """Give a task to the running planner and follow it.

    Every plan and every observation is shown as it happens. Ctrl-C, or
    closing the terminal, cancels the task: model and robot stop. Start a
    planner with [bold]prism up[/bold] in another terminal, then:

        prism task "Is there debris on the path?"
    """
    from prism_planner.cli.ros import require_ros, robot_namespace
    from prism_planner.cli.show import StepPrinter, console
    from prism_planner.domains.planner import check_task

    instruction = check_task(instruction)
    namespace = robot_namespace(namespace)
    require_ros()
    from prism_planner.nodes.task_client import TaskClient

    out = console()
    # A robot must not drive on, with nobody to cancel it, when its operator's terminal is closed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupt)
    with TaskClient(namespace=namespace) as client:
        result = client.run(
            instruction,
            max_steps=max_steps,
            seed=seed,
            timeout_s=timeout,
            planner_timeout_s=wait,
            on_progress=StepPrinter(out, verbose=verbose),
        )
    try:
        finish(result)
    finally:
        if result.trace_path:
            out.print(f"trace: {result.trace_path}", style="dim", markup=False)


def cancel(
    namespace: Annotated[str, typer.Option(help="The robot's namespace, where it has one.")] = "",
    wait: Annotated[float, typer.Option(min=0.0, help="Seconds to wait for a planner to appear.")] = 10.0,
) -> None:
    """Cancel the running task, whoever gave it: model and robot stop.

    prism cancel
    prism cancel --namespace jackal1
    """
    from prism_planner.cli.ros import require_ros, robot_namespace
    from prism_planner.cli.show import console

    namespace = robot_namespace(namespace)
    require_ros()
    from prism_planner.nodes.task_client import TaskClient, TaskOutcome

    with TaskClient(namespace=namespace) as client:
        result = client.cancel_all(planner_timeout_s=wait)
    if result.outcome is not TaskOutcome.CANCELLED:
        finish(result)
    console().print(f"cancelled: {result.message}", markup=False)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a handler
    signal.signal(number, signal.SIG_IGN)  # once is enough, also when shell and kernel both send it
    raise KeyboardInterrupt


def finish(result: TaskResult) -> None:
    """Print the answer. Raises CommandError when there is none."""
    from prism_planner.cli.show import console
    from prism_planner.nodes.task_client import TaskOutcome

    if result.outcome is TaskOutcome.SUCCEEDED:
        console().print(f"\n{result.answer}", style="bold green", markup=False)
        return
    code = {
        TaskOutcome.CANCELLED: CANCELLED,
        TaskOutcome.BUSY: BUSY,
        TaskOutcome.NO_PLANNER: NO_ROBOT,
        TaskOutcome.PLANNER_LOST: NO_ROBOT,
    }.get(result.outcome, FAILED)
    raise CommandError(f"{result.outcome.value}: {result.message or 'no reason was given'}", code)
