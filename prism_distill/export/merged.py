"""A base with an adapter merged in: one GGUF with the base's own tokenizer, chat template and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, Keys, LlamaFileType, dequantize

from prism_distill.export.gguf_file import (
    ARCHITECTURE,
    GgufBase,
    Matrix,
    TensorSpec,
    scratch,
    write_gguf,
    written_whole,
)
from prism_distill.export.peft_adapter import PeftAdapter
from prism_planner.language.quantise import quantise
from prism_planner.language.registry import Quantisation

# The writer adds the first itself; the others describe the file that was read.
_OWN_METADATA = (Keys.General.ARCHITECTURE, Keys.General.FILE_TYPE, Keys.General.QUANTIZATION_VERSION)


def write_f16(base: GgufBase, path: Path, *, adapter: PeftAdapter | None = None, name: str = "") -> None:
    """Write `base` dequantised to F16, with `adapter` merged in if there is one; whole or not at all.

    One weight is held in memory at a time. name: of the merged model, by default the base's. Raises
    ExportError.
    """
    if adapter is not None:
        adapter.check_base(base)
    writer = GGUFWriter(None, ARCHITECTURE)
    _copy_metadata(base, writer)
    if name:
        writer.kv_data[0].pop(Keys.General.NAME, None)
        writer.add_name(name)
    writer.add_file_type(LlamaFileType.MOSTLY_F16)
    specs = [
        # Vectors (norms) stay F32, as llama.cpp wants them.
        TensorSpec(t.name, tuple(map(int, reversed(t.shape))), _F32 if len(t.shape) == 1 else _F16)
        for t in base.reader.tensors
    ]
    write_gguf(writer, path, specs, _weights(base, adapter))


def write_merged(
    base: GgufBase,
    adapter: PeftAdapter,
    directory: Path,
    kinds: Sequence[Quantisation],
    *,
    name: str = "merged",
) -> dict[Quantisation, Path]:
    """Write `NAME-KIND.gguf` for each of `kinds`, all quantised from the merged F16.

    Raises ExportError, and ModelLoadError when llama.cpp cannot quantise.
    """
    if not kinds:
        return {}
    paths = {kind: directory / f"{name}-{kind}.gguf" for kind in kinds}
    with scratch(directory) as folder:
        full = paths.get("f16", folder / "f16.gguf")
        write_f16(base, full, adapter=adapter, name=name)
        for kind, path in paths.items():
            if kind != "f16":
                with written_whole(path) as partial:
                    quantise(full, partial, kind)
    return paths


def _copy_metadata(base: GgufBase, writer: GGUFWriter) -> None:
    for field in base.reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in _OWN_METADATA:
            continue
        value, kind = field.contents(), field.types[0]
        if kind == GGUFValueType.ARRAY:
            if value:
                writer.add_key_value(field.name, value, kind, sub_type=field.types[-1])
        else:
            writer.add_key_value(field.name, value, kind)


def _weights(base: GgufBase, adapter: PeftAdapter | None) -> Iterator[Matrix]:
    shapes = {} if adapter is None else {shape.tensor: shape for shape in adapter.shapes}
    for tensor in base.reader.tensors:
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        if adapter is not None and tensor.name in shapes:
            lora = adapter.layer(shapes[tensor.name], base)
            weight = weight + np.float32(lora.scale) * (lora.b @ lora.a)
        yield weight


_F16, _F32 = GGMLQuantizationType.F16, GGMLQuantizationType.F32
