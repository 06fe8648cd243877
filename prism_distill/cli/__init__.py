"""The commands that distillation adds to `prism`; each is loaded through an entry point (setup.py)."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from prism_distill.report.cli import app as tables

PANEL = "Distil"

Config = Annotated[
    Path, typer.Argument(metavar="CONFIG", help="YAML file; ready ones are in config/distill/.")
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Forget what there is of this stage, and start it anew.")
]
OnlyEstimate = Annotated[bool, typer.Option("--estimate", help="Say what it will take, and stop.")]


def _command(function: Callable[..., None]) -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.command(function.__name__.strip("_"), rich_help_panel=PANEL)(function)
    return app


def _synthesize(config: Config, fresh: Fresh = False, estimate: OnlyEstimate = False) -> None:
    """Make scenarios: worlds, tasks in them, and how their outcome is judged.

    A killed command goes on where it was. With an LLM as the source, says
    first what it will cost.

        prism synthesize config/distill/tiny.yaml
    """
    from prism_distill.cli import stages

    stages.synthesize(config, fresh=fresh, only_estimate=estimate)


def _elicit(config: Config, fresh: Fresh = False, estimate: OnlyEstimate = False) -> None:
    """Let the teacher solve the tasks in closed loop, and make a dataset of what went
    well.

    A killed command goes on where it was. The dataset's card is README.md in
    the run's dataset/.

        prism elicit config/distill/tiny.yaml
    """
    from prism_distill.cli import stages

    stages.elicit(config, fresh=fresh, only_estimate=estimate)


def _train(config: Config, fresh: Fresh = False) -> None:
    """Train an adapter on the dataset; goes on from the newest checkpoint.

    On several GPUs: accelerate launch -m prism_planner.cli.main train CONFIG

        prism train config/distill/tiny.yaml
    """
    from prism_distill.cli import stages

    stages.train(config, fresh=fresh)


def _export(
    config: Config,
    fresh: Fresh = False,
    register: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Put the planner into the model registry under this name too."),
    ] = None,
    registry: Annotated[
        Path | None, typer.Option(help="That registry.yaml. Default: the one of `prism models list`.")
    ] = None,
) -> None:
    """Write the adapter as GGUF, and merged models if the config wants them, and
    verify that llama.cpp says with them what was trained.

        prism export config/distill/tiny.yaml
        prism export config/distill/spine-smollm2.yaml --register spine-smollm2
    """
    from prism_distill.cli import stages

    stages.export(config, fresh=fresh, register=register, registry=registry)


def _report(config: Config) -> None:
    """Measure the planner of a run, and write report/index.md.

    Which of the paper's tables, and on what, says the section report.
    Finished episodes are kept.

        prism report config/distill/tiny.yaml
    """
    from prism_distill.cli import stages

    stages.report(config)


class _Distill(TyperGroup):
    """`prism distill CONFIG` beside `prism distill table1` and its like."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        first = args[0]
        misspelt = get_close_matches(first, self.commands) and not Path(first).is_file()
        if self.get_command(ctx, first) is None and not first.startswith("-") and not misspelt:
            args = ["all", *args]
        return super().resolve_command(ctx, args)


synthesize = _command(_synthesize)
elicit = _command(_elicit)
train = _command(_train)
export = _command(_export)
report = _command(_report)

distill = typer.Typer(
    cls=_Distill,
    add_completion=False,
    no_args_is_help=True,
    subcommand_metavar="CONFIG | COMMAND [ARGS]...",
)
distill.add_typer(tables)


@distill.callback(rich_help_panel=PANEL)
def _about() -> None:
    """Distil a planner: all stages of a config, or one of the paper's tables.

    `prism distill CONFIG` does what `prism synthesize`, `elicit`, `train`,
    `export` and `report` do, one after the other. What is finished is kept.

        prism distill config/distill/tiny.yaml
        prism distill table2 --run log/distill/tiny
    """


@distill.command("all")
def _all(
    config: Config,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what there is, and start anew.")] = False,
) -> None:
    """All stages of a config; the same as `prism distill CONFIG`."""
    from prism_distill.cli import stages

    stages.distill(config, fresh=fresh)
