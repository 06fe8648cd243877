"""Stage 1: scenarios, built in or written by a language model (PRISM paper, section 3.1)."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

from prism_distill.config import GENERATOR, DistillConfig, ScenarioSettings
from prism_distill.estimate import Estimate
from prism_distill.executors import Executor, cores, each
from prism_distill.model_pool import ModelPool
from prism_distill.run import Run, RunError, code_digest
from prism_distill.scenarios.generator import Stream, generate, to_document
from prism_distill.scenarios.splits import SPLITS, Split
from prism_distill.shards import Gathering, Shard, sealed_shards, shard_path
from prism_planner.language.registry import ENDPOINT_PREFIX, load_model, model_digest
from prism_planner.worlds.envelope import Scenario

_SAMPLE = 5
# Of written scenarios, before any was written.
_PROMPT_TOKENS, _NODE_TOKENS, _TASK_TOKENS, _TOKENS_PER_S = 3000, 70, 120, 50
# Numbers of scenarios of the splits, so that no two have the same.
_FIRST: dict[Split, int] = {"train": 0, "validation": 10_000_000, "test": 20_000_000}

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
    """Scenarios that a language model writes, each anew; several threads may ask at a time."""

    def __init__(self, settings: ScenarioSettings) -> None:
        self._settings = settings

    def scenario(self, index: int) -> Scenario:
        """Raises ModelLoadError, and LanguageModelError when the model is gone."""
        scenario: Scenario = self.writer.write(index)
        return scenario

    @cached_property
    def writer(self) -> Any:
        """The `ScenarioWriter`, with as many connections as requests are sent at a time."""
        from prism_distill.scenarios.written import ScenarioWriter  # type: ignore[import-not-found]

        settings = self._settings
        connections = settings.writer.workers if settings.source.startswith(ENDPOINT_PREFIX) else 1
        pool = ModelPool([load_model(settings.source) for _ in range(connections)])
        return ScenarioWriter(settings.writer, pool)

    def estimate(self, count: int) -> Estimate:
        writer = self._settings.writer
        read = count * _PROMPT_TOKENS
        nodes = sum(writer.nodes) / 2
        written = round(count * (nodes * _NODE_TOKENS + writer.tasks * _TASK_TOKENS))
        return Estimate(
            count,
            "scenarios",
            written / _TOKENS_PER_S / writer.workers,
            requests=count,
            prompt_tokens=read,
            completion_tokens=written,
            cost=writer.prices.cost(read, written),
            assumed=f"{_TOKENS_PER_S} tokens/s, {writer.workers} at a time, every world valid at once",
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
        _synthesize(run, settings, on_progress or (lambda *_: None))
        files = [file for split in SPLITS for file in sealed_shards(run.folder("scenarios"), split, "jsonl")]
        run.finish("scenarios", files, results=_results(files))
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


def make_source(config: DistillConfig, split: Split) -> ScenarioSource:
    """The source that the config names. Raises RunError, ModelLoadError."""
    if config.domain != "spine":
        raise RunError(
            f"domain: {config.domain}: scenarios are made for spine only; the planners of other domains are "
            "evaluated with `prism evaluate`, not distilled yet"
        )
    if config.scenarios.source == GENERATOR:
        return Generated(config.scenarios, seed=config.seed, split=split)
    return Written(config.scenarios)


def _synthesize(run: Run, settings: ScenarioSettings, on_progress: OnProgress) -> None:
    folder, total, done = run.folder("scenarios"), sum(map(settings.count, SPLITS)), 0

    def items() -> Iterator[Item]:
        nonlocal done
        for split, number in _shards(settings):
            indices = _indices(settings, split, number)
            path = shard_path(folder, split, number, "jsonl")
            missing = gathering.begin(path, [_key(index) for index in indices])
            done += len(indices) - len(missing)
            yield from ((split, index) for index in indices if _key(index) in missing)

    make: Callable[[], _Maker] = partial(_Maker, run.config)
    executor, workers = _executor(settings)
    if executor == "threads":
        # One writer for all, which knows what the others wrote.
        make = partial(_same, _Maker(run.config, Written(settings)))
    with (
        Gathering(_write) as gathering,
        closing(each(make, items(), executor=executor, workers=workers)) as finished,
    ):
        for (split, index), scenario in finished:
            path = shard_path(folder, split, index // settings.shard, "jsonl")
            gathering.add(path, _key(index), scenario)
            done += 1
            on_progress(done, total)


class _Maker:
    """Makes scenarios of all splits."""

    def __init__(self, config: DistillConfig, written: Written | None = None) -> None:
        self._config = config
        self._written = written
        self._generated: dict[Split, ScenarioSource] = {}

    def __call__(self, item: Item) -> dict[str, Any]:
        split, index = item
        if self._written is not None:
            scenario = self._written.scenario(_FIRST[split] + index)
            return to_document(scenario.model_copy(update={"name": f"{split}-written-{index}"}))
        if split not in self._generated:
            self._generated[split] = make_source(self._config, split)
        return to_document(self._generated[split].scenario(index))


def _same(maker: _Maker) -> _Maker:
    return maker


def _executor(settings: ScenarioSettings) -> tuple[Executor, int]:
    if settings.source == GENERATOR:
        return "processes", settings.workers or cores()
    return "threads", settings.writer.workers


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
    return {"domain": config.domain, "scenarios": decisive, "weights": model_digest(settings.source)}
