"""Who is compared: a planner by name, and the names that a report chooses when it was given none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from prism_planner.cli.errors import CommandError
from prism_planner.domains.domain import Style
from prism_planner.evaluation.episode import EXPERT, default_style
from prism_planner.language.model import ModelLoadError
from prism_planner.language.registry import (
    ENDPOINT_PREFIX,
    base_and_adapter,
    default_adapter,
    read_registry,
)

HOW_TO_MAKE = (
    "Make one with `prism distill CONFIG` (configs are in config/distill/), or name one: a name from `prism "
    "models list`, BASE+ADAPTER.gguf, a .gguf file, or the directory of a run"
)


@dataclass(frozen=True, slots=True)
class Contender:
    """row: what it is called in tables. model: as `prism evaluate --model` takes it."""

    row: str
    model: str
    style: Style

    @property
    def jobs(self) -> int:
        """Processes: the expert takes all cores, a model in process one, an endpoint several at a time."""
        if self.model == EXPERT:
            return len(os.sched_getaffinity(0))
        return 4 if self.model.startswith(ENDPOINT_PREFIX) else 1


def contender(row: str, model: str, *, style: Style | None = None) -> Contender:
    return Contender(row, model, style or default_style(model))


def planner_name(given: str | None, *, domain: str, run: Path | None = None, base: str | None = None) -> str:
    """The name of the distilled planner, as `load_model` takes it.

    given: a name, or the directory of a run; by default that of `run`, or the registry's adapter for the
    domain. base: what the file of an adapter is put on. Raises CommandError when there is none yet,
    ModelLoadError for a file that cannot be read.
    """
    if given is not None:
        path = Path(given).expanduser()
        if path.is_dir():
            return _exported(path, base)
        return f"{base or default_base()}+{given}" if _is_adapter(given) else given
    if run is not None:
        return _exported(run, base)
    adapter = default_adapter(domain)
    if adapter is None:
        raise CommandError(f"there is no distilled planner for {domain} yet. {HOW_TO_MAKE}")
    return adapter


def base_of(model: str) -> str:
    """The base that a planner was distilled from, where its name tells; otherwise the registry's first."""
    if adapted := base_and_adapter(model):
        return adapted[0]
    entry = read_registry().adapters.get(model)
    return entry.base if entry is not None else default_base()


def default_base() -> str:
    """The registry's first base. Raises CommandError when it has none."""
    base = next(iter(read_registry().bases), None)
    if base is None:
        raise CommandError("the registry of models has no base: name one with --base")
    return base


def _exported(run: Path, base: str | None) -> str:
    """The planner that a run exported: its adapter, or its merged model when there is no adapter."""
    files = sorted((run / "export").glob("*.gguf"), key=lambda file: ("adapter" not in file.name, file.name))
    for file in files:
        if _is_adapter(str(file)):
            return f"{base or default_base()}+{file}"
    if files:
        return str(files[0])
    raise CommandError(f"{run}: has no export/*.gguf, so it has no planner to measure yet. {HOW_TO_MAKE}")


def _is_adapter(name: str) -> bool:
    """Whether `name` is the file of an adapter alone. Raises ModelLoadError for a file that is no GGUF."""
    if not name.endswith(".gguf") or base_and_adapter(name) or not Path(name).expanduser().is_file():
        return False
    from gguf import GGUFReader

    try:
        field = GGUFReader(Path(name).expanduser()).get_field("general.type")
    except (OSError, ValueError, IndexError) as error:
        raise ModelLoadError(f"{name} is not a whole GGUF file: {error}") from None
    return field is not None and field.contents() == "adapter"
