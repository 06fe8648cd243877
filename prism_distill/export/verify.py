"""Whether llama.cpp with an exported model says what transformers says with the trained one.

Transformers continues each prompt greedily, and llama.cpp is asked for its logits at every position of that
continuation. It would write the same continuation if and only if its most likely token is the same at each:
its logits depend on the tokens before alone (`prism_planner.language.llama_context`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from prism_distill.conversation import Conversation
from prism_distill.export.errors import ExportError
from prism_planner.evaluation.metrics import Rate, rate
from prism_planner.language.llama import default_threads
from prism_planner.language.llama_context import BATCH, LlamaContext

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Logits = NDArray[np.float32]
OnPrompt = Callable[[int, int], None]
"""Called with the number of prompts that are compared, and of all."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A GGUF model as llama.cpp runs it: a base or merged model, with a GGUF LoRA or without."""

    model: Path
    adapter: Path | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """identical: continuations that are the same in every token. top1: share of positions whose most likely
    token is the same. max_difference, mean_difference: of logits, absolute. divergence: of llama.cpp's
    distribution from transformers', Kullback-Leibler, mean over positions, in nats. positions: compared.
    first_differences: of each prompt in order, the position of the first other token; None for none.
    """

    identical: Rate
    top1: float
    max_difference: float
    mean_difference: float
    divergence: float
    positions: int
    first_differences: tuple[int | None, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "prompts": self.identical.episodes,
            "identical": self.identical.value,
            "ci_low": self.identical.low,
            "ci_high": self.identical.high,
            "top1": self.top1,
            "max_difference": self.max_difference,
            "mean_difference": self.mean_difference,
            "divergence": self.divergence,
            "positions": self.positions,
            "first_differences": list(self.first_differences),
        }


def compare(
    reference: PreTrainedModel,
    exported: Sequence[Exported],
    prompts: Sequence[Sequence[int]],
    *,
    tokens: int = 48,
    threads: int | None = None,
    on_prompt: OnPrompt = lambda _done, _all: None,
) -> list[Agreement]:
    """Compare each of `exported` with `reference`, a transformers or PEFT model, on prompts of token ids.

    tokens: of a continuation, at most; it ends where llama.cpp sees an end of generation. threads: of
    llama.cpp; by default as on a robot. Raises ExportError for prompts that do not fit and for models with
    another vocabulary, and ModelLoadError.
    """
    if not prompts or not all(prompts):
        raise ExportError("there is no held-out prompt to compare on: give one at least")
    length = max(max(map(len, prompts)) + tokens, 2 * BATCH)
    tallies = [_Tally() for _ in exported]
    with ExitStack() as stack:
        contexts = []
        for model in exported:
            contexts.append(_load(model, length, threads))
            stack.callback(contexts[-1].close)
        ends = contexts[0].end_tokens if contexts else []
        for done, (prompt, continuation) in enumerate(_continue(reference, prompts, tokens, ends), start=1):
            for context, tally in zip(contexts, tallies, strict=True):
                _compare_one(context, list(prompt), continuation, tally)
            on_prompt(done, len(prompts))
    return [tally.agreement() for tally in tallies]


def answer_prompts(conversation: Conversation) -> Iterator[list[int]]:
    """What a planner reads before each of its answers in a conversation."""
    before = False
    for position, supervised in enumerate(conversation.supervised):
        if supervised and not before and position:
            yield conversation.tokens[:position]
        before = supervised


@dataclass(slots=True)
class _Tally:
    first_differences: list[int | None] = field(default_factory=list)
    same: int = 0
    count: int = 0
    largest: float = 0.0
    differences: float = 0.0
    divergence: float = 0.0

    def add(self, reference: Logits, ours: Logits) -> bool:
        """Note the logits of one position; whether the most likely token is the same."""
        difference = np.abs(reference - ours)
        self.largest = max(self.largest, float(difference.max()))
        self.differences += float(difference.mean())
        p, q = _log_softmax(reference), _log_softmax(ours)
        self.divergence += float(np.sum(np.exp(p) * (p - q)))
        same = bool(reference.argmax() == ours.argmax())
        self.same += same
        self.count += 1
        return same

    def agreement(self) -> Agreement:
        return Agreement(
            identical=rate(first is None for first in self.first_differences),
            top1=self.same / self.count,
            max_difference=self.largest,
            mean_difference=self.differences / self.count,
            divergence=self.divergence / self.count,
            positions=self.count,
            first_differences=tuple(self.first_differences),
        )


def _load(exported: Exported, length: int, threads: int | None) -> LlamaContext:
    writing, reading = default_threads()
    context = LlamaContext(
        exported.model,
        context_length=length,
        threads=threads or writing,
        reading_threads=threads or reading,
        gpu_layers=0,
    )
    try:
        if exported.adapter is not None:
            context.set_adapter(exported.adapter, scale=1.0)
    except BaseException:
        context.close()
        raise
    return context


def _continue(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], tokens: int, ends: Sequence[int]
) -> Iterator[tuple[Sequence[int], list[tuple[int, Logits]]]]:
    """Each prompt with its greedy continuation: the tokens, and the logits that each was chosen from."""
    import torch

    model.train(mode=False)
    for prompt in prompts:
        continuation: list[tuple[int, Logits]] = []
        step, memory = list(prompt), None
        while len(continuation) < tokens:
            with torch.inference_mode():
                out = model(
                    input_ids=torch.tensor([step], device=model.device),
                    cache=memory,
                    use_cache=True,
                    logits_to_keep=1,
                )
            logits: Logits = out.logits[0, -1].float().cpu().numpy()
            token, memory = int(logits.argmax()), out.cache
            continuation.append((token, logits))
            if token in ends:
                break
            step = [token]
        yield prompt, continuation


def _compare_one(
    context: LlamaContext, prompt: list[int], continuation: Sequence[tuple[int, Logits]], tally: _Tally
) -> None:
    first: int | None = None
    sequence = list(prompt)
    for position, (token, logits) in enumerate(continuation):
        if len(logits) != context.vocabulary_size:
            raise ExportError(
                f"{context.path} has a vocabulary of {context.vocabulary_size} tokens, the trained model "
                f"{len(logits)}: it is another base"
            )
        if not tally.add(logits, context.evaluate(sequence)) and first is None:
            first = position
        sequence.append(token)
    tally.first_differences.append(first)


def _log_softmax(logits: Logits) -> NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max()
    result: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result
