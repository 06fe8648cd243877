"""The `prism` command: what it offers, and how it ends.

Nothing heavy is imported before a command runs, and nothing of ROS before a command needs it.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import prism_planner
from prism_planner.cli import demo, evaluate, graph, models, plan, task, up
from prism_planner.cli.errors import EXIT_CODES, report
from prism_planner.cli.plugins import PluginGroup

app = typer.Typer(
    name="prism",
    cls=PluginGroup,
    help="Language planning that runs on the robot.\n\n"
    "Start with [bold]prism demo[/bold]: a simulated robot takes a task and answers it.",
    epilog="Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prism {prism_planner.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


app.command("demo", rich_help_panel="Run")(demo.demo)
app.command("up", rich_help_panel="Run")(up.up)
app.command("task", rich_help_panel="Run")(task.task)
app.command("cancel", rich_help_panel="Run")(task.cancel)
app.command("plan", rich_help_panel="Run")(plan.plan)
app.command("evaluate", rich_help_panel="Measure and look")(evaluate.evaluate)
app.add_typer(models.app, name="models", rich_help_panel="Measure and look")
app.add_typer(graph.app, name="graph", rich_help_panel="Measure and look")


def main() -> None:
    """Entry point: every failure is one message on stderr and an exit code."""
    try:
        app(prog_name="prism")
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(report(error))


if __name__ == "__main__":
    main()
