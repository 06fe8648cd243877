"""LoRA fine-tuning on all actions of an episode at once (PRISM paper, section 3.3, equation 2).

transformers loads the base, PEFT holds the adapter, accelerate joins processes; the arithmetic is in
`prism_distill.training.fused`.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from prism_distill.training import checkpoint
from prism_distill.training.data import Example, deal, make_trees
from prism_distill.training.fused import Batch, FusedLlama, Tree
from prism_distill.training.settings import EXTENDING, INDECISIVE, TrainingSettings
from prism_planner.cli.errors import CommandError

if TYPE_CHECKING:
    from prism_distill.base_model import BaseModel

LOG = "training.jsonl"
ADAPTER = "adapter"
CHECKPOINTS = "checkpoints"
# A tree is evaluated at a time, and memory grows with it; larger steps are summed from several.
_TOKENS_PER_TREE = 4096
_BETAS = (0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Progress:
    """After a step: loss per supervised token, the rate, and tokens a second since the last report."""

    step: int
    steps: int
    loss: float
    rate: float
    tokens_per_s: float
    supervised_per_s: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Validation:
    """On validation data. loss: per supervised token. tokens: share whose most likely token is right.
    turns: share of answers right in every token, given what was right before. success: share of
    validation tasks solved by the planner in closed loop; None where it was not tried."""

    step: int
    loss: float
    tokens: float
    turns: float
    success: float | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """What training came to. adapter: the PEFT directory of the best step; stopped: whether it ended
    before the last step for lack of progress."""

    adapter: Path
    step: int
    steps: int
    stopped: bool
    validations: tuple[Validation, ...]


OnProgress = Callable[[Progress], None]
OnValidation = Callable[[Validation], None]
Try = Callable[[Path], float]
"""Closed-loop success of the planner with the adapter in that PEFT directory."""


def train(
    *,
    base: BaseModel,
    training: Sequence[Example],
    validation: Sequence[Example],
    settings: TrainingSettings,
    directory: Path,
    try_planner: Try | None = None,
    on_progress: OnProgress | None = None,
    on_validation: OnValidation | None = None,
) -> Trained:
    """Train an adapter for `base`; goes on from the newest checkpoint in `directory`.

    The best step is that of the highest success in closed loop, or of the lowest validation loss where
    `try_planner` is None. Raises CheckpointError, ModelLoadError, and CommandError where there is nothing to
    train on.
    """
    run = _Run(base, training, validation, settings, directory, try_planner)
    return run.run(on_progress or (lambda _: None), on_validation or (lambda _: None))


def learning_rate(step: int, steps: int, settings: TrainingSettings) -> float:
    """Of step number `step` from 0. Before `decay_start` it does not depend on `steps`."""
    if step < settings.warmup:
        return settings.learning_rate * (step + 1) / settings.warmup
    falling = max(0, step + 1 - decay_start(steps, settings)) / max(1, steps - decay_start(steps, settings))
    return settings.learning_rate * (1 - (1 - settings.final_rate) * falling)


def decay_start(steps: int, settings: TrainingSettings) -> int:
    """The step behind which the rate falls."""
    return max(min(settings.warmup, steps), steps - round(settings.decay * steps))


class _Run:
    def __init__(
        self,
        base: BaseModel,
        training: Sequence[Example],
        validation: Sequence[Example],
        settings: TrainingSettings,
        directory: Path,
        try_planner: Try | None,
    ) -> None:
        from accelerate import Accelerator

        self._settings = settings
        self._directory = directory
        self._try = try_planner
        trees = [
            make_trees(examples, max_tokens=settings.max_tokens, tokens_per_tree=_TOKENS_PER_TREE)
            for examples in (training, validation)
        ]
        self._training, self._validation = trees
        if not self._training:
            raise CommandError(
                "there is no episode to train on: none has a whole turn within `training.max_tokens`"
            )
        self._steps = list(self._plan())
        self._fingerprint = _fingerprint(self._training, settings, base.name)
        _keep_freed_memory()
        self._accelerator = Accelerator()
        self._device = self._accelerator.device
        torch.manual_seed(settings.seed)
        self._model = add_lora(base, settings).to(self._device)
        dtype = choose_precision(settings.precision, self._device)
        self._fused = FusedLlama(self._model, dtype=dtype)
        self._parameters = [p for p in self._model.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._parameters, lr=settings.learning_rate, betas=_BETAS, weight_decay=settings.weight_decay
        )
        self._validations: list[Validation] = []
        self._best: Validation | None = None

    def run(self, on_progress: OnProgress, on_validation: OnValidation) -> Trained:
        steps, settings = len(self._steps), self._settings
        step = self._resume()
        due = _due(steps, settings.evaluations)
        clock = _Clock()
        saved = time.monotonic()
        stopped = self._out_of_patience()
        while step < steps and not stopped:
            loss = self._step(step)
            step += 1
            measured = clock.step(self._size(step - 1))
            progress = clock.progress(step, steps, loss, learning_rate(step - 1, steps, settings))
            self._log(asdict(progress) | measured)
            on_progress(progress)
            if step in due or step == steps:
                on_validation(self._validate(step))
                stopped = self._out_of_patience()
            due_now = step in due or step in (steps, decay_start(steps, settings))
            if due_now or time.monotonic() - saved > 60 * settings.checkpoint_minutes:
                self._save(step)
                saved = time.monotonic()
        if self._best is None:
            # A longer run, made shorter again, may go on from its own last step, which it never judged.
            on_validation(self._validate(step))
            self._save(step)
        best = self._best
        assert best is not None
        return Trained(
            adapter=self._directory / ADAPTER,
            step=best.step,
            steps=steps,
            stopped=stopped,
            validations=tuple(self._validations),
        )

    def _plan(self) -> Iterator[list[int]]:
        settings = self._settings
        epoch = 0
        left = settings.epochs
        while left > 0:
            steps = deal(
                self._training, tokens_per_step=settings.tokens_per_step, seed=settings.seed, epoch=epoch
            )
            yield from steps[: max(1, round(min(left, 1.0) * len(steps)))]
            epoch, left = epoch + 1, left - 1

    def _size(self, step: int) -> tuple[int, int]:
        trees = [self._training[i] for i in self._steps[step]]
        return sum(map(len, trees)), sum(sum(tree.supervised) for tree in trees)

    def _step(self, step: int) -> float:
        """Change the weights once; the loss before."""
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(step, len(self._steps), self._settings)
        batches = [Batch.of([self._training[i]], self._device) for i in self._steps[step]]
        supervised = sum(batch.supervised for batch in batches)
        mine = batches[self._accelerator.process_index :: self._accelerator.num_processes]
        total = torch.zeros((), device=self._device)
        for batch in mine:
            loss = self._fused.loss(batch) * (batch.supervised / supervised)
            loss.backward()
            total += loss.detach()
        if self._accelerator.num_processes > 1:
            for parameter in self._parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                parameter.grad = self._accelerator.reduce(parameter.grad, "sum")
            total = self._accelerator.reduce(total, "sum")
        torch.nn.utils.clip_grad_norm_(self._parameters, self._settings.clip)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return float(total)

    def _validate(self, step: int) -> Validation:
        from accelerate.utils import broadcast_object_list

        losses = tokens = turns = count = answers = 0.0
        for tree in self._validation:
            batch = Batch.of([tree], self._device)
            loss, right = self._fused.assess(batch)
            losses += float(loss)
            whole = torch.ones(int(batch.turns[-1]) + 1, dtype=torch.bool, device=self._device)
            whole[batch.turns[~right]] = False
            tokens += float(right.sum())
            turns += float(whole.sum())
            count += batch.supervised
            answers += len(whole)
        current = self._directory / "candidate"
        success = None
        if self._accelerator.is_main_process:
            checkpoint.save_adapter(self._model, current)
            success = self._try(current) if self._try is not None else None
            shutil.rmtree(current, ignore_errors=True)
        # All processes have to end together when there is no progress any more.
        success = broadcast_object_list([success])[0]
        validation = Validation(
            step=step,
            loss=losses / max(count, 1),
            tokens=tokens / max(count, 1),
            turns=turns / max(answers, 1),
            success=success,
        )
        if self._best is None or _quality(validation) > _quality(self._best):
            self._best = validation
            if self._accelerator.is_main_process:
                checkpoint.save_adapter(self._model, self._directory / ADAPTER)
        self._validations.append(validation)
        self._log(asdict(validation))
        return validation

    def _out_of_patience(self) -> bool:
        if self._best is None or self._best.success is None:
            return False
        since = [v for v in self._validations if v.step > self._best.step]
        return len(since) >= self._settings.patience

    def _save(self, step: int) -> None:
        if not self._accelerator.is_main_process:
            return
        state = {
            "step": step,
            "optimizer": self._optimizer.state_dict(),
            "steps": len(self._steps),
            "fingerprint": self._fingerprint,
            "validations": [asdict(validation) for validation in self._validations],
        }
        start = decay_start(len(self._steps), self._settings)
        checkpoint.save(self._directory / CHECKPOINTS, step, model=self._model, state=state, keep_until=start)

    def _resume(self) -> int:
        steps = len(self._steps)
        for found in checkpoint.newest_first(self._directory / CHECKPOINTS):
            state = checkpoint.read_state(found, fingerprint=self._fingerprint)
            # Of a run of another length, what was trained at a falling rate is of no use.
            kept = min(decay_start(n, self._settings) for n in (int(state["steps"]), steps))
            if state["steps"] == steps or state["step"] <= kept:
                break
        else:
            (self._directory / LOG).unlink(missing_ok=True)
            return 0
        checkpoint.read_adapter(found, model=self._model)
        self._optimizer.load_state_dict(state["optimizer"])
        # The best of a shorter run may have been trained at a falling rate: a longer one is judged anew.
        known = state["validations"] if state["steps"] == steps else []
        self._validations = [Validation(**validation) for validation in known]
        self._best = max(self._validations, key=_quality, default=None)
        step = int(state["step"])
        _forget_after(self._directory / LOG, step)
        return step

    def _log(self, record: dict[str, Any]) -> None:
        if not self._accelerator.is_main_process:
            return
        log = self._directory / LOG
        with checkpoint.writing(log):
            self._directory.mkdir(parents=True, exist_ok=True)
            with log.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")


class _Clock:
    """Throughput over the last steps."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()
        self._first: int | None = None
        self._rates = (0.0, 0.0)

    def step(self, size: tuple[int, int]) -> dict[str, float]:
        """Note the size of a step that has just ended: tokens, and those supervised."""
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        kept = 0.9 if any(self._rates) else 0.0
        self._rates = (
            kept * self._rates[0] + (1 - kept) * size[0] / seconds,
            kept * self._rates[1] + (1 - kept) * size[1] / seconds,
        )
        return {"tokens": size[0], "supervised": size[1], "seconds": seconds}

    def progress(self, step: int, steps: int, loss: float, rate: float) -> Progress:
        if self._first is None:
            self._first = step - 1
        mean = (time.monotonic() - self._began) / (step - self._first)
        return Progress(step, steps, loss, rate, *self._rates, seconds_left=mean * (steps - step))


def add_lora(base: BaseModel, settings: TrainingSettings) -> Any:
    """The base in float32 under a fresh adapter, as a PEFT model."""
    from peft import LoraConfig, get_peft_model

    targets = settings.targets if isinstance(settings.targets, str) else list(settings.targets)
    config = LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(base.weights(torch.float32), config)
    # What save_pretrained notes as the base, for the reader and for export.
    model.peft_config["default"].base_model_name_or_path = base.name
    return model


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """What `training.precision` stands for on this device."""
    if wanted != "auto":
        dtype: torch.dtype = getattr(torch, wanted)
        return dtype
    if device.type != "cpu":
        return torch.bfloat16
    # Not every processor multiplies bfloat16 faster than float32.
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.randn(1024, 1024).to(dtype), torch.randn(1024, 1024).to(dtype)
        a @ b
        began = time.perf_counter()
        for _ in range(5):
            a @ b
        seconds[dtype] = time.perf_counter() - began
    return min(seconds, key=lambda dtype: seconds[dtype])


def _quality(validation: Validation) -> tuple[float, float]:
    return (-1.0 if validation.success is None else validation.success, -validation.loss)


def _due(steps: int, evaluations: int) -> set[int]:
    return {round(steps * (i + 1) / evaluations) for i in range(evaluations)}


def _fingerprint(trees: Sequence[Tree], settings: TrainingSettings, base: str) -> str:
    digest = hashlib.sha256(base.encode())
    digest.update(settings.model_dump_json(exclude=set(INDECISIVE | EXTENDING)).encode())
    for tree in trees:
        digest.update(json.dumps([tree.tokens, tree.bounds]).encode())
    return digest.hexdigest()


def _forget_after(log: Path, step: int) -> None:
    """Drop records of steps that will be done again."""
    if not log.is_file():
        return
    kept = []
    for line in log.read_text(encoding="utf-8").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["step"] <= step:
            kept.append(line + "\n")
    partial = log.with_name(f".{log.name}.partial")
    partial.write_text("".join(kept), encoding="utf-8")
    partial.replace(log)


def _keep_freed_memory() -> None:
    """Let glibc reuse large blocks: returned to the system, each costs its page faults again."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mmap_threshold, trim_threshold = -3, -1
        mallopt(mmap_threshold, 1 << 30)
        mallopt(trim_threshold, (1 << 31) - 1)
