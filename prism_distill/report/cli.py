"""`prism distill table1 | table2 | table3 | figure5`: the paper's tables, measured here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prism_planner.cli.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prism_distill.report.contenders import Contender
    from prism_distill.report.latency import Curve, Endpoint
    from prism_distill.report.measure import Setting
    from prism_distill.report.table import ResultTable
    from prism_planner.language.llama import LlamaModel

app = typer.Typer(help="The paper's tables and figures, measured here.", no_args_is_help=True)

Scenarios = Annotated[
    list[Path] | None,
    typer.Option(
        help="Scenario file or directory; may be repeated. Default: generated worlds and sentences that are "
        "held out from training (150 tasks and more), and those that come with prism."
    ),
]
More = Annotated[list[Path] | None, typer.Argument(metavar="[PATH]...", help="Further scenarios.")]
Domain = Annotated[str, typer.Option(help="The planner's domain.")]
Prism = Annotated[
    str | None,
    typer.Option(
        help="The distilled planner: a name from `prism models list`, BASE+ADAPTER.gguf, a .gguf file, or "
        "the directory of a run. Default: that of --run, or the registry's adapter for the domain."
    ),
]
Base = Annotated[
    str | None,
    typer.Option(help="The base: the planner without distillation, and what an adapter's file is put on."),
]
Source = Annotated[str, typer.Option(help="The source planner: expert, or openai:NAME.")]
Masked = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Hide this fraction of what is known at the start.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of mask and sampling.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes. Default: what suits each planner.")]
Run = Annotated[
    Path | None, typer.Option(help="A run's directory: its planner, and its report/ for results.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Directory for scenarios, finished episodes and results. Default: report/ of --run, or "
        "log/distill/report."
    ),
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the figures to this file too.")]


@app.command("table1")
def table1(
    scenarios: Scenarios = None,
    more: More = None,
    domain: Domain = "spine",
    prism: Prism = None,
    base: Base = None,
    source: Source = "expert",
    mask: Masked = 0.3,
    seed: Seed = 0,
    jobs: Jobs = None,
    run: Run = None,
    out: Out = None,
    json_file: Json = None,
) -> None:
    """How often the base without distillation, the distilled planner and the source succeed.

    The base is asked with the source's own prompt, as in the paper. Finished
    episodes are kept: the same command goes on where it was stopped, and table2
    counts the same episodes.

        prism distill table1 --prism log/distill/spine-smollm2
    """
    from prism_distill.report.tables import table1 as tabulate

    contenders = _three(prism, base, source, domain=domain, run=run)
    setting = _setting(scenarios, more, domain=domain, mask=mask, seed=seed, jobs=jobs, run=run, out=out)
    _publish(contenders, setting, tabulate, run, json_file)


@app.command("table2")
def table2(
    scenarios: Scenarios = None,
    more: More = None,
    domain: Domain = "spine",
    prism: Prism = None,
    base: Base = None,
    source: Source = "expert",
    mask: Masked = 0.3,
    seed: Seed = 0,
    jobs: Jobs = None,
    run: Run = None,
    out: Out = None,
    json_file: Json = None,
) -> None:
    """Success of mapping and exploration tasks, fully specified and under-specified, and
    the ratio of distilled to source.

        prism distill table2 --run log/distill/spine-smollm2 --json table2.json
    """
    from prism_distill.report.tables import table2 as tabulate

    contenders = _three(prism, base, source, domain=domain, run=run)
    setting = _setting(scenarios, more, domain=domain, mask=mask, seed=seed, jobs=jobs, run=run, out=out)
    _publish(contenders, setting, tabulate, run, json_file)


@app.command("table3")
def table3(
    scenarios: Scenarios = None,
    more: More = None,
    adapters: Annotated[
        Path | None,
        typer.Option(
            help="YAML file with the keys full, without_masking, without_validation and, optionally, base."
        ),
    ] = None,
    full: Annotated[str | None, typer.Option(help="The full method's planner, as --prism elsewhere.")] = None,
    without_masking: Annotated[str | None, typer.Option(help="Trained on data without masking.")] = None,
    without_validation: Annotated[
        str | None, typer.Option(help="Trained on data without validation.")
    ] = None,
    domain: Domain = "spine",
    base: Base = None,
    mask: Masked = 0.3,
    seed: Seed = 0,
    jobs: Jobs = None,
    run: Run = None,
    out: Out = None,
    json_file: Json = None,
) -> None:
    """What environment masking and plan validation are worth: planners trained with and
    without, at equal budget.

        prism distill table3 --adapters ablation.yaml
        prism distill table3 --full log/distill/spine --without-masking log/distill/spine-no-mask \\
            --without-validation log/distill/spine-no-validation
    """
    from prism_distill.report.ablation import read_ablation
    from prism_distill.report.contenders import contender, planner_name
    from prism_distill.report.tables import FULL, WITHOUT_MASKING, WITHOUT_VALIDATION
    from prism_distill.report.tables import table3 as tabulate

    ablation = read_ablation(
        adapters, full=full, without_masking=without_masking, without_validation=without_validation, base=base
    )
    contenders = [
        contender(FULL, planner_name(ablation.full, domain=domain, run=run, base=ablation.base)),
        contender(WITHOUT_MASKING, planner_name(ablation.without_masking, domain=domain, base=ablation.base)),
        contender(
            WITHOUT_VALIDATION, planner_name(ablation.without_validation, domain=domain, base=ablation.base)
        ),
    ]
    setting = _setting(scenarios, more, domain=domain, mask=mask, seed=seed, jobs=jobs, run=run, out=out)
    _publish(contenders, setting, tabulate, run, json_file)


@app.command("figure5")
def figure5(
    scenarios: Scenarios = None,
    more: More = None,
    domain: Domain = "spine",
    prism: Prism = None,
    base: Base = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Address of an OpenAI-compatible endpoint, such as http://host:8000/v1. Default: a server "
            "of the same model, started on this machine."
        ),
    ] = None,
    endpoint_model: Annotated[str | None, typer.Option(help="What the endpoint calls its model.")] = None,
    round_trip: Annotated[
        list[float] | None, typer.Option(min=0.0, help="Milliseconds; may be repeated. Default: 6.7 and 200.")
    ] = None,
    queries: Annotated[int, typer.Option(min=2, help="Planning steps for each curve, at least.")] = 60,
    mask: Masked = 0.3,
    seed: Seed = 0,
    run: Run = None,
    out: Out = None,
    json_file: Json = None,
) -> None:
    """How long a plan takes on board, and from an endpoint behind a simulated network.

    A proxy holds every byte back for half a round trip each way. An endpoint
    given with --endpoint is asked with the source's prompt.

        prism distill figure5 --prism log/distill/spine-smollm2
        prism distill figure5 --endpoint http://gateway:4000/v1 --endpoint-model gpt-4o
    """
    from contextlib import ExitStack

    from prism_distill.report import figure
    from prism_distill.report.contenders import planner_name
    from prism_distill.report.index import save
    from prism_distill.report.latency import Endpoint
    from prism_distill.report.local_endpoint import ALIAS, local_endpoint
    from prism_distill.report.plots import draw_latencies
    from prism_planner.cli.show import console
    from prism_planner.language.llama import LlamaModel
    from prism_planner.language.registry import load_model

    if endpoint is not None and endpoint_model is None:
        raise CommandError("say with --endpoint-model what the endpoint calls its model")
    setting = _setting(scenarios, more, domain=domain, mask=mask, seed=seed, jobs=1, run=run, out=out)
    name = planner_name(prism, domain=domain, run=run, base=base)
    with ExitStack() as stack:
        model = load_model(name)
        stack.callback(model.close)
        if not isinstance(model, LlamaModel):
            raise CommandError(f"--prism {name}: is behind an endpoint; give a model that runs on board")
        if endpoint is None:
            serving = local_endpoint(
                model.path,
                adapter=model.adapter,
                context_length=model.context_length,
                log=setting.out / "endpoint.log",
            )
            asked = Endpoint(stack.enter_context(serving), ALIAS, "distilled")
        else:
            assert endpoint_model is not None
            asked = Endpoint(endpoint, endpoint_model, "source")
        curves = _timed(model, asked, setting, round_trip or [6.7, 200.0], queries)
    hosted = f"{endpoint_model} at {endpoint}" if endpoint is not None else None
    notes = figure.notes(name, hosted)
    screen = console()
    screen.print(figure.as_rich(curves), soft_wrap=False)
    for note in notes:
        screen.print(f"  {note}", markup=False)
    draw_latencies(
        setting.out / "figure5.png",
        {curve.label: curve.seconds for curve in curves.values()},
        title=figure.caption(hosted),
    )
    save(setting.out, "figure5", figure.as_json(curves), figure.as_markdown(curves, notes))
    _finish(figure.as_json(curves), "figure5", setting, run, json_file)


def _three(
    prism: str | None, base: str | None, source: str, *, domain: str, run: Path | None
) -> list[Contender]:
    from prism_distill.report.contenders import base_of, contender, planner_name
    from prism_distill.report.tables import PRISM, SLM, SOURCE

    name = planner_name(prism, domain=domain, run=run, base=base)
    return [
        contender(SOURCE, source),
        contender(PRISM, name),
        contender(SLM, base or base_of(name), style="source"),
    ]


def _setting(
    scenarios: list[Path] | None,
    more: list[Path] | None,
    *,
    domain: str,
    mask: float,
    seed: int,
    jobs: int | None,
    run: Path | None,
    out: Path | None,
) -> Setting:
    from prism_distill.report.index import report_directory
    from prism_distill.report.measure import Setting
    from prism_distill.report.scenario_sets import default_sets, given_set
    from prism_planner.domains.registry import load_domain

    load_domain(domain)  # before its scenarios are missed
    if run is not None and not run.is_dir():
        raise CommandError(f"--run {run}: there is no such directory")
    out = out or (report_directory(run) if run is not None else Path("log/distill/report"))
    paths = [*(scenarios or ()), *(more or ())]
    sets = (given_set(paths),) if paths else default_sets(domain, out / "scenarios")
    return Setting(domain=domain, sets=sets, out=out, mask=mask, seed=seed, jobs=jobs)


def _publish(
    contenders: Sequence[Contender],
    setting: Setting,
    tabulate: Callable[..., ResultTable],
    run: Path | None,
    json_file: Path | None,
) -> None:
    """Measure, show and keep a table."""
    from prism_distill.report.index import save
    from prism_distill.report.measure import measure
    from prism_distill.report.plots import draw_table
    from prism_planner.cli.show import console

    table = tabulate(measure(contenders, setting), contenders, setting)
    console().print(table.as_rich(), soft_wrap=False)
    draw_table(setting.out / f"{table.name}.png", table)
    save(setting.out, table.name, table.as_json(), table.as_markdown())
    _finish(table.as_json(), table.name, setting, run, json_file)


def _timed(
    model: LlamaModel, endpoint: Endpoint, setting: Setting, round_trips_ms: list[float], queries: int
) -> dict[str, Curve]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from prism_distill.report.latency import measure_latency
    from prism_planner.evaluation.episode import EpisodeOptions
    from prism_planner.worlds.envelope import Mask

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=None)
        return measure_latency(
            model,
            endpoint,
            domain_name=setting.domain,
            files=[file for scenarios in setting.sets for file in scenarios.files],
            options=EpisodeOptions(mask=Mask(regions=setting.mask, objects=setting.mask), seed=setting.seed),
            round_trips_ms=round_trips_ms,
            queries=queries,
            on_progress=lambda done, wanted: progress.update(bar, completed=done, total=wanted),
        )


def _finish(
    figures: dict[str, Any], name: str, setting: Setting, run: Path | None, json_file: Path | None
) -> None:
    from prism_distill.report.index import write_report
    from prism_planner.cli.plan import write_json
    from prism_planner.cli.show import console

    if json_file is not None:
        write_json(json_file, figures)
    console().print(f"  {setting.out / name}.png, .md and .json", markup=False)
    if run is not None and setting.out == run / "report":
        write_report(run)
