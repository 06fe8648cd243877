"""Stage 2: episodes of a teacher in closed loop, with what the world gives away hidden at random, and what
becomes of each (PRISM paper, sections 3.2 and 4.4)."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from prism_distill.config import DistillConfig, ElicitationSettings
from prism_distill.conversation import messages
from prism_distill.estimate import REQUEST_S, Estimate
from prism_distill.executors import Executor, cores, each
from prism_distill.leakage import layout_of
from prism_distill.run import Run, code_digest
from prism_distill.scenarios.reserved import normalised
from prism_distill.scenarios.splits import SPLITS, number
from prism_distill.shards import Gathering, Shard, sealed_shards
from prism_planner.domains.domain import Domain, Style
from prism_planner.domains.registry import load_domain
from prism_planner.domains.trace import PlanTrace, TurnTiming
from prism_planner.evaluation.episode import EXPERT, EpisodeOptions, EpisodeResult, default_style, run_episode
from prism_planner.language.model import LanguageModel, LanguageModelError, Limits, Message
from prism_planner.language.registry import ENDPOINT_PREFIX, load_model, model_digest
from prism_planner.worlds.envelope import Mask
from prism_planner.worlds.spine_scenario import SpineScenario, SpineTask

FORMAT_KEY = "prism_format"
TRACES_FORMAT = "prism-traces/1"

_ATTEMPTS = 2
_SAMPLE = 8
_ENDPOINT_WORKERS = 8
_BYTES_PER_TOKEN = 3


@dataclass
class Tally:
    """Episodes: all, those that are finished, and those that this command finished but dropped."""

    total: int
    done: int = 0
    dropped: int = 0


OnProgress = Callable[[Tally], None]


@dataclass(frozen=True, slots=True)
class Item:
    """Episodes of one scenario. shard: where their rows go. line: of the scenario in its own shard.
    scenario: as JSON. episodes: as (number of the mask, number of the task)."""

    shard: Path
    line: int
    scenario: str
    split: str
    episodes: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows by episode. error: why the model is gone; then some episodes have no row."""

    rows: dict[tuple[int, int], dict[str, Any]]
    error: str = ""


def elicit(run: Run, *, fresh: bool = False, on_progress: OnProgress | None = None) -> bool:
    """Run the teacher in every scenario of `run`, as far as that is not done; whether there was work to do.

    Raises RunError, WorkError, and LanguageModelError when the model is gone; what was finished is kept.
    """
    settings = run.config.elicitation
    # What a paid model said is not thrown away because the code has changed since.
    code = code_digest() if settings.teacher == EXPERT else ""
    if not run.begin("elicitation", _inputs(run), code=code, fresh=fresh):
        return False
    with run.working("elicitation"):
        _elicit(run, settings, on_progress or (lambda _: None))
        run.finish("elicitation", trace_shards(run), results=_results(run))
    return True


def trace_shards(run: Run) -> list[Path]:
    return [file for split in SPLITS for file in sealed_shards(run.folder("elicitation"), split, "parquet")]


def estimate(run: Run, *, fresh: bool = False) -> Estimate:
    """What the episodes that are still to be run (with `fresh` all) will take: the expert runs a few of
    them, whose dialogue, for a model, is counted in tokens. Raises RunError while there are no scenarios."""
    config, settings = run.config, run.config.elicitation
    run.output("scenarios")
    episodes = 0
    sample: list[Item] = []

    def missing(path: Path, keys: Collection[str]) -> set[str]:
        shard = Shard(path)
        return set(keys) if fresh else set() if shard.sealed else set(keys) - shard.keys()

    for item in _items(run, missing):
        episodes += len(item.episodes)
        if len(sample) < _SAMPLE:
            sample.append(item)
    expert = Teacher(config.domain, settings.model_copy(update={"teacher": EXPERT}), config.seed)
    began = time.perf_counter()
    rows = [row for item in sample for row in expert(item).rows.values()]
    scale = episodes / max(1, len(rows))
    if settings.teacher == EXPERT:
        return Estimate(episodes, "episodes", (time.perf_counter() - began) * scale / _workers(settings))
    domain = load_domain(config.domain)
    sizes = [size for row in rows for size in _requests(domain, row, config)]
    requests, read, written = (
        round(scale * value)
        for value in (len(sizes), sum(size[0] for size in sizes), sum(size[1] for size in sizes))
    )
    return Estimate(
        episodes,
        "episodes",
        requests * REQUEST_S / _workers(settings),
        requests=requests,
        prompt_tokens=read,
        completion_tokens=written,
        cost=settings.prices.cost(read, written),
        assumed=f"{REQUEST_S:g} s a request, {_workers(settings)} at a time, as many steps as the expert",
    )


class Teacher:
    """Runs episodes of scenarios with one domain and one teacher, loaded once."""

    def __init__(self, domain: str, settings: ElicitationSettings, seed: int) -> None:
        """Raises UnknownDomainError and ModelLoadError."""
        self._domain: Domain[Any, Any] = load_domain(domain)
        self._settings = settings
        self._seed = seed
        self._model: LanguageModel | None = None
        if settings.teacher != EXPERT:
            self._model = load_model(settings.teacher)

    def __call__(self, item: Item) -> Outcome:
        scenario = SpineScenario.model_validate_json(item.scenario)
        if not self._settings.masking:
            scenario = revealed(scenario)
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        for mask, task in item.episodes:
            for _ in range(_ATTEMPTS):
                result, trace = self._episode(scenario, mask, task)
                outcome = trace.outcome
                if outcome is None or outcome.reason != "model_error":
                    break
            else:
                # Either this episode is too much for the model, or the model is gone.
                if error := self._gone():
                    return Outcome(rows, error)
            rows[mask, task] = _row(scenario, result, trace, item.split, self._settings)
        return Outcome(rows)

    def _gone(self) -> str:
        """Why the model does not even answer a greeting; empty when it does."""
        assert self._model is not None
        try:
            self._model.generate([Message("user", "Hello")], limits=Limits(max_tokens=8))
        except LanguageModelError as error:
            return str(error)
        return ""

    def _episode(self, scenario: SpineScenario, mask: int, task: int) -> tuple[EpisodeResult, PlanTrace]:
        seed = mask_seed(self._seed, scenario.name, mask)
        return run_episode(
            domain=self._domain,
            model=self._model,
            scenario=scenario,
            task=task,
            options=EpisodeOptions(
                mask=draw_mask(self._settings, seed),
                seed=seed,
                style=_style(self._settings),
                max_steps=self._settings.max_steps,
            ),
        )


def mask_seed(seed: int, scenario: str, mask: int) -> int:
    """The seed of mask number `mask` of a scenario: one for all its tasks, so that they begin alike."""
    return number(f"mask:{seed}:{scenario}:{mask}") % 2**31


def draw_mask(settings: ElicitationSettings, seed: int) -> Mask:
    """Which share of regions and of objects is hidden besides."""
    if not settings.masking:
        return Mask()
    rng = random.Random(seed)
    return Mask(regions=rng.uniform(*settings.mask), objects=rng.uniform(*settings.mask))


def revealed(scenario: SpineScenario) -> SpineScenario:
    """The scenario with nothing hidden but what a closer look tells."""
    world = scenario.world
    shown = {
        "regions": tuple(region.model_copy(update={"hidden": False}) for region in world.regions),
        "objects": tuple(thing.model_copy(update={"hidden": False}) for thing in world.objects),
    }
    return scenario.model_copy(update={"world": world.model_copy(update=shown)})


def judge_trace(success: bool, trace: PlanTrace, *, max_ineffective: int) -> str:
    """Why an episode is not one to learn from; empty when it is.

    `unsuccessful`, how it was given up (`step_limit`, `loop`, `invalid_plans`, ...), or `ineffective`: an
    action was repeated that had changed nothing.
    """
    outcome = trace.outcome
    if outcome is None or outcome.status != "succeeded":
        return (outcome.reason or outcome.status) if outcome is not None else "unfinished"
    if not success:
        return "unsuccessful"
    in_vain = Counter(
        turn.skill for turn, after in zip(trace.turns, trace.turns[1:], strict=False) if not after.observation
    )
    return "ineffective" if any(times > max_ineffective for times in in_vain.values()) else ""


def _elicit(run: Run, settings: ElicitationSettings, on_progress: OnProgress) -> None:
    tally = Tally(total=settings.masks * run.manifest.stages["scenarios"].results["tasks"])
    gone = ""

    def begin(path: Path, keys: Collection[str]) -> set[str]:
        missing = gathering.begin(path, keys)
        tally.done += len(keys) - len(missing)
        return missing

    def items() -> Iterator[Item]:
        for item in _items(run, begin):
            if gone:
                return
            yield from _parts(item, settings)

    make = partial(Teacher, run.config.domain, settings, run.config.seed)
    with (
        Gathering(_write) as gathering,
        closing(each(make, items(), executor=_executor(settings), workers=_workers(settings))) as finished,
    ):
        for item, outcome in finished:
            for episode, row in outcome.rows.items():
                gathering.add(item.shard, _key(item.line, *episode), row)
                tally.done += 1
                tally.dropped += not row["accepted"]
            # Whoever is at work still ends its episode, which is kept; nothing new is begun.
            gone = gone or outcome.error
            on_progress(tally)
    if gone:
        raise LanguageModelError(
            f"{settings.teacher} does not answer any more: {gone}. {tally.done:,} of {tally.total:,} "
            "episodes are finished and kept: run the same command again to go on"
        )


def _items(run: Run, begin: Callable[[Path, Collection[str]], set[str]]) -> Iterator[Item]:
    """The episodes that are to be run, by scenario. begin: of the keys of a shard's rows, those it lacks."""
    for split in SPLITS:
        for source in sealed_shards(run.folder("scenarios"), split, "jsonl"):
            target = run.folder("elicitation") / f"{source.stem}.parquet"
            scenarios = _lines(source)
            keys = {
                _key(line, mask, task): (line, mask, task)
                for line, scenario in enumerate(scenarios)
                for mask in range(run.config.elicitation.masks)
                for task in range(len(json.loads(scenario)["tasks"]))
            }
            missing = sorted(keys[key] for key in begin(target, keys.keys()))
            for line, episodes in groupby(missing, key=itemgetter(0)):
                yield Item(target, line, scenarios[line], split, tuple((m, t) for _, m, t in episodes))


def _parts(item: Item, settings: ElicitationSettings) -> Iterator[Item]:
    """The expert is quick; of a model as little as possible is lost by a kill."""
    if settings.teacher == EXPERT:
        yield item
    else:
        for episode in item.episodes:
            yield replace(item, episodes=(episode,))


def _lines(path: Path) -> list[str]:
    # Not splitlines(): JSON strings may hold U+2028 and its like, which that would split at.
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _key(line: int, mask: int, task: int) -> str:
    return f"{line:06}:{mask:03}:{task:03}"


def _row(
    scenario: SpineScenario,
    result: EpisodeResult,
    trace: PlanTrace,
    split: str,
    settings: ElicitationSettings,
) -> dict[str, Any]:
    task: SpineTask = scenario.tasks[result.task]
    world = layout_of(scenario)
    reason = judge_trace(result.success, trace, max_ineffective=settings.max_ineffective)
    usable = bool(trace.turns) and trace.turns[0].plan is not None
    for turn in trace.turns:
        # Not part of what is learnt, and the same episode is the same row.
        turn.timing = TurnTiming()
    return {
        "scenario": scenario.name,
        "task": result.task,
        "cell": result.cell,
        "instruction": result.instruction,
        "split": split,
        "world": world if task.start is None else f"{world}@{task.start}",
        "phrasing": f"{number(normalised(result.instruction)):016x}",
        "intent": str((task.intent or {}).get("kind", "unknown")),
        "mask_seed": trace.header.seed,
        "accepted": usable and (not reason or not settings.validation),
        "reason": reason,
        "detail": result.reason,
        "turns": result.turns,
        "prompt_tokens": sum(turn.sent_tokens for turn in trace.turns),
        "completion_tokens": sum(turn.generated_tokens for turn in trace.turns),
        "trace": "\n".join(trace.lines()),
    }


def _write(path: Path, rows: list[Any]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, whole_number = pa.string(), pa.int64()
    kinds = {"task": whole_number, "mask_seed": whole_number, "turns": whole_number, "accepted": pa.bool_()}
    kinds |= {"prompt_tokens": whole_number, "completion_tokens": whole_number}
    schema = pa.schema(
        [(name, kinds.get(name, text)) for name in rows[0]], metadata={FORMAT_KEY: TRACES_FORMAT}
    )
    pq.write_table(pa.Table.from_pylist(rows, schema), path, compression="zstd")


def _results(run: Run) -> dict[str, Any]:
    """Figures of all traces, also of those that earlier commands gathered."""
    import pyarrow.parquet as pq

    settings = run.config.elicitation
    columns = ["accepted", "reason", "prompt_tokens", "completion_tokens"]
    episodes = kept = prompt = completion = 0
    reasons: Counter[str] = Counter()
    for file in trace_shards(run):
        for row in pq.read_table(file, columns=columns).to_pylist():
            episodes += 1
            kept += row["accepted"]
            reasons[row["reason"]] += bool(row["reason"])
            prompt += row["prompt_tokens"]
            completion += row["completion_tokens"]
    results: dict[str, Any] = {"episodes": episodes, "kept": kept, "failed": dict((+reasons).most_common())}
    if settings.teacher != EXPERT:
        results |= {"prompt_tokens": prompt, "completion_tokens": completion}
        results["cost"] = settings.prices.cost(prompt, completion)
    return results


def _inputs(run: Run) -> dict[str, Any]:
    """All that the traces depend on. Raises RunError while there are no scenarios, ModelLoadError."""
    settings = run.config.elicitation
    decisive = settings.model_dump(mode="json", exclude={"executor", "workers", "prices", "max_cost"})
    return {
        "seed": run.config.seed,
        "domain": run.config.domain,
        "scenarios": run.output("scenarios"),
        "elicitation": decisive | {"style": _style(settings)},
        "weights": EXPERT if settings.teacher == EXPERT else model_digest(settings.teacher),
    }


def _requests(
    domain: Domain[Any, Any], row: dict[str, Any], config: DistillConfig
) -> Iterator[tuple[int, int]]:
    """Tokens read and written by each request of an episode, were a model to run it."""
    trace = PlanTrace.from_lines(row["trace"].split("\n"), source=row["scenario"])
    style = _style(config.elicitation)
    dialogue = messages(domain, trace, context_length=config.base.context_length, style=style)
    sizes = [-(-len(message.content.encode()) // _BYTES_PER_TOKEN) for message in dialogue]
    before = len(domain.system(style))
    for turn in range(before + 1, len(dialogue), 2):
        yield sum(sizes[:turn]), sizes[turn]


def _style(settings: ElicitationSettings) -> Style:
    return settings.style or default_style(settings.teacher)


def _executor(settings: ElicitationSettings) -> Executor:
    if settings.executor != "auto":
        return settings.executor
    return "threads" if settings.teacher.startswith(ENDPOINT_PREFIX) else "processes"


def _workers(settings: ElicitationSettings) -> int:
    if settings.workers is not None:
        return settings.workers
    if settings.teacher == EXPERT:
        return cores()
    return _ENDPOINT_WORKERS if settings.teacher.startswith(ENDPOINT_PREFIX) else 1
