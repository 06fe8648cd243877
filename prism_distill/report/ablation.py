"""The planners of table 3: trained with all of the data synthesis, and without a part of it."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from prism_planner.cli.errors import CommandError


class Ablation(BaseModel):
    """Each a name, a file or a run's directory, as `--prism` takes it. full: by default that of `--run`, or
    the registry's. base: what the files of adapters are put on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    full: str | None = None
    without_masking: str
    without_validation: str
    base: str | None = None


def read_ablation(path: Path | None, **given: str | None) -> Ablation:
    """The ablation of a YAML file, with what was given otherwise instead. Raises CommandError, which names
    the file and the field."""
    data = {}
    if path is not None:
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"{path}: cannot be read: {error.strerror}") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict):
            raise CommandError(f"{path}: expected the keys {', '.join(Ablation.model_fields)}")
    try:
        return Ablation.model_validate(
            data | {key: value for key, value in given.items() if value is not None}
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "missing":
            option = f"--{field.replace('_', '-')}"
            raise CommandError(
                f"table 3 needs a planner for `{field}`: train one at the same budget on data synthesised "
                f"that way, and name it with {option} or in the file of --adapters"
            ) from None
        raise CommandError(
            f"{path}: {field}: {first['msg']}; the keys are {', '.join(Ablation.model_fields)}"
        ) from None
