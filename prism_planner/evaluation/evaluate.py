"""Evaluation: scenarios x seeds x one model, in parallel, and resumable after a kill."""

from __future__ import annotations

import multiprocessing
import re
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from prism_planner.domains.domain import Domain
from prism_planner.domains.registry import load_domain
from prism_planner.domains.trace import PlanTrace
from prism_planner.evaluation.episode import EXPERT, EpisodeOptions, EpisodeResult, run_episode
from prism_planner.evaluation.store import EpisodeStore, episode_key
from prism_planner.language.model import LanguageModel, LanguageModelError
from prism_planner.language.registry import load_model, model_digest
from prism_planner.worlds.envelope import Scenario
from prism_planner.worlds.scenario import load_scenario

OnProgress = Callable[[int, int, int], None]
"""Called with the number of episodes that are finished, those of them that succeeded, and all."""

# Outcomes that may say more about a machine or an endpoint than about the planner: they are not kept.
_TRANSIENT = ("cancelled", "model_error")
# So many model errors one after the other mean that the model is gone, not that tasks are hard.
_MOST_MODEL_ERRORS = 3


class EvaluationError(Exception):
    """The evaluation cannot go on; finished episodes are kept. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """files: scenario files. model: a registry name, `openai:NAME` or `expert`. seeds: each task is run
    once per seed. jobs: processes; each loads its own copy of the model."""

    domain: str
    files: tuple[Path, ...]
    model: str
    options: EpisodeOptions = field(default_factory=EpisodeOptions)
    seeds: tuple[int, ...] = (0,)
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class _Job:
    key: str
    file: Path
    task: int
    options: EpisodeOptions


def evaluate(
    config: EvaluationConfig,
    *,
    store: EpisodeStore,
    traces: Path | None = None,
    on_progress: OnProgress | None = None,
) -> list[EpisodeResult]:
    """Run every episode that `store` does not hold; the results of all, in the order of files and tasks.

    traces: a directory for the PlanTrace of each episode that is run. Raises ScenarioError,
    UnknownDomainError before the first episode, EvaluationError and LanguageModelError at any time.
    """
    load_domain(config.domain)
    jobs = list(_jobs(config))
    if not jobs:
        raise EvaluationError(
            f"{', '.join(map(str, config.files))}: no tasks to run; add some under `tasks:`"
        )
    results = {job.key: result for job in jobs if (result := store.get(job.key)) is not None}
    open_jobs = [job for job in jobs if job.key not in results]

    def tell() -> None:
        if on_progress is not None:
            on_progress(len(results), sum(result.success for result in results.values()), len(jobs))

    tell()
    model_errors = 0
    with closing(_run(config, open_jobs)) as finished:
        for job, result, trace in finished:
            results[job.key] = result
            ending = trace.outcome.reason if trace.outcome is not None else ""
            if ending not in _TRANSIENT:
                store.add(job.key, result)
            if traces is not None:
                trace.write(traces / f"{_file_name(result)}.jsonl")
            tell()
            model_errors = model_errors + 1 if ending == "model_error" else 0
            if model_errors == _MOST_MODEL_ERRORS:
                raise LanguageModelError(
                    f"{config.model} failed in {model_errors} episodes one after the other, last with: "
                    f"{result.reason}. Finished episodes are kept: run the same command again"
                )
    return [results[job.key] for job in jobs]


def _file_name(result: EpisodeResult) -> str:
    scenario = re.sub(r"[^\w.-]+", "_", result.scenario)
    return f"{scenario}-{result.task + 1:02}-seed{result.seed}"


def _jobs(config: EvaluationConfig) -> Iterator[_Job]:
    digest = model_digest(config.model) if config.model != EXPERT else EXPERT
    names: dict[str, Path] = {}
    for file in config.files:
        scenario = load_scenario(file)
        if (other := names.setdefault(scenario.name, file)) != file:
            raise EvaluationError(f"{file}: {scenario.name!r} is already the name of {other}; choose another")
        if scenario.domain != config.domain:
            raise EvaluationError(
                f"{file}: a scenario of the domain {scenario.domain}, not {config.domain}; "
                f"leave it out, or give --domain {scenario.domain}"
            )
        for task, goal in enumerate(scenario.tasks):
            for seed in config.seeds:
                options = replace(config.options, seed=seed)
                identity: dict[str, Any] = asdict(options) | {
                    "mask": options.mask.model_dump() if options.mask else None,
                    "domain": config.domain,
                    "model": config.model,
                    "weights": digest,
                    "task": task,
                    "instruction": goal.instruction,
                }
                yield _Job(episode_key(file, **identity), file, task, options)


Finished = tuple[_Job, EpisodeResult, PlanTrace]


def _run(config: EvaluationConfig, jobs: Sequence[_Job]) -> Generator[Finished, None, None]:
    if not jobs:
        return
    workers = min(config.jobs, len(jobs))
    if workers > 1:
        yield from _run_parallel(config, jobs, workers)
        return
    worker = _Worker(config.domain, config.model)
    for job in jobs:
        yield job, *worker.run(job)


def _run_parallel(config: EvaluationConfig, jobs: Sequence[_Job], workers: int) -> Iterator[Finished]:
    # Spawned, not forked: a language model's threads and locks do not survive a fork.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(config.domain, config.model),
    )
    waiting = iter(jobs)
    running: dict[Future[Any], _Job] = {}
    try:
        # Few are handed out at a time, so that stopping does not leave a queue to work off.
        for job in islice(waiting, 2 * workers):
            running[pool.submit(_run_in_worker, job)] = job
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job = running.pop(future)
                outcome = future.result()
                if isinstance(outcome, str):
                    raise EvaluationError(outcome)
                yield job, *outcome
                for following in islice(waiting, 1):
                    running[pool.submit(_run_in_worker, following)] = following
        pool.shutdown()
    except BrokenProcessPool as error:
        raise EvaluationError(
            "a worker process died, perhaps for lack of memory; finished episodes are kept: "
            "run the same command again, with fewer --jobs"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


class _Worker:
    """Runs episodes one after the other with one domain and one model, loaded once."""

    def __init__(self, domain: str, model: str) -> None:
        self._domain: Domain[Any, Any] = load_domain(domain)
        self._model: LanguageModel | None = None if model == EXPERT else load_model(model)
        self._scenarios: dict[Path, Scenario] = {}

    def run(self, job: _Job) -> tuple[EpisodeResult, PlanTrace]:
        if job.file not in self._scenarios:
            self._scenarios = {job.file: load_scenario(job.file)}
        return run_episode(
            domain=self._domain,
            model=self._model,
            scenario=self._scenarios[job.file],
            task=job.task,
            options=job.options,
        )


_worker: _Worker | str | None = None


def _start_worker(domain: str, model: str) -> None:
    """In a worker process. A failure is kept for the first job to return: an exception here would
    break the pool without telling why, and not every exception can be sent between processes."""
    global _worker  # noqa: PLW0603 - the state of this process, set once
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _worker = _Worker(domain, model)
    except Exception as error:
        _worker = f"{type(error).__name__}: {error}" if not str(error) else str(error)


def _run_in_worker(job: _Job) -> tuple[EpisodeResult, PlanTrace] | str:
    assert _worker is not None
    if isinstance(_worker, str):
        return _worker
    try:
        return _worker.run(job)
    except Exception as error:
        return f"{job.file}, task {job.task + 1}: {type(error).__name__}: {error}"
