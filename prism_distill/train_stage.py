"""Stage 3: an adapter trained on a run's dataset, tried in closed loop on validation tasks as it learns."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prism_distill.base_model import BaseModel, find_base
from prism_distill.config import DistillConfig
from prism_distill.conversation import Conversation, messages, tokenise
from prism_distill.curves import draw_curves
from prism_distill.dataset import Row, count_rows, read_rows
from prism_distill.elicitation import draw_mask, mask_seed
from prism_distill.run import Run, file_digest
from prism_distill.scenarios.splits import Split
from prism_distill.shards import sealed_shards
from prism_distill.training.settings import EXTENDING, INDECISIVE
from prism_planner.domains.registry import load_domain
from prism_planner.evaluation.episode import EpisodeOptions, run_episode
from prism_planner.language.registry import load_model
from prism_planner.worlds.spine_scenario import SpineScenario

if TYPE_CHECKING:
    from prism_distill.training.data import Example
    from prism_distill.training.trainer import OnProgress, OnValidation, Trained, Validation

LOG = "training.jsonl"
CURVES = "training.png"

OnRead = Callable[[int, int], None]
"""Called with the number of episodes that are tokenised, and all."""
OnTrial = Callable[[int, int, int], None]
"""Called with the number of tasks that were tried, those of them that were solved, and all."""


def is_main_process() -> bool:
    """Whether this is the first of the processes that accelerate or torchrun starts, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


def train_run(
    run: Run,
    *,
    fresh: bool = False,
    on_read: OnRead | None = None,
    on_progress: OnProgress | None = None,
    on_validation: OnValidation | None = None,
    on_trial: OnTrial | None = None,
) -> bool:
    """Train, or go on from the newest checkpoint; whether there was work to do.

    Raises RunError, CheckpointError, ModelLoadError.
    """
    base = find_base(run.config.base.model)
    leads = is_main_process()
    extend = {f"training.{name}" for name in EXTENDING}
    if leads and not run.begin("training", _inputs(run, base), fresh=fresh, extend=extend):
        return False
    if not leads:
        _train(run, base, on_read, on_progress, on_validation, None)
        return True

    def validated(validation: Validation) -> None:
        draw_curves(run.directory / LOG, run.directory / CURVES)
        if on_validation is not None:
            on_validation(validation)

    with run.working("training"):
        trained = _train(run, base, on_read, on_progress, validated, _trial(run, base, on_trial))
        run.finish("training", sorted((run.directory / "adapter").iterdir()), results=_results(trained))
    return True


def conversations(
    folder: Path, split: Split, config: DistillConfig, base: BaseModel
) -> Iterator[tuple[Row, Conversation]]:
    """The rows of a split as the planner will read them. Raises DatasetError, TraceError."""
    domain = load_domain(config.domain)
    for row in read_rows(folder, split):
        dialogue = messages(domain, row.plan_trace(), context_length=config.base.context_length)
        yield row, tokenise(dialogue, base.form, base.tokenizer)


def planner_name(config: DistillConfig, base: BaseModel, adapter: Path) -> str | None:
    """What `load_model` calls the planner with an adapter in GGUF; None where llama.cpp has no base."""
    if base.gguf is not None:
        return f"{config.base.model}+{adapter}"
    return f"{config.export.base_gguf}+{adapter}" if config.export.base_gguf is not None else None


def _train(
    run: Run,
    base: BaseModel,
    on_read: OnRead | None,
    on_progress: OnProgress | None,
    on_validation: OnValidation | None,
    trial: Callable[[Path], float] | None,
) -> Trained:
    from prism_distill.training.trainer import train

    folder = run.folder("dataset")
    splits: tuple[Split, Split] = ("train", "validation")
    total = sum(count_rows(folder, split) for split in splits)
    done = 0

    def read(split: Split) -> Iterator[Example]:
        from prism_distill.training.data import Example

        nonlocal done
        for row, conversation in conversations(folder, split, run.config, base):
            yield Example((row.world, row.mask_seed), conversation)
            done += 1
            if on_read is not None:
                on_read(done, total)

    return train(
        base=base,
        training=list(read("train")),
        validation=list(read("validation")),
        settings=run.config.training,
        directory=run.directory,
        try_planner=trial,
        on_progress=on_progress,
        on_validation=on_validation,
    )


def _trial(run: Run, base: BaseModel, on_trial: OnTrial | None) -> Callable[[Path], float] | None:
    """Tries an adapter on validation tasks; None where llama.cpp has no base to put it on."""
    config = run.config
    if planner_name(config, base, Path("adapter.gguf")) is None:
        return None
    tasks = list(validation_tasks(run, config.training.validation_episodes))
    return partial(_try, config, base, tasks, on_trial or (lambda *_: None))


def _try(
    config: DistillConfig,
    base: BaseModel,
    tasks: list[tuple[SpineScenario, int]],
    on_trial: OnTrial,
    adapter: Path,
) -> float:
    """The share of tasks that the planner solves with the adapter of a PEFT directory."""
    from prism_distill.export.adapter import write_adapter
    from prism_distill.export.gguf_file import GgufBase
    from prism_distill.export.peft_adapter import PeftAdapter

    gguf = base.gguf or config.export.base_gguf
    assert gguf is not None
    file = adapter / "adapter.gguf"
    write_adapter(PeftAdapter(adapter), GgufBase(gguf), file)
    name = planner_name(config, base, file)
    assert name is not None
    model = load_model(name)
    domain = load_domain(config.domain)
    solved = 0
    try:
        for done, (scenario, task) in enumerate(tasks, start=1):
            seed = mask_seed(config.seed, scenario.name, 0)
            options = EpisodeOptions(mask=draw_mask(config.elicitation, seed), seed=seed)
            result, _ = run_episode(domain=domain, model=model, scenario=scenario, task=task, options=options)
            solved += result.success
            on_trial(done, solved, len(tasks))
    finally:
        model.close()
    return solved / max(1, len(tasks))


def validation_tasks(run: Run, wanted: int) -> Iterator[tuple[SpineScenario, int]]:
    """Tasks of the validation split, as many of each cell as there are, scenario by scenario."""
    by_cell: dict[str, list[tuple[int, int]]] = defaultdict(list)
    scenarios: list[SpineScenario] = []
    for file in sealed_shards(run.folder("scenarios"), "validation", "jsonl"):
        for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
            scenario = SpineScenario.model_validate_json(line)
            for number, task in enumerate(scenario.tasks):
                by_cell[task.cell].append((len(scenarios), number))
            scenarios.append(scenario)
    queues = [iter(tasks) for _, tasks in sorted(by_cell.items())]
    chosen: list[tuple[int, int]] = []
    while queues and len(chosen) < wanted:
        for queue in list(queues):
            if (task_of := next(queue, None)) is None:
                queues.remove(queue)
            elif len(chosen) < wanted:
                chosen.append(task_of)
    # Tasks of a world one after the other: the model has read it already.
    return ((scenarios[scenario], task) for scenario, task in sorted(chosen))


def _inputs(run: Run, base: BaseModel) -> dict[str, Any]:
    config = run.config
    return {
        "dataset": run.output("dataset"),
        "base": {
            **config.base.model_dump(mode="json"),
            "weights": file_digest(base.gguf) if base.gguf is not None else base.path,
        },
        "training": config.training.model_dump(mode="json", exclude=set(INDECISIVE)),
    }


def _results(trained: Trained) -> dict[str, Any]:
    best = next(v for v in trained.validations if v.step == trained.step)
    return {
        "step": trained.step,
        "steps": trained.steps,
        "stopped_early": trained.stopped,
        "validation_loss": best.loss,
        "validation_success": best.success,
    }
