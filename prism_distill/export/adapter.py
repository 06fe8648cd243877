"""An adapter as llama.cpp loads it: a GGUF file with the two matrices of every layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFType, GGUFWriter, Keys

from prism_distill.export.gguf_file import ARCHITECTURE, GgufBase, Matrix, TensorSpec, write_gguf
from prism_distill.export.peft_adapter import LoraShape, PeftAdapter
from prism_distill.export.settings import AdapterKind

_KINDS = {
    "f32": GGMLQuantizationType.F32,
    "f16": GGMLQuantizationType.F16,
    "q8_0": GGMLQuantizationType.Q8_0,
}
_BLOCK = 32  # numbers that q8_0 scales together, along a row


def write_adapter(
    adapter: PeftAdapter,
    base: GgufBase,
    path: Path,
    *,
    kind: AdapterKind = "f16",
    name: str | None = None,
    licence: str | None = None,
) -> None:
    """Write `adapter`, trained for `base`, as a GGUF LoRA file; whole or not at all.

    kind: matrices whose rows q8_0 cannot hold (lengths that 32 does not divide) are stored in f16.
    name, licence: for the file's metadata. Raises ExportError.
    """
    adapter.check_base(base)
    writer = GGUFWriter(None, ARCHITECTURE)
    writer.add_type(GGUFType.ADAPTER)
    writer.add_name(name or adapter.directory.name)
    writer.add_license(licence or base.licence or "")
    writer.add_base_model_count(1)
    writer.add_base_model_name(0, base.name)
    writer.add_string(Keys.Adapter.TYPE, "lora")
    writer.add_float32(Keys.Adapter.LORA_ALPHA, adapter.alpha)
    specs = (spec for shape in adapter.shapes for spec in _specs(shape, kind))
    write_gguf(writer, path, specs, _matrices(adapter, base))


def _specs(shape: LoraShape, kind: AdapterKind) -> Iterator[TensorSpec]:
    for side, rows, columns in (("a", shape.rank, shape.inputs), ("b", shape.outputs, shape.rank)):
        stored = "f16" if kind == "q8_0" and columns % _BLOCK else kind
        yield TensorSpec(f"{shape.tensor}.lora_{side}", (rows, columns), _KINDS[stored])


def _matrices(adapter: PeftAdapter, base: GgufBase) -> Iterator[Matrix]:
    for shape in adapter.shapes:
        layer = adapter.layer(shape, base)
        yield layer.a
        # llama.cpp scales every layer by alpha / rank; what a layer's scale differs by goes into b.
        yield layer.b * np.float32(layer.scale * shape.rank / adapter.alpha)
