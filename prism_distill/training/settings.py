"""The `training` section of a distillation config."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

INDECISIVE = frozenset({"checkpoint_minutes", "evaluations", "patience", "precision", "validation_episodes"})
"""Settings that may change between the commands of one training."""

EXTENDING = frozenset({"decay", "epochs", "final_rate"})
"""Settings of which other values go on with a training that was begun or done."""


class TrainingSettings(BaseModel):
    """How the adapter is trained (PRISM paper, section 3.3 and table 4).

    r, alpha: of LoRA on `targets`. learning_rate: reached in `warmup` steps, kept, and lowered in a straight
    line to `final_rate` (share of it) over the last `decay` (share of all steps). epochs: passes over the
    data, also a part of one. tokens_per_step: at least so many tokens are evaluated before the weights
    change. max_tokens: longer episodes are cut behind a whole turn. precision: of the arithmetic; `auto`
    takes what this machine is faster in. checkpoint_minutes: between checkpoints. evaluations: how often the
    planner is tried on validation tasks, at equal distances; validation_episodes: how many then; patience:
    so many evaluations without progress end the training.

    A run whose `epochs` are raised goes on from where the rate began to fall.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    r: int = Field(default=32, ge=1, le=512)
    alpha: float = Field(default=32, gt=0)
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    learning_rate: float = Field(default=1e-3, gt=0, lt=1)
    warmup: int = Field(default=20, ge=0)
    decay: float = Field(default=0.25, ge=0, le=1)
    final_rate: float = Field(default=0.02, ge=0, le=1)
    weight_decay: float = Field(default=0.0, ge=0)
    clip: float = Field(default=1.0, gt=0)
    epochs: float = Field(default=1.0, gt=0)
    tokens_per_step: int = Field(default=1500, ge=1)
    max_tokens: int = Field(default=2048, ge=64)
    seed: int = 0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    checkpoint_minutes: float = Field(default=5.0, gt=0)
    evaluations: int = Field(default=4, ge=0)
    validation_episodes: int = Field(default=60, ge=1)
    patience: int = Field(default=3, ge=1)
