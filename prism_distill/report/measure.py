"""Episodes of several planners on several sets of scenarios, resumable, under one progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prism_distill.report.contenders import Contender
from prism_distill.report.scenario_sets import ScenarioSet
from prism_planner.cli.errors import CANCELLED, CommandError
from prism_planner.evaluation.episode import EpisodeOptions, EpisodeResult
from prism_planner.evaluation.evaluate import EvaluationConfig, evaluate
from prism_planner.evaluation.store import EpisodeStore
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.scenario import load_scenario

Results = dict[str, dict[str, list[EpisodeResult]]]
"""Row -> name of the scenario set -> its episodes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all planners of a table are measured under.

    mask: fraction of what is known at the start to hide, instead of what scenarios say. out: directory
    for finished episodes, traces and the report. jobs: processes; by default what suits the planner.
    """

    domain: str
    sets: tuple[ScenarioSet, ...]
    out: Path
    mask: float = 0.3
    seed: int = 0
    jobs: int | None = None


def measure(contenders: Sequence[Contender], setting: Setting) -> Results:
    """Run what `out` does not hold yet. Raises what `evaluate` raises, CommandError when interrupted."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[solved]} solved"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    results: Results = {}
    with (
        EpisodeStore(setting.out / "episodes.jsonl") as store,
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
    ):
        for contender in contenders:
            bar = progress.add_task(f"{contender.row}: {contender.model}", total=None, solved=0)

            def advance(done: int, solved: int, total: int, bar: object = bar) -> None:
                progress.update(bar, completed=done, total=total, solved=solved)  # type: ignore[arg-type]

            try:
                episodes = evaluate(
                    _config(contender, setting),
                    store=store,
                    traces=setting.out / "traces" / contender.row.replace(" ", "-"),
                    on_progress=advance,
                )
            except KeyboardInterrupt:
                raise CommandError(
                    f"stopped; {len(store)} finished episodes are in {setting.out}: the same command goes on "
                    "from there",
                    CANCELLED,
                ) from None
            results[contender.row] = _by_set(episodes, setting.sets)
    return results


def _config(contender: Contender, setting: Setting) -> EvaluationConfig:
    return EvaluationConfig(
        domain=setting.domain,
        files=tuple(file for scenarios in setting.sets for file in scenarios.files),
        model=contender.model,
        options=EpisodeOptions(mask=Mask(regions=setting.mask, objects=setting.mask), style=contender.style),
        seeds=(setting.seed,),
        jobs=setting.jobs or contender.jobs,
    )


def _by_set(episodes: Sequence[EpisodeResult], sets: Sequence[ScenarioSet]) -> dict[str, list[EpisodeResult]]:
    origin = {load_scenario(file).name: scenarios.name for scenarios in sets for file in scenarios.files}
    divided: dict[str, list[EpisodeResult]] = {scenarios.name: [] for scenarios in sets}
    for episode in episodes:
        divided[origin[episode.scenario]].append(episode)
    return divided
