"""What the commands do: a config, its run, and one stage after the other, with estimates and progress."""

from __future__ import annotations

import os
import shlex
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from prism_distill.config import GENERATOR, load_config
from prism_distill.estimate import Estimate, duration
from prism_distill.run import Run, StageName
from prism_planner.cli.errors import CANCELLED, CommandError
from prism_planner.cli.show import console

if TYPE_CHECKING:
    from prism_distill.elicitation import Tally
    from prism_distill.training import trainer

_SECONDS_PER_LINE = 30.0


def synthesize(path: Path, *, fresh: bool, only_estimate: bool) -> None:
    with _run(path) as run:
        _synthesize(run, fresh=fresh, only_estimate=only_estimate)


def elicit(path: Path, *, fresh: bool, only_estimate: bool) -> None:
    with _run(path) as run:
        _elicit(run, fresh=fresh, only_estimate=only_estimate)
        if not only_estimate:
            _make_dataset(run, fresh=fresh)


def train(path: Path, *, fresh: bool) -> None:
    from prism_distill.train_stage import is_main_process

    with _run(path, lock=is_main_process()) as run:
        _train(run, fresh=fresh)


def export(path: Path, *, fresh: bool, register: str | None, registry: Path | None) -> None:
    if registry is not None and register is None:
        raise CommandError("--registry says where to; say with --register NAME under which name")
    with _run(path) as run:
        _export(run, path, fresh=fresh)
        if register is not None:
            _register(run, register, registry)


def report(path: Path) -> None:
    with _run(path) as run:
        _report(run)


def distill(path: Path, *, fresh: bool) -> None:
    from prism_distill.base_model import find_base

    with _run(path) as run:
        # A base that is not there is said now, not after hours of elicitation.
        find_base(run.config.base.model)
        _synthesize(run, fresh=fresh)
        _elicit(run, fresh=fresh)
        _make_dataset(run, fresh=fresh)
        _train(run, fresh=fresh)
        _export(run, path, fresh=fresh)
        _report(run)


def _synthesize(run: Run, *, fresh: bool, only_estimate: bool = False) -> None:
    from prism_distill import synthesis

    settings = run.config.scenarios
    if not _is_done(run, "scenarios", fresh) or only_estimate:
        estimate = synthesis.estimate(run, fresh=fresh)
        most = None if settings.source == GENERATOR else settings.writer.max_cost
        _announce("scenarios", estimate, most, "scenarios.writer.max_cost")
    if only_estimate:
        return
    with _bar() as (bar, task):
        worked = synthesis.synthesize(
            run,
            fresh=fresh,
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    found = run.manifest.stages["scenarios"].results
    made = f"{found['scenarios']:,} scenarios with {found['tasks']:,} tasks"
    if "written" in found:
        spent = found["written"]
        read, written = spent["prompt_tokens"], spent["completion_tokens"]
        made += f", {read:,} tokens read and {written:,} written, cost {spent['cost']:,.2f}"
    _told(run, "scenarios", made, worked)


def _elicit(run: Run, *, fresh: bool, only_estimate: bool = False) -> None:
    from prism_distill import elicitation

    if not _is_done(run, "elicitation", fresh) or only_estimate:
        estimate = elicitation.estimate(run, fresh=fresh)
        _announce("episodes", estimate, run.config.elicitation.max_cost, "elicitation.max_cost")
    if only_estimate:
        return
    with _bar("{task.fields[dropped]} dropped") as (bar, task):

        def advance(tally: Tally) -> None:
            bar.update(task, completed=tally.done, total=tally.total, dropped=tally.dropped)

        worked = elicitation.elicit(run, fresh=fresh, on_progress=advance)
    found = run.manifest.stages["elicitation"].results
    failed = ", ".join(f"{reason} {count:,}" for reason, count in found["failed"].items())
    kept = f"{found['kept']:,} of {found['episodes']:,} episodes kept" + (f" ({failed})" if failed else "")
    if "cost" in found:
        read, written = found["prompt_tokens"], found["completion_tokens"]
        kept += f", {read:,} tokens read and {written:,} written, cost {found['cost']:,.2f}"
    _told(run, "elicitation", kept, worked)


def _make_dataset(run: Run, *, fresh: bool) -> None:
    from prism_distill.dataset import make_dataset

    with _bar():
        worked = make_dataset(run, fresh=fresh)
    found = run.manifest.stages["dataset"].results
    sizes = ", ".join(f"{split} {found[split]['rows']:,}" for split in ("train", "validation", "test"))
    repeated = f"{found['duplicates']['near']:.1%} near-duplicates"
    _told(run, "dataset", f"rows: {sizes}; {repeated}; card in README.md", worked)


def _train(run: Run, *, fresh: bool) -> None:
    from prism_distill import train_stage

    screen = _screen()
    fields = "{task.description}"
    with _bar(fields) as (bar, task):

        def progress(now: trainer.Progress) -> None:
            text = f"loss {now.loss:.3f}, {now.supervised_per_s:,.0f} action tokens/s"
            if bar.tasks[task].total != now.steps:
                # The first step: now there is a rate to go by.
                screen.print(f"training: {now.steps:,} steps, about {duration(now.seconds_left)}")
            bar.update(task, completed=now.step, total=now.steps, description=text)

        def validation(now: trainer.Validation) -> None:
            tried = "" if now.success is None else f", {now.success:.1%} of tasks solved"
            screen.print(f"step {now.step:,}: validation loss {now.loss:.3f}{tried}")

        def read(done: int, total: int) -> None:
            if done % 100 == 0 or done == total:
                bar.update(task, completed=done, total=total, description="reading episodes")

        worked = train_stage.train_run(
            run,
            fresh=fresh,
            on_read=read,
            on_progress=progress,
            on_validation=validation,
            on_trial=lambda done, solved, total: bar.update(
                task, description=f"trying: {solved} of {done} solved, {total} tasks"
            ),
        )
    if not train_stage.is_main_process():
        return
    found = run.manifest.stages["training"].results
    success = found["validation_success"]
    solved = "" if success is None else f", {success:.1%} of validation tasks solved"
    step = f"adapter of step {found['step']:,} of {found['steps']:,}"
    _told(run, "training", f"{step}, validation loss {found['validation_loss']:.3f}{solved}", worked)


def _export(run: Run, path: Path, *, fresh: bool) -> None:
    from prism_distill.export_stage import export_run

    with _bar("{task.description}") as (bar, task):
        worked = export_run(
            run,
            command=shlex.join(["prism", "distill", str(path)]),
            fresh=fresh,
            on_step=lambda what, done, total: bar.update(task, completed=done, total=total, description=what),
        )
    found = run.manifest.stages["export"].results["agreement"]
    same = ", ".join(
        f"{name}: {value['identical']:.1%} of outputs identical" for name, value in found.items()
    )
    _told(run, "export", same, worked)


def _register(run: Run, name: str, registry: Path | None) -> None:
    from prism_distill.export_stage import register_run

    scores = register_run(run, name, registry=registry)
    note = "" if scores else "; without scores: `prism report CONFIG` measures them"
    _screen().print(f"registered as {name}{note}", markup=False)


def _report(run: Run) -> None:
    from prism_distill.report_stage import report_run

    page = report_run(run)
    _screen().print(f"report: {page}", markup=False)


@contextmanager
def _run(path: Path, *, lock: bool = True) -> Iterator[Run]:
    _quiet()
    config = load_config(path)
    with Run(config, lock=lock) as run:
        try:
            yield run
        except KeyboardInterrupt:
            raise CommandError(
                f"stopped; what was finished is in {run.directory}: the same command goes on from there",
                CANCELLED,
            ) from None


def _is_done(run: Run, stage: StageName, fresh: bool) -> bool:
    return run.is_done(stage) and not fresh


def _announce(what: str, estimate: Estimate, max_cost: float | None, field: str) -> None:
    _screen().print(f"{what}: {estimate}", markup=False)
    estimate.check(max_cost, field)


def _told(run: Run, stage: StageName, what: str, worked: bool) -> None:
    record = run.manifest.stages[stage]
    when = f"in {duration(record.seconds)}" if worked else "done before"
    _screen().print(f"{stage}: {what}; {when}; {run.folder(stage)}", markup=False)


def _quiet() -> None:
    """Libraries show bars and warnings of their own where ours are."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"(transformers|peft)\b")


def _screen() -> Console:
    return console()


@contextmanager
def _bar(text: str = "") -> Iterator[tuple[Progress, TaskID]]:
    """A progress bar on stderr, gone when done; a line now and then where that is no terminal."""
    columns = [BarColumn(), MofNCompleteColumn(), *([TextColumn(text)] if text else [])]
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    screen = Console(stderr=True)
    kind = Progress if screen.is_terminal else _Lines
    with kind(*columns, *times, console=screen, transient=True) as progress:
        yield progress, progress.add_task("", total=None, dropped=0)


class _Lines(Progress):
    """Progress in a log, where a bar would leave empty lines."""

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool) -> None:
        super().__init__(*columns, console=console, transient=transient, disable=True)
        self._told = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        now = time.monotonic()
        if now - self._told < _SECONDS_PER_LINE:
            return
        self._told = now
        task = self.tasks[task_id]
        parts = [f"{task.completed:,.0f} of {task.total:,.0f}"] if task.total else []
        parts += [task.description] if task.description else []
        left = task.time_remaining
        parts += [f"about {duration(left)} left"] if left else []
        self.console.print("  " + ", ".join(parts), markup=False, highlight=False)
