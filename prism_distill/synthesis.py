"""Stage 1: scenarios, built in or written by a language model (PRISM paper, section 3.1)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from prism_distill.config import GENERATOR, DistillConfig, ScenarioSettings
from prism_distill.estimate import Estimate
from prism_distill.executors import Executor, cores, each
from prism_distill.model_pool import ModelPool
from prism_distill.run import Run, RunError, code_digest
from prism_distill.scenarios.generator import Stream, generate, to_document
from prism_distill.scenarios.splits import SPLITS, WORLD_SHARES, Split
from prism_distill.scenarios.written import PROMPTS, ScenarioWriter
from prism_distill.shards import Gathering, Shard, sealed_shards, shard_path
from prism_planner.language.registry import ENDPOINT_PREFIX, load_model, model_digest
from prism_planner.worlds.envelope import Scenario

_SAMPLE = 5
# Of written scenarios, before any was written.
_PROMPT_TOKENS, _NODE_TOKENS, _TASK_TOKENS, _TOKENS_PER_S = 2500, 70, 120, 50
_ENDPOINT_ATTEMPTS = 8

OnProgress = Callable[[int, int], None]
"""Called with the number of scenarios that are finished, and all."""

Item = tuple[Split, int]


class ScenarioSource(Protocol):
    """Where scenarios come from."""

    def scenario(self, index: int) -> Scenario:
        """Scenario number `index` of its split, always the same where the source is deterministic."""

    def estimate(self, count: int) -> Estimate:
        """What it will take to make so many."""


class Generated:
    """The built-in generator's scenarios of one split."""

    def __init__(self, settings: ScenarioSettings, *, seed: int, split: Split) -> None:
        """Raises RunError when the settings contradict each other."""
        options = {"theme": settings.theme, "size": settings.size, "platform": settings.platform}
        self._stream = Stream(seed, split=split, tasks=settings.tasks, **options)
        self._workers = settings.workers or cores()
        try:
            generate(0, split=split, tasks=settings.tasks, **options)  # type: ignore[arg-type]
        except ValueError as error:
            raise RunError(f"scenarios: {error}") from None

    def scenario(self, index: int) -> Scenario:
        return self._stream[index]

    def estimate(self, count: int) -> Estimate:
        began = time.perf_counter()
        for index in range(_SAMPLE):
            self.scenario(index)
        each_s = (time.perf_counter() - began) / _SAMPLE
        return Estimate(count, "scenarios", each_s * count / self._workers)


class Written:
    """Scenarios of one split that a language model writes; several threads may ask at a time."""

    def __init__(self, settings: ScenarioSettings, *, split: Split, writer: ScenarioWriter) -> None:
        self._settings = settings
        self._split: Split = split
        self._writer = writer

    def scenario(self, index: int) -> Scenario:
        """Raises WritingError, and RunError when there is no room on the disk."""
        return self._writer.scenario(self._split, index)

    def estimate(self, count: int) -> Estimate:
        """By what was spent so far, when something was."""
        settings, writer = self._settings, self._settings.writer
        counts = {split: settings.count(split) for split in SPLITS}
        # Worlds fall into splits by their layout, so that the rarest decides how many have to be written.
        worlds = max(counts[split] / WORLD_SHARES[split] for split in SPLITS) * count / sum(counts.values())
        spent, done = self._writer.library.effort, len(self._writer.library)
        if done:
            requests, read, written = (
                round(worlds / done * value)
                for value in (spent.requests, spent.prompt_tokens, spent.completion_tokens)
            )
        else:
            requests = round(worlds)
            read = round(worlds * _PROMPT_TOKENS)
            nodes = sum(writer.nodes) / 2
            written = round(worlds * (nodes * _NODE_TOKENS + writer.tasks * _TASK_TOKENS))
        return Estimate(
            count,
            "scenarios",
            written / _TOKENS_PER_S / writer.workers,
            requests=requests,
            prompt_tokens=read,
            completion_tokens=written,
            cost=writer.prices.cost(read, written),
            assumed=f"{round(worlds):,} worlds for all splits, {_TOKENS_PER_S} tokens/s, "
            f"{writer.workers} at a time, {'each as so far' if done else 'every world valid at once'}",
        )


def synthesize(run: Run, *, fresh: bool = False, on_progress: OnProgress | None = None) -> bool:
    """Make the scenarios of `run`, as far as that is not done; whether there was work to do.

    Raises RunError, WorkError and LanguageModelError; what was finished is kept.
    """
    settings = run.config.scenarios
    code = code_digest() if settings.source == GENERATOR else ""
    if not run.begin("scenarios", _inputs(run.config), code=code, fresh=fresh):
        return False
    with run.working("scenarios"):
        spent = _synthesize(run, settings, on_progress or (lambda *_: None))
        files = [file for split in SPLITS for file in sealed_shards(run.folder("scenarios"), split, "jsonl")]
        run.finish("scenarios", files, results=_results(files) | spent)
    return True


def estimate(run: Run, *, fresh: bool = False) -> Estimate:
    """What the scenarios that are not there yet (with `fresh` all) will take. Raises RunError."""
    settings, folder = run.config.scenarios, run.folder("scenarios")
    done = 0
    if not fresh:
        for split, number in _shards(settings):
            shard = Shard(shard_path(folder, split, number, "jsonl"))
            done += len(_indices(settings, split, number)) if shard.sealed else len(shard.keys())
    count = sum(settings.count(split) for split in SPLITS) - done
    return make_source(run.config, "train").estimate(count)


def make_source(config: DistillConfig, split: Split, writer: ScenarioWriter | None = None) -> ScenarioSource:
    """The source that the config names. writer: one that several sources share.

    Raises RunError, ModelLoadError.
    """
    if config.domain != "spine":
        raise RunError(
            f"domain: {config.domain}: scenarios are made for spine only; the planners of other domains are "
            "evaluated with `prism evaluate`, not distilled yet"
        )
    if config.scenarios.source == GENERATOR:
        return Generated(config.scenarios, seed=config.seed, split=split)
    return Written(config.scenarios, split=split, writer=writer or make_writer(config))


def make_writer(config: DistillConfig) -> ScenarioWriter:
    """The writer of a run, which goes on from what it wrote before, with as many connections as requests are
    sent at a time. Raises ModelLoadError."""
    settings = config.scenarios
    endpoint = settings.source.startswith(ENDPOINT_PREFIX)
    # Nobody waits for a robot here, so that an overloaded endpoint is given time.
    options = {"max_attempts": _ENDPOINT_ATTEMPTS} if endpoint else {}
    connections = settings.writer.workers if endpoint else 1
    pool = ModelPool([load_model(settings.source, **options) for _ in range(connections)])
    journal = config.run_directory / "scenarios" / "written.jsonl"
    return ScenarioWriter(settings.writer, pool, journal=journal, seed=config.seed)


def _synthesize(run: Run, settings: ScenarioSettings, on_progress: OnProgress) -> dict[str, Any]:
    """Figures of what a model spent; none for the generator."""
    folder, total, done = run.folder("scenarios"), sum(map(settings.count, SPLITS)), 0

    def items() -> Iterator[Item]:
        nonlocal done
        for split, number in _shards(settings):
            indices = _indices(settings, split, number)
            path = shard_path(folder, split, number, "jsonl")
            missing = gathering.begin(path, [_key(index) for index in indices])
            done += len(indices) - len(missing)
            yield from ((split, index) for index in indices if _key(index) in missing)

    writer = make_writer(run.config) if settings.source != GENERATOR else None
    make: Callable[[], _Maker] = partial(_Maker, run.config)
    executor: Executor = "processes"
    workers = settings.workers or cores()
    if writer is not None:
        # One writer for all, which knows what the others wrote.
        maker = _Maker(run.config, writer)
        make, executor, workers = lambda: maker, "threads", settings.writer.workers
    with (
        nullcontext() if writer is None else closing(writer),
        Gathering(_write) as gathering,
        closing(each(make, items(), executor=executor, workers=workers)) as finished,
    ):
        for (split, index), scenario in finished:
            path = shard_path(folder, split, index // settings.shard, "jsonl")
            gathering.add(path, _key(index), scenario)
            done += 1
            on_progress(done, total)
    if writer is None:
        return {}
    spent = writer.report()
    cost = settings.writer.prices.cost(spent["prompt_tokens"], spent["completion_tokens"])
    return {"written": spent | {"cost": round(cost, 4)}}


class _Maker:
    """Makes scenarios of all splits, each source built when it is first needed."""

    def __init__(self, config: DistillConfig, writer: ScenarioWriter | None = None) -> None:
        self._config = config
        self._writer = writer
        self._sources: dict[Split, ScenarioSource] = {}

    def __call__(self, item: Item) -> dict[str, Any]:
        split, index = item
        if split not in self._sources:
            self._sources[split] = make_source(self._config, split, self._writer)
        return to_document(self._sources[split].scenario(index))


def _shards(settings: ScenarioSettings) -> Iterator[tuple[Split, int]]:
    for split in SPLITS:
        for number in range(-(-settings.count(split) // settings.shard)):
            yield split, number


def _indices(settings: ScenarioSettings, split: Split, shard: int) -> range:
    first = shard * settings.shard
    return range(first, min(first + settings.shard, settings.count(split)))


def _key(index: int) -> str:
    return f"{index:08}"


def _write(path: Path, scenarios: list[Any]) -> None:
    lines = (json.dumps(scenario, ensure_ascii=False, separators=(",", ":")) for scenario in scenarios)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _results(files: list[Path]) -> dict[str, Any]:
    """Figures of all scenarios, also of those that earlier commands made."""
    scenarios = tasks = 0
    cells: Counter[str] = Counter()
    for file in files:
        # Not splitlines(): JSON strings may hold U+2028 and its like, which that would split at.
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
            found = json.loads(line)["tasks"]
            scenarios += 1
            tasks += len(found)
            cells.update(f"{task.get('kind', 'any')}/{task.get('specification', 'any')}" for task in found)
    return {"scenarios": scenarios, "tasks": tasks, "cells": dict(sorted(cells.items()))}


def _inputs(config: DistillConfig) -> dict[str, Any]:
    settings = config.scenarios
    if settings.source == GENERATOR:
        decisive = settings.model_dump(mode="json", exclude={"workers", "writer"})
        return {"seed": config.seed, "domain": config.domain, "scenarios": decisive}
    # The generator's options do not matter here, nor how many requests are sent at a time.
    ignored = {"workers", "theme", "size", "platform", "tasks"}
    decisive = settings.model_dump(mode="json", exclude=ignored)
    for key in ("workers", "prices", "max_cost"):
        del decisive["writer"][key]
    inputs = {"domain": config.domain, "scenarios": decisive, "prompts": PROMPTS}
    return inputs | {"weights": model_digest(settings.source)}
