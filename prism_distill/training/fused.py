"""Llama under LoRA, arranged so that training does only what it has to.

The same function as transformers and PEFT compute, with their parameters, but

- tokens that several conversations begin with are evaluated once (`Tree`): tasks in one world share its
  instructions and its graph, about half of what there is to read;
- projections of the same input are one matrix product, and a LoRA branch adds no pass over the outputs;
- logits exist at supervised positions only, a chunk at a time;
- attention is a block of queries at a time, as matrix products, without most of what is masked;
- nothing is padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prism_distill.conversation import Conversation

_CHUNK = 256
"""Supervised positions whose logits exist at the same time."""
_BLOCK = 256
"""Queries whose attention is computed at the same time."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Conversations that begin alike: `tokens` is the shared beginning, then what is left of each.

    bounds: where the parts begin and end, the shared one first. Nothing of the shared part is supervised,
    so that its end is predicted in every branch.
    """

    tokens: list[int]
    supervised: list[bool]
    bounds: list[int]

    @classmethod
    def of(cls, conversations: Sequence[Conversation]) -> Tree:
        """Raises ValueError for none at all."""
        if not conversations:
            raise ValueError("a tree needs a conversation")
        shared = _shared(conversations)
        first = conversations[0]
        tokens, supervised, bounds = first.tokens[:shared], first.supervised[:shared], [0, shared]
        for conversation in conversations:
            tokens = tokens + conversation.tokens[shared:]
            supervised = supervised + conversation.supervised[shared:]
            bounds.append(len(tokens))
        return cls(tokens, supervised, bounds)

    def __len__(self) -> int:
        return len(self.tokens)


def _shared(conversations: Sequence[Conversation]) -> int:
    """How many tokens all begin with; at least one token is left to every branch."""
    shortest = min(len(c) for c in conversations) - 1
    first = conversations[0]
    if len(conversations) == 1:
        shortest = min(shortest, 0)
    for i in range(shortest):
        if any(c.supervised[i + 1] or c.tokens[i] != first.tokens[i] for c in conversations):
            return i
    return max(shortest, 0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Trees, one behind the other, as tensors.

    tokens, positions: (T,). parts: for each tree the bounds of its parts within T. predicts: (S,), the
    place whose hidden state predicts a supervised token; targets: (S,) those tokens; turns: (S,) the number
    of the answer that each belongs to.
    """

    tokens: Tensor
    positions: Tensor
    parts: list[list[int]]
    predicts: Tensor
    targets: Tensor
    turns: Tensor

    @classmethod
    def of(cls, trees: Sequence[Tree], device: torch.device | str = "cpu") -> Batch:
        tokens: list[int] = []
        positions: list[int] = []
        parts: list[list[int]] = []
        predicts: list[int] = []
        targets: list[int] = []
        turns: list[int] = []
        turn = -1
        for tree in trees:
            start, shared = len(tokens), tree.bounds[1]
            parts.append([start + bound for bound in tree.bounds])
            tokens += tree.tokens
            positions += range(shared)
            for begin, end in pairwise(tree.bounds[1:]):
                positions += range(shared, shared + end - begin)
                for i in range(begin, end):
                    if tree.supervised[i] and i:
                        turn += i == begin or not tree.supervised[i - 1]
                        predicts.append(start + (i - 1 if i > begin else shared - 1))
                        targets.append(tree.tokens[i])
                        turns.append(turn)

        def tensor(values: list[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=device)

        return cls(
            tokens=tensor(tokens),
            positions=tensor(positions),
            parts=parts,
            predicts=tensor(predicts),
            targets=tensor(targets),
            turns=tensor(turns),
        )

    @property
    def supervised(self) -> int:
        return len(self.targets)


class FusedLlama:
    """A PEFT-wrapped LlamaForCausalLM, evaluated on trees.

    The adapter's parameters stay PEFT's own: they are read at every call, and get their gradients.
    """

    def __init__(self, model: nn.Module, *, dtype: torch.dtype = torch.bfloat16) -> None:
        """dtype: of the arithmetic; sums are in float32. Raises ValueError for what is no Llama under
        LoRA on linear layers without dropout."""
        causal = _causal(model)
        self._config = causal.config
        self._dtype = dtype
        self._embedding = causal.model.embed_tokens.weight.detach().to(dtype)
        head = causal.lm_head.weight.detach()
        tied = head.data_ptr() == causal.model.embed_tokens.weight.data_ptr()
        self._head = self._embedding if tied else head.to(dtype)
        self._rotary = causal.model.rotary_emb
        self._norm = causal.model.norm.weight.detach().to(dtype)
        self._layers = [_Layer(layer, dtype) for layer in causal.model.layers]
        self._eps: float = self._config.rms_norm_eps
        self._heads: int = self._config.num_attention_heads
        self._kv_heads: int = self._config.num_key_value_heads
        self._head_dim: int = (
            getattr(self._config, "head_dim", None) or self._config.hidden_size // self._heads
        )

    def loss(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of the supervised tokens (equation 2)."""
        loss: Tensor = _HeadLoss.apply(self.hidden(batch), self._head, batch.targets)
        return loss

    def assess(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The summed negative log-likelihood of the supervised tokens, and (S,) whether each is the most
        likely one. Without gradients."""
        total = torch.zeros((), device=batch.targets.device)
        right: list[Tensor] = []
        with torch.no_grad():
            hidden = self.hidden(batch)
            for rows, targets in zip(hidden.split(_CHUNK), batch.targets.split(_CHUNK), strict=True):
                logits = (rows @ self._head.T).float()
                total += F.cross_entropy(logits, targets, reduction="sum")
                right.append(logits.argmax(-1) == targets)
        return total, torch.cat(right)

    def hidden(self, batch: Batch) -> Tensor:
        """(S, hidden size): what the language model head reads to predict the supervised tokens."""
        x = F.embedding(batch.tokens, self._embedding)
        cos, sin = (t[0].to(self._dtype) for t in self._rotary(x[None], batch.positions[None]))
        half = self._head_dim // 2
        angles = cos[:, None, :half], sin[:, None, :half]
        views = list(_views(batch.parts))
        masks = _masks(views, self._heads // self._kv_heads, x)
        for layer in self._layers:
            qkv = layer.qkv(_Normalise.apply(x, self._eps)).unflatten(-1, (-1, self._head_dim))
            qkv = _Rotate.apply(qkv, *angles, self._heads + self._kv_heads)
            x = x + layer.out(_Attention.apply(qkv, self._heads, self._kv_heads, views, masks))
            x = x + layer.down(_SwiGlu.apply(layer.gate_up(_Normalise.apply(x, self._eps))))
        result: Tensor = _Normalise.apply(x[batch.predicts], self._eps) * self._norm
        return result


class _Layer:
    def __init__(self, layer: Any, dtype: torch.dtype) -> None:
        attention, mlp = layer.self_attn, layer.mlp
        before, between = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
        self.qkv = _Projection([attention.q_proj, attention.k_proj, attention.v_proj], dtype, before)
        self.out = _Projection([attention.o_proj], dtype)
        self.gate_up = _Projection([mlp.gate_proj, mlp.up_proj], dtype, between)
        self.down = _Projection([mlp.down_proj], dtype)


class _Projection:
    """Linear layers of one input, with their LoRA branches, as one; `norm` scales the input."""

    def __init__(self, modules: Sequence[Any], dtype: torch.dtype, norm: Tensor | None = None) -> None:
        bases = [getattr(module, "base_layer", module) for module in modules]
        if any(base.bias is not None for base in bases):
            raise ValueError("linear layers with a bias are not supported")
        weight = torch.cat([base.weight.detach() for base in bases])
        self._norm = None if norm is None else norm.detach()
        self._weight = (weight if norm is None else weight * self._norm).to(dtype)
        self._dtype = dtype
        self._branches: list[tuple[slice, float, Tensor, Tensor]] = []
        row = 0
        for module, base in zip(modules, bases, strict=True):
            rows = slice(row, row + len(base.weight))
            for name in getattr(module, "active_adapters", ()):
                if name in module.lora_A:
                    a, b = module.lora_A[name].weight, module.lora_B[name].weight
                    self._branches.append((rows, float(module.scaling[name]), a, b))
            row = rows.stop

    def __call__(self, x: Tensor) -> Tensor:
        if not self._branches:
            return x @ self._weight.T
        down = torch.cat([a for _, _, a, _ in self._branches])
        if self._norm is not None:
            down = down * self._norm
        up = torch.zeros(len(self._weight), len(down), dtype=self._dtype, device=self._weight.device)
        column = 0
        for rows, scale, a, b in self._branches:
            up[rows, column : column + len(a)] = (b * scale).to(self._dtype)
            column += len(a)
        result: Tensor = _LoraLinear.apply(x, self._weight, down.to(self._dtype), up)
        return result


class _LoraLinear(torch.autograd.Function):
    """x W' + (x A') B', with A (R, in) and B (out, R); x is (T, in). W gets no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, down: Tensor, up: Tensor) -> Tensor:
        low = x @ down.T
        ctx.save_for_backward(x, weight, down, up, low)
        return torch.addmm(x @ weight.T, low, up.T)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        x, weight, down, up, low = ctx.saved_tensors
        of_low = gradient @ up
        of_x = torch.addmm(gradient @ weight, of_low, down) if ctx.needs_input_grad[0] else None
        return of_x, None, of_low.T @ x, gradient.T @ low


class _Normalise(torch.autograd.Function):
    """x over the root of its mean square, along the last dimension (RMSNorm without its weight)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        scale = torch.rsqrt(size.square_().div_(x.shape[-1]).add_(eps)).to(x.dtype)
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        y, scale = ctx.saved_tensors
        along = torch.linalg.vecdot(gradient, y).div_(-y.shape[-1])[:, None]
        return torch.addcmul(gradient, y, along).mul_(scale), None


class _Rotate(torch.autograd.Function):
    """Rotary position embedding of the first `count` heads of (T, heads, head_dim)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, count: int) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.count = count
        return _rotated(x, cos, sin, count)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        cos, sin = ctx.saved_tensors
        return _rotated(gradients[0], cos, -sin, ctx.count), None, None, None


def _rotated(x: Tensor, cos: Tensor, sin: Tensor, count: int) -> Tensor:
    result = torch.empty_like(x)
    a, b = x[:, :count].chunk(2, dim=-1)
    of_a, of_b = result[:, :count].chunk(2, dim=-1)
    torch.mul(a, cos, out=of_a).addcmul_(b, sin, value=-1)
    torch.mul(b, cos, out=of_b).addcmul_(a, sin)
    result[:, count:] = x[:, count:]
    return result


class _SwiGlu(torch.autograd.Function):
    """silu(gate) * up of a tensor that holds gate and up side by side; recomputed rather than kept."""

    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:
        ctx.save_for_backward(both)
        gate, up = both.chunk(2, dim=-1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (gradient,) = gradients
        (both,) = ctx.saved_tensors
        gate, up = both.chunk(2, dim=-1)
        result = torch.empty_like(both)
        of_gate, of_up = result.chunk(2, dim=-1)
        sigmoid = torch.sigmoid(gate)
        silu = gate * sigmoid
        torch.mul(gradient, silu, out=of_up)
        # d silu = sigmoid (1 + gate (1 - sigmoid)) = sigmoid + silu - silu sigmoid
        torch.mul(silu, sigmoid, out=of_gate).neg_().add_(silu).add_(sigmoid).mul_(gradient).mul_(up)
        return result


class _HeadLoss(torch.autograd.Function):
    """Mean cross-entropy of a frozen head; its gradient is found on the way forward."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, targets: Tensor) -> Tensor:
        total = hidden.new_zeros((), dtype=torch.float32)
        of_hidden = torch.empty_like(hidden)
        for begin in range(0, len(hidden), _CHUNK):
            rows, wanted = hidden[begin : begin + _CHUNK], targets[begin : begin + _CHUNK]
            logits = (rows @ head.T).float()
            logs = logits - logits.logsumexp(-1, keepdim=True)
            total -= logs.gather(-1, wanted[:, None]).sum()
            probabilities = logs.exp_()
            probabilities[torch.arange(len(wanted), device=wanted.device), wanted] -= 1
            of_hidden[begin : begin + _CHUNK] = probabilities.to(hidden.dtype) @ head
        ctx.save_for_backward(of_hidden.div_(max(len(hidden), 1)))
        return total / max(len(hidden), 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (of_hidden,) = ctx.saved_tensors
        return of_hidden * gradients[0], None, None


class _Attention(torch.autograd.Function):
    """Causal attention within each branch of each tree, by matrix products.

    qkv: (T, heads + 2 kv_heads, head_dim), views and masks: as of `_views` and `_masks`; the result:
    (T, heads * head_dim). Scores are found again on the way back, so that memory grows with T and not with
    its square. PyTorch's flash attention is slower backwards on processors.
    """

    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, heads: int, kv_heads: int, views: Sequence[View], masks: Masks
    ) -> Tensor:
        ctx.save_for_backward(qkv)
        ctx.rest = heads, kv_heads, views, masks
        result = torch.empty_like(qkv[:, :heads])
        for own, seen in views:
            q, k, v = _heads(qkv, own, seen, heads, kv_heads)
            _ungroup(torch.bmm(_probabilities(q, k, masks), v), result[own])
        return result.flatten(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (qkv,) = ctx.saved_tensors
        heads, kv_heads, views, masks = ctx.rest
        gradient = gradients[0].unflatten(-1, (heads, -1))
        result = torch.zeros_like(qkv)
        for own, seen in views:
            q, k, v = _heads(qkv, own, seen, heads, kv_heads)
            p = _probabilities(q, k, masks)
            of_out = _group(gradient[own], kv_heads)
            of_p = torch.bmm(of_out, v.mT)
            of_scores = torch.ops.aten._softmax_backward_data(of_p, p, -1, p.dtype)
            _ungroup(torch.bmm(of_scores, k) * _scale(qkv), result[own, :heads])
            of_kv = torch.cat((torch.bmm(of_scores.mT, q), torch.bmm(p.mT, of_out))).transpose(0, 1)
            for rows, part in zip(seen, of_kv.split([rows.stop - rows.start for rows in seen]), strict=True):
                result[rows, heads:] += part
        return result, None, None, None, None


View = tuple[slice, list[slice]]
"""Tokens that attend together, and the tokens that they look at."""


def _views(parts: Sequence[Sequence[int]]) -> Iterator[View]:
    """The tokens of every part of every tree, a block at a time, and what they look at: the shared part,
    then their own up to the block's end. In blocks, little is computed of what is masked."""
    for bounds in parts:
        for begin, end in pairwise(bounds):
            known = [slice(*bounds[:2])] if bounds[0] < bounds[1] and begin > bounds[0] else []
            for first in range(begin, end, _BLOCK):
                last = min(first + _BLOCK, end)
                yield slice(first, last), [*known, slice(begin, last)]


def _heads(
    qkv: Tensor, own: slice, seen: Sequence[slice], heads: int, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Scaled queries (kv_heads, heads / kv_heads * n, head_dim), keys and values (kv_heads, m, head_dim)."""
    k, v = torch.cat([qkv[rows, heads:] for rows in seen]).transpose(0, 1).split(kv_heads)
    return _group(qkv[own, :heads] * _scale(qkv), kv_heads), k, v


def _scale(qkv: Tensor) -> float:
    return float(qkv.shape[-1] ** -0.5)


def _group(x: Tensor, kv_heads: int) -> Tensor:
    """(n, heads, head_dim) to (kv_heads, heads / kv_heads * n, head_dim): heads that share keys as one."""
    return x.unflatten(1, (kv_heads, -1)).permute(1, 2, 0, 3).flatten(1, 2)


def _ungroup(x: Tensor, target: Tensor) -> None:
    """The inverse of `_group`, into `target`."""
    target.copy_(x.unflatten(1, (-1, len(target))).permute(2, 0, 1, 3).flatten(1, 2))


def _probabilities(q: Tensor, k: Tensor, masks: Masks) -> Tensor:
    """(kv_heads, heads / kv_heads * n, m): how much each query looks at each key."""
    return torch.softmax(torch.baddbmm(masks[q.shape[1], k.shape[1]], q, k.mT), -1)


Masks = dict[tuple[int, int], Tensor]
"""By numbers of grouped queries and keys: 0 where a query may look, minus infinity where it may not."""


def _masks(views: Sequence[View], group: int, like: Tensor) -> Masks:
    """group: heads that share keys."""
    masks: Masks = {}
    for own, seen in views:
        n, m = own.stop - own.start, sum(rows.stop - rows.start for rows in seen)
        if (group * n, m) not in masks:
            mask = like.new_full((n, m), float("-inf")).triu_(m - n + 1)
            masks[group * n, m] = mask.repeat(group, 1)
    return masks


def _causal(model: nn.Module) -> Any:
    """The LlamaForCausalLM inside. Raises ValueError."""
    from peft import PeftModel
    from transformers import LlamaForCausalLM

    inner = model.base_model.model if isinstance(model, PeftModel) else model
    if not isinstance(inner, LlamaForCausalLM):
        raise ValueError(f"only Llama models are trained here, not {type(inner).__name__}")
    if isinstance(model, PeftModel) and any(
        config.lora_dropout for name, config in model.peft_config.items() if name in model.active_adapters
    ):
        raise ValueError("lora_dropout must be 0")
    return inner
