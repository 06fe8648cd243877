"""`prism evaluate`: how often a model solves scenarios."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prism_planner.cli.choices import MODEL_HELP, STYLE_HELP, StyleChoice
from prism_planner.cli.errors import CANCELLED, CommandError
from prism_planner.cli.options import MaskOption

if TYPE_CHECKING:
    from prism_planner.evaluation.episode import EpisodeResult
    from prism_planner.evaluation.evaluate import EvaluationConfig
    from prism_planner.evaluation.store import EpisodeStore


def evaluate(
    scenarios: Annotated[
        list[Path] | None,
        typer.Option(help="Scenario file or directory; may be repeated, and further ones may follow."),
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(metavar="[PATH]...", help="Further scenarios.")] = None,
    domain: Annotated[str, typer.Option(help="The planner's domain.")] = "spine",
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    mask: MaskOption = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, help="Of mask and sampling. Repeat it to run tasks repeatedly.")
    ] = None,
    style: Annotated[StyleChoice | None, typer.Option(help=STYLE_HELP)] = None,
    constrained: Annotated[bool, typer.Option(help="Hold the model to valid plans while it writes.")] = True,
    max_steps: Annotated[int, typer.Option(min=1, help="Planning steps before an episode is given up.")] = 30,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Processes. Default: all cores for the expert, one for a model in process."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for finished episodes and traces.")] = Path(
        "log/evaluate"
    ),
    resume: Annotated[
        bool,
        typer.Option("--resume/--fresh", help="Keep episodes that an earlier run finished, or forget them."),
    ] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Run every task of the scenarios in the emulated world, and count how many
    were solved.

    Finished episodes are kept: the same command continues where it was
    stopped or killed. An episode is run again when its scenario, the model
    or prism itself has changed.

        prism evaluate --scenarios scenarios/spine --model expert --mask 0.3
        prism evaluate --scenarios scenarios/spine/outdoor --model smollm2-135m --json figures.json
    """
    from prism_planner.cli.choices import choose_model, shipped_scenarios
    from prism_planner.cli.plan import write_json
    from prism_planner.cli.show import console
    from prism_planner.domains.registry import load_domain
    from prism_planner.evaluation.episode import EpisodeOptions, default_style
    from prism_planner.evaluation.evaluate import EvaluationConfig
    from prism_planner.evaluation.report import as_json, as_table
    from prism_planner.evaluation.store import EpisodeStore
    from prism_planner.worlds.envelope import Mask
    from prism_planner.worlds.scenario import scenario_files

    load_domain(domain)  # before its scenarios are missed
    paths = [*(scenarios or ()), *(more or ())] or [shipped_scenarios() / domain]
    for path in paths:
        if not path.exists():
            raise CommandError(f"{path}: there is no such scenario file or directory")
    name, note = choose_model(model, domain=domain)
    screen = console()
    if note:
        screen.print(note, style="yellow")
    config = EvaluationConfig(
        domain=domain,
        files=scenario_files(paths),
        model=name,
        options=EpisodeOptions(
            mask=Mask(regions=mask, objects=mask) if mask is not None else None,
            style=style.value if style else default_style(name),
            constrained=constrained,
            max_steps=max_steps,
        ),
        seeds=tuple(dict.fromkeys(seed or [0])),
        jobs=jobs or _default_jobs(name),
    )
    with EpisodeStore(out / "episodes.jsonl", fresh=not resume) as store:
        results = _run(config, store, out)
    hiding = "the scenarios' own masks" if mask is None else f"{mask:.0%} masked"
    screen.print(as_table(results, title=f"{domain}, {name}, {hiding}"), soft_wrap=False)
    if json_file is not None:
        write_json(
            json_file,
            as_json(
                results,
                domain=domain,
                model=name,
                mask=mask,
                seeds=list(config.seeds),
                style=config.options.style,
            ),
        )


def _default_jobs(model: str) -> int:
    cores = len(os.sched_getaffinity(0))
    if model == "expert":
        return cores
    return 4 if model.startswith("openai:") else 1


def _run(config: EvaluationConfig, store: EpisodeStore, out: Path) -> list[EpisodeResult]:
    """Run the evaluation under a progress bar with the time that is left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from prism_planner.evaluation.evaluate import evaluate as run

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[solved]} solved"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=None, solved=0)

        def advance(done: int, solved: int, total: int) -> None:
            progress.update(bar, completed=done, total=total, solved=solved)

        try:
            return run(config, store=store, traces=out / "traces", on_progress=advance)
        except KeyboardInterrupt:
            raise CommandError(
                f"stopped; {len(store)} finished episodes are in {out}: the same command goes on from there",
                CANCELLED,
            ) from None
