"""The `export` section of a distillation config."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from prism_planner.language.registry import Quantisation

AdapterKind = Literal["f16", "f32", "q8_0"]


class ExportSettings(BaseModel):
    """What is made of a trained adapter, and how closely it must agree with the model that was trained.

    adapter: number format of the GGUF LoRA. merged: formats of merged models to write besides, each as large
    as the base. base_gguf: the base as a GGUF in f32, f16 or bf16; needed where the base is a Hugging Face
    model. prompts: so many held-out prompts are continued by both transformers and llama.cpp; tokens: of
    each continuation, at most; identical: the share of continuations that must be the same (0: report
    only). licence: of what is exported; by default the base's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    adapter: AdapterKind = "f16"
    merged: tuple[Quantisation, ...] = ()
    base_gguf: Path | None = None
    prompts: int = Field(default=60, ge=1)
    tokens: int = Field(default=48, ge=1)
    identical: float = Field(default=0.95, ge=0, le=1)
    licence: str | None = None
