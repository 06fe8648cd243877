"""What is known of an exported planner: for its card, and for its entry in a registry."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import written_whole

RECORD = "export.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Provenance(_Part):
    """What a planner was made of. domain: that it plans in. base: its name in the registry, or as the config
    has it. teacher: whose plans it learnt. training_data: SHA-256 of the dataset. episodes: trained on.
    training: settings, by name. command: that makes it again, `prism distill CONFIG`.
    """

    domain: str
    base: str
    teacher: str
    training_data: str = Field(pattern="^[0-9a-f]{64}$")
    episodes: int = Field(ge=0)
    training: dict[str, Any]
    command: str


class File(_Part):
    """size: bytes."""

    name: str
    kind: str
    size: int
    sha256: str


class Score(_Part):
    """Success of a planner in closed loop, with the 95% interval of its rate."""

    episodes: int = Field(ge=0)
    success: float = Field(ge=0, le=1)
    ci_low: float = Field(ge=0, le=1)
    ci_high: float = Field(ge=0, le=1)


class ExportRecord(_Part):
    """adapter: the GGUF LoRA; merged: models with it merged in. agreement: of a file with transformers, by
    name (`verify.Agreement.as_json`); wanted: the share of identical continuations that was asked for."""

    format: Literal["prism-export/1"] = "prism-export/1"
    provenance: Provenance
    licence: str
    rank: int
    alpha: float
    adapter: File
    merged: tuple[File, ...] = ()
    agreement: dict[str, dict[str, Any]] = Field(default_factory=dict)
    wanted: float

    @property
    def verified(self) -> bool:
        return all(found["identical"] >= self.wanted for found in self.agreement.values())


def write_record(record: ExportRecord, directory: Path) -> None:
    """Raises ExportError."""
    with written_whole(directory / RECORD) as partial:
        partial.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_record(directory: Path) -> ExportRecord:
    """Raises ExportError, which names the file and the field."""
    file = directory / RECORD
    try:
        return ExportRecord.model_validate_json(file.read_bytes())
    except OSError as error:
        raise ExportError(f"{file} cannot be read: {error.strerror}. Export the run first") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise ExportError(f"{file}: {field}: {first['msg']}. Export the run again") from None


def describe(path: Path, kind: str) -> File:
    """Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return File(name=path.name, kind=kind, size=path.stat().st_size, sha256=digest.hexdigest())
