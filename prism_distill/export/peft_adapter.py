"""A LoRA adapter as PEFT saves it, read one layer at a time in the order of llama.cpp's tensors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import GgufBase, Matrix

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"

_TENSORS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_KEY = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(\w+\.\w+)\.lora_([AB])\.weight")
# What changes the meaning of the two matrices, or adds to them: llama.cpp's adapters have nothing of it.
_UNSUPPORTED = {
    "use_dora": "DoRA",
    "lora_bias": "biases of LoRA layers",
    "modules_to_save": "whole modules trained besides",
    "trainable_token_indices": "trained token embeddings",
    "target_parameters": "LoRA on bare parameters",
    "layer_replication": "replicated layers",
    "alora_invocation_tokens": "activated LoRA",
    "fan_in_fan_out": "transposed weights",
    "use_qalora": "QALoRA",
    "use_bdlora": "block-diagonal LoRA",
    "arrow_config": "Arrow",
    "kasa_config": "KaSA",
    "velora_config": "VeLoRA",
    "monteclora_config": "MonteCLoRA",
}
# These leave the base's weights as they are; others subtract from them, so that the adapter needs that base.
_SOUND_INITS = (True, False, "gaussian", "eva", "orthogonal", "mica")


@dataclass(frozen=True, slots=True)
class LoraLayer:
    """One weight W [outputs, inputs] of the base becomes W + scale * b @ a.

    a: [rank, inputs]; b: [outputs, rank], with its rows as llama.cpp orders W's.
    """

    a: Matrix
    b: Matrix
    scale: float


@dataclass(frozen=True, slots=True)
class LoraShape:
    """A layer before its weights are read. module: "LAYER.NAME" of PEFT's; tensor: of the base's GGUF."""

    module: str
    tensor: str
    inputs: int
    outputs: int
    rank: int
    scale: float


class PeftAdapter:
    """A PEFT directory, checked. alpha: LoRA's, which llama.cpp divides by a layer's rank."""

    def __init__(self, directory: Path) -> None:
        """Raises ExportError, which names the file, the field and what to do."""
        self.directory = directory
        self._config = _read_config(directory)
        self._check_config()
        self.base_name: str | None = self._config.get("base_model_name_or_path")
        self.rank = int(self._config["r"])
        self.alpha = float(self._config["lora_alpha"])
        self.shapes: list[LoraShape] = list(self._read_shapes())

    def check_base(self, base: GgufBase, *, name: str | None = None) -> None:
        """Raise ExportError unless the adapter was trained for this base.

        name: what the base is called; it must be what training noted down. Tensors must fit in any case.
        """
        if name is not None and self.base_name is not None and not _same_name(name, self.base_name):
            raise self._another(name, f"{self.directory / CONFIG} says it was trained for {self.base_name}")
        for shape in self.shapes:
            found = base.shape(shape.tensor)
            ours = (shape.outputs, shape.inputs)
            if found is None:
                raise self._another(base.name, f"it has {shape.module}, and {base.path} no {shape.tensor}")
            if found != ours:
                raise self._another(
                    base.name,
                    f"{shape.module} is {ours[0]}x{ours[1]}, and {shape.tensor} {found[0]}x{found[1]}",
                )
        layers = {shape.module.partition(".")[0] for shape in self.shapes}
        chosen = self._config.get("layers_to_transform") is not None or self._config.get("exclude_modules")
        if len(layers) != base.layers and not chosen and not isinstance(self._config["target_modules"], str):
            raise self._another(base.name, f"it has {len(layers)} layers, and {base.path} {base.layers}")

    def layer(self, shape: LoraShape, base: GgufBase) -> LoraLayer:
        """Read one of `shapes`. Raises ExportError."""
        with _opened(self.directory) as weights:
            a, b = (weights.get_tensor(_key(shape.module, side)).float().numpy() for side in "AB")
        if shape.module.endswith("q_proj"):
            b = rotary_rows(b, base.heads)
        elif shape.module.endswith("k_proj"):
            b = rotary_rows(b, base.kv_heads)
        return LoraLayer(a, b, shape.scale)

    def _check_config(self) -> None:
        file, config = self.directory / CONFIG, self._config
        if config.get("peft_type") != "LORA":
            raise ExportError(f"{file}: peft_type is {config.get('peft_type')!r}: only LORA can be exported")
        for field, meaning in _UNSUPPORTED.items():
            if config.get(field):
                raise ExportError(
                    f"{file}: {field} is set: llama.cpp's adapters have no {meaning}. Train without it"
                )
        if config.get("bias", "none") != "none":
            raise ExportError(
                f"{file}: bias is {config['bias']!r}: llama.cpp's adapters have no biases. Train with none"
            )
        init = config.get("init_lora_weights", True)
        if init not in _SOUND_INITS:
            raise ExportError(
                f"{file}: init_lora_weights is {init!r}, which changes the base's weights, so that "
                "the adapter fits no published base. Train with true"
            )
        for field in ("r", "lora_alpha"):
            value = config.get(field)
            if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                raise ExportError(f"{file}: {field} is {value!r}: it must be a number above 0")

    def _read_shapes(self) -> Iterator[LoraShape]:
        file = self.directory / WEIGHTS
        with _opened(self.directory) as weights:
            keys = set(weights.keys())
            modules = {_module(key, file) for key in keys}
            if not modules:
                raise ExportError(f"{file} has no LoRA weights")
            for layer, module in sorted(modules):
                path = f"{layer}.{module}"
                missing = [key for side in "AB" if (key := _key(path, side)) not in keys]
                if missing:
                    raise ExportError(f"{file} has no {missing[0]}: save the adapter again")
                a, b = (tuple(weights.get_slice(_key(path, side)).get_shape()) for side in "AB")
                if len(a) != 2 or len(b) != 2 or a[0] != b[1]:
                    raise ExportError(f"{file}: {path}: lora_A is {a} and lora_B {b}, which do not fit")
                tensor = f"blk.{layer}.{_TENSORS[module]}.weight"
                yield LoraShape(path, tensor, a[1], b[0], a[0], self._scale(path, a[0]))

    def _scale(self, module: str, rank: int) -> float:
        patterns: dict[str, Any] = self._config.get("alpha_pattern") or {}
        full = f"model.layers.{module}"
        special = (float(v) for pattern, v in patterns.items() if re.match(rf"(.*\.)?({pattern})$", full))
        alpha = next(special, self.alpha)
        return alpha / (math.sqrt(rank) if self._config.get("use_rslora") else rank)

    def _another(self, base: str, reason: str) -> ExportError:
        return ExportError(
            f"{self.directory} is an adapter for another base than {base}: {reason}. Set `base` to the model "
            "that it was trained for"
        )


def rotary_rows(rows: Matrix, heads: int) -> Matrix:
    """Reorder outputs of a query or key projection from Hugging Face's order to llama.cpp's.

    Rotary embeddings turn pairs of outputs of a head. Hugging Face pairs output i with i + d/2, llama.cpp
    pairs neighbours. rows: [heads * d, ...].
    """
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)


def _read_config(directory: Path) -> dict[str, Any]:
    file = directory / CONFIG
    if not directory.is_dir():
        raise ExportError(f"{directory} is no directory: an adapter is one that PEFT's save_pretrained wrote")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExportError(f"{directory} has no {CONFIG}: it is no PEFT adapter, or not a whole one") from None
    except (OSError, ValueError) as error:
        raise ExportError(f"{file} cannot be read: {error}. Save the adapter again") from None
    if not isinstance(config, dict):
        raise ExportError(f"{file} is no PEFT config: it must be a JSON object")
    return config


def _opened(directory: Path) -> Any:
    from safetensors import SafetensorError, safe_open

    file = directory / WEIGHTS
    if not file.is_file():
        raise ExportError(f"{directory} has no {WEIGHTS}: it is not a whole PEFT adapter")
    try:
        return safe_open(file, framework="pt")
    except (SafetensorError, OSError) as error:
        raise ExportError(
            f"{file} is cut off or damaged: {error}. Take an earlier checkpoint, or train on"
        ) from None


def _module(key: str, file: Path) -> tuple[int, str]:
    match = _KEY.fullmatch(key)
    if match is None or match[2] not in _TENSORS:
        raise ExportError(
            f"{file}: {key} is no LoRA weight of a Llama's linear layers, which are "
            f"{', '.join(module.partition('.')[2] for module in _TENSORS)}. Set "
            "training.targets to all-linear"
        )
    return int(match[1]), match[2]


def _key(module: str, side: str) -> str:
    return f"base_model.model.model.layers.{module}.lora_{side}.weight"


def _same_name(one: str, other: str) -> bool:
    return one == other or Path(one).expanduser().resolve() == Path(other).expanduser().resolve()
