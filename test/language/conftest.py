"""The embedded model, loaded once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prism_planner.language.model import ModelLoadError
from prism_planner.language.registry import load_model

if TYPE_CHECKING:
    from prism_planner.language.llama import LlamaModel

BASE = "smollm2-135m"


@pytest.fixture(scope="session")
def model() -> Iterator[LlamaModel]:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make setup")
    try:
        model = load_model(BASE, context_length=1024)
    except ModelLoadError as error:
        pytest.skip(str(error))
    yield model  # type: ignore[misc]
    model.close()


@pytest.fixture(scope="session")
def model_file(model: LlamaModel) -> Path:
    return model.path
