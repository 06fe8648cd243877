"""Models in another quantisation; copies that are made once and kept in the user's cache."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import llama_cpp

from prism_planner.language.llama_context import capture_errors
from prism_planner.language.model import ModelLoadError

_FILE_TYPES = {
    "f16": llama_cpp.LLAMA_FTYPE_MOSTLY_F16,
    "q8_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    "q4_0": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0,
    "q4_1": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_1,
    "q4_k_m": llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_K_M,
}


def quantised(source: Path, sha256: str, kind: str, *, check: Callable[[Path, str], None]) -> Path:
    """The copy of `source` in another quantisation ("q8_0" or "q4_0"); made now if it is not there yet.

    `check(source, sha256)` is called before a copy is made, and may raise. A copy appears whole or not
    at all. Raises ModelLoadError.
    """
    folder = _cache()
    target = folder / f"{source.stem}-{sha256[:12]}-{kind}.gguf"
    if target.is_file():
        return target
    check(source, sha256)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            copy = Path(scratch) / target.name
            quantise(source, copy, kind)
            copy.replace(target)
    except OSError as error:
        raise ModelLoadError(
            f"no room for a {kind} copy of {source.name} in {folder}: {error.strerror}. "
            "Free some space, or set XDG_CACHE_HOME to another directory"
        ) from None
    return target


def quantise(source: Path, target: Path, kind: str) -> None:
    """Write `source` to `target` in another quantisation (one of registry.Quantisation).

    Raises ModelLoadError.
    """
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = _FILE_TYPES[kind]
    parameters.allow_requantize = True
    parameters.nthread = len(os.sched_getaffinity(0))
    with capture_errors() as reason:
        status = llama_cpp.llama_model_quantize(
            os.fsencode(source), os.fsencode(target), ctypes.byref(parameters)
        )
        if status != 0:
            raise ModelLoadError(f"{source} cannot be requantised to {kind}: {reason()}")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "prism" / "models"
