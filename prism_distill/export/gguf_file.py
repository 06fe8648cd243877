"""GGUF files of Llama models: what an export must know of a base, and writing tensor by tensor."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter, quantize
from numpy.typing import NDArray

from prism_distill.export.errors import ExportError
from prism_planner.language.llama_context import check_gguf

if TYPE_CHECKING:
    from gguf import ReaderTensor

ARCHITECTURE = "llama"
Matrix = NDArray[np.float32]


class GgufBase:
    """A base model's GGUF, opened: weights stay on disk until asked for."""

    def __init__(self, path: Path) -> None:
        """Raises ModelLoadError for a file that is no GGUF, ExportError for one that is cut off or of another
        architecture."""
        check_gguf(path)
        self.path = path
        try:
            self.reader = GGUFReader(path)
        except (ValueError, IndexError, KeyError) as error:
            raise ExportError(f"{path} is not a whole GGUF file: {error}. Get the file again") from None
        architecture = self._metadata("general.architecture")
        if architecture != ARCHITECTURE:
            raise ExportError(
                f"{path} is a model of architecture {architecture!r}: adapters are exported for "
                f"{ARCHITECTURE!r} models only (Llama, SmolLM2 and others that llama.cpp calls so)"
            )
        self.layers = int(self._metadata("llama.block_count"))
        heads = self._metadata("llama.attention.head_count")
        kv_heads = self._metadata("llama.attention.head_count_kv")
        if not isinstance(heads, int) or not isinstance(kv_heads, int | None):
            raise ExportError(f"{path}: its layers differ in their heads, which export cannot handle")
        self.heads, self.kv_heads = heads, kv_heads or heads
        self.tensors: Mapping[str, ReaderTensor] = {t.name: t for t in self.reader.tensors}

    @property
    def name(self) -> str:
        """What the file says it holds."""
        return str(self._metadata("general.name") or self.path.stem)

    @property
    def licence(self) -> str | None:
        found = self._metadata("general.license")
        return None if found is None else str(found)

    @property
    def is_full_precision(self) -> bool:
        """Whether no weight is quantised."""
        return all(t.tensor_type in _FULL_PRECISION for t in self.reader.tensors)

    def shape(self, tensor: str) -> tuple[int, int] | None:
        """Rows (outputs) and columns (inputs) of a matrix; None when there is no such tensor."""
        found = self.tensors.get(tensor)
        return None if found is None else (int(found.shape[1]), int(found.shape[0]))

    def _metadata(self, key: str) -> Any:
        field = self.reader.get_field(key)
        return None if field is None else field.contents()


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to write: its shape as numpy has it, and how its numbers are stored."""

    name: str
    shape: tuple[int, ...]
    kind: GGMLQuantizationType

    @property
    def size(self) -> int:
        """Bytes."""
        block: int
        size: int
        block, size = GGML_QUANT_SIZES[self.kind]
        return math.prod(self.shape) // block * size


def write_gguf(writer: GGUFWriter, path: Path, specs: Iterable[TensorSpec], values: Iterable[Matrix]) -> None:
    """Write `path`, whole or not at all, with the metadata that `writer` was given.

    values: of the tensors in `specs`, in their order; only one is held at a time. Raises ExportError when
    there is no room, or for a number that the tensor's format cannot hold.
    """
    specs = list(specs)
    with written_whole(path) as partial:
        for spec in specs:
            writer.add_tensor_info(
                spec.name, spec.shape, np.dtype(np.float32), spec.size, raw_dtype=spec.kind
            )
        try:
            with np.errstate(over="ignore"):
                writer.write_header_to_file(partial)
                writer.write_kv_data_to_file()
                writer.write_ti_data_to_file()
                for spec, value in zip(specs, values, strict=True):
                    writer.write_tensor_data(_stored(spec, value))
        finally:
            writer.close()


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file to write, which becomes `path` at the end of the block. Raises ExportError for an OSError."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        partial.replace(path)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be written: {error.strerror or error}. Free some space or choose another "
            "directory, and run the same command again"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def scratch(directory: Path) -> Iterator[Path]:
    """A folder in `directory` for the time of the block; what a killed process left in it goes first."""
    folder = directory / ".scratch"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stored(spec: TensorSpec, value: Matrix) -> NDArray[Any]:
    stored: NDArray[Any] = quantize(value, spec.kind)
    numbers = value if spec.kind == GGMLQuantizationType.Q8_0 else stored
    if not np.isfinite(numbers).all():
        raise ExportError(
            f"{spec.name}: has numbers that are no numbers, or too large for {spec.kind.name}: did training "
            "diverge? Lower training.learning_rate"
        )
    return stored


_FULL_PRECISION = (GGMLQuantizationType.F32, GGMLQuantizationType.F16, GGMLQuantizationType.BF16)
