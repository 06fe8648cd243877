"""Training throughput against plain TRL, on the same episodes, model, batches, precision and machine.

    python benchmarks/training.py --json FILE

Both start from the same adapter and take the same steps: each is one world's episodes, as `prism train`
deals them. TRL's SFTTrainer gets them tokenised, with the same tokens supervised, in the order given.

Keys: speedup_vs_trl (supervised tokens per second, ours/TRL, over all steps but the first),
ours_tokens_per_s, trl_tokens_per_s (supervised), loss_gap (mean absolute difference of the losses of the
same step, in nats per token), ours_losses, trl_losses, evaluated_share (tokens that ours evaluates, of
those that the episodes have), precision, steps. Needs `pip install trl`.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from prism_distill.base_model import BaseModel, find_base
from prism_distill.conversation import Conversation, messages, tokenise
from prism_distill.scenarios import generate_many
from prism_distill.training.data import Example
from prism_distill.training.fused import Tree
from prism_distill.training.settings import TrainingSettings
from prism_distill.training.trainer import Progress, add_lora, choose_precision, train
from prism_planner.domains.registry import load_domain
from prism_planner.evaluation.episode import run_episode

TARGET = 2.0
CONTEXT = 8192


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--base", default="smollm2-135m", help="default: smollm2-135m")
    parser.add_argument("--steps", type=int, default=8, help="steps of each (default: 8)")
    parser.add_argument("--episodes", type=int, default=4, help="episodes of a step (default: 4)")
    parser.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)

    base = find_base(arguments.base)
    worlds = list(episodes(base, arguments.steps, arguments.episodes))
    precision = choose_precision(arguments.precision, torch.device("cpu"))
    settings = TrainingSettings(
        tokens_per_step=1,
        max_tokens=100_000,
        warmup=0,
        decay=0.0,
        evaluations=0,
        precision=str(precision).removeprefix("torch."),
    )
    trl = with_trl(base, worlds, settings)
    ours = with_prism(base, worlds, settings)

    supervised = [sum(sum(c.supervised) for c in world) for world in worlds]
    rates = {
        name: sum(supervised[1:]) / sum(seconds[1:]) for name, (_, seconds) in (("ours", ours), ("trl", trl))
    }
    tokens = sum(len(c) for world in worlds for c in world)
    figures = {
        "speedup_vs_trl": rates["ours"] / rates["trl"],
        "ours_tokens_per_s": rates["ours"],
        "trl_tokens_per_s": rates["trl"],
        "loss_gap": statistics.fmean(abs(a - b) for a, b in zip(ours[0], trl[0], strict=True)),
        "ours_losses": ours[0],
        "trl_losses": trl[0],
        "evaluated_share": sum(len(Tree.of(world)) for world in worlds) / tokens,
        "precision": settings.precision,
        "steps": len(worlds),
    }
    print(f"supervised tokens a second: ours {rates['ours']:.0f}, TRL {rates['trl']:.0f}")
    print(f"speed-up {figures['speedup_vs_trl']:.1f} (target: at least {TARGET:g})")
    print(f"losses of the same step differ by {figures['loss_gap']:.4f} on average; last: "
          f"ours {ours[0][-1]:.3f}, TRL {trl[0][-1]:.3f}")  # fmt: skip
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def episodes(base: BaseModel, steps: int, count: int) -> Iterator[list[Conversation]]:
    """`count` solved episodes in each of `steps` worlds."""
    domain = load_domain("spine")
    found = 0
    for scenario in generate_many(100 * steps, seed=3, split="train"):
        world = []
        for task in range(len(scenario.tasks)):
            result, trace = run_episode(domain=domain, model=None, scenario=scenario, task=task)
            if result.success:
                dialogue = messages(domain, trace, context_length=CONTEXT)
                world.append(tokenise(dialogue, base.form, base.tokenizer))
        if len(world) >= count:
            yield world[:count]
            found += 1
        if found == steps:
            return


Losses = tuple[list[float], list[float]]
"""Of every step: the loss before it, and its seconds."""


def with_prism(base: BaseModel, worlds: list[list[Conversation]], settings: TrainingSettings) -> Losses:
    losses: list[float] = []
    seconds: list[float] = []
    last = time.perf_counter()

    def note(progress: Progress) -> None:
        nonlocal last
        now = time.perf_counter()
        losses.append(progress.loss)
        seconds.append(now - last)
        last = now

    with tempfile.TemporaryDirectory() as directory:
        train(
            base=base,
            training=[Example(i, c) for i, world in enumerate(worlds) for c in world],
            validation=[],
            settings=settings,
            directory=Path(directory),
            on_progress=note,
        )
    return losses, seconds


def with_trl(base: BaseModel, worlds: list[list[Conversation]], settings: TrainingSettings) -> Losses:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    class Clock(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.losses: list[float] = []
            self.seconds: list[float] = []

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.began = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.seconds.append(time.perf_counter() - self.began)

        def on_log(self, *_: Any, logs: dict[str, float], **__: Any) -> None:
            if "loss" in logs:
                self.losses.append(logs["loss"])

    class InOrder(SFTTrainer):  # type: ignore[misc]
        def _get_train_sampler(self, dataset: Any = None) -> Any:
            return torch.utils.data.SequentialSampler(dataset or self.train_dataset)

    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    # Only its padding token is used: the data is tokenised already.
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel({"<pad>": 0}, unk_token="<pad>")),
        pad_token="<pad>",
        eos_token="<pad>",
    )
    order = [c for i in step_order(worlds, settings) for c in worlds[i]]
    rows = Dataset.from_list(
        [
            {
                "input_ids": c.tokens,
                "labels": [t if s else -100 for t, s in zip(c.tokens, c.supervised, strict=True)],
            }
            for c in order
        ]
    )
    torch.manual_seed(settings.seed)
    model = add_lora(base, settings)
    clock = Clock()
    with tempfile.TemporaryDirectory() as directory:
        trainer = InOrder(
            model=model,
            args=SFTConfig(
                output_dir=directory,
                per_device_train_batch_size=len(worlds[0]),
                max_steps=len(worlds),
                learning_rate=settings.learning_rate,
                lr_scheduler_type="constant",
                adam_beta2=0.95,
                weight_decay=0.0,
                max_grad_norm=settings.clip,
                bf16=settings.precision == "bfloat16",
                use_cpu=True,
                gradient_checkpointing=False,
                logging_steps=1,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
                max_length=None,
                dataset_kwargs={"skip_prepare_dataset": True},
            ),
            train_dataset=rows,
            processing_class=tokenizer,
            callbacks=[clock],
        )
        trainer.train()
    return clock.losses, clock.seconds


def step_order(worlds: list[list[Conversation]], settings: TrainingSettings) -> list[int]:
    """The world of each step, as `prism train` deals them."""
    from prism_distill.training.data import deal

    steps = deal([Tree.of(w) for w in worlds], tokens_per_step=1, seed=settings.seed, epoch=0)
    return [step[0] for step in steps]


if __name__ == "__main__":
    main()
