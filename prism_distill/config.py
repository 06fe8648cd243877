"""One YAML file says all of a distillation run: what is synthesised, elicited, trained and exported."""

from __future__ import annotations

import difflib
import typing
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from prism_distill.export.settings import ExportSettings
from prism_distill.training.settings import TrainingSettings
from prism_planner.cli.choices import EXPERT
from prism_planner.cli.errors import CommandError
from prism_planner.domains.registry import domain_names
from prism_planner.worlds.marked_yaml import MarkedYaml, YamlError, read_marked_yaml

GENERATOR = "generator"

Table = Literal["table1", "table2", "table3", "figure5"]


class ConfigError(CommandError):
    """A config cannot be used; the message names file, line and field, and says what was expected."""


def _ordered(span: tuple[float, float]) -> tuple[float, float]:
    if span[0] > span[1]:
        raise ValueError(f"from {span[0]:g} to {span[1]:g}: the smaller number comes first")
    return span


Share = Annotated[float, Field(ge=0, le=1)]
ShareRange = Annotated[tuple[Share, Share], AfterValidator(_ordered)]
NodeRange = Annotated[
    tuple[Annotated[int, Field(ge=3, le=60)], Annotated[int, Field(ge=3, le=60)]], AfterValidator(_ordered)
]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Prices(_Section):
    """What a model costs per million tokens, in any currency. prompt: read; completion: written."""

    prompt: float = Field(default=0.0, ge=0)
    completion: float = Field(default=0.0, ge=0)

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


class BaseSettings(_Section):
    """The model that becomes a planner. model: a base in models/registry.yaml, a .gguf file, or a Hugging
    Face directory or hub id. context_length: tokens of the window that it will plan in."""

    model: str = Field(default="smollm2-135m", min_length=1)
    context_length: int = Field(default=8192, ge=256)


class WriterSettings(_Section):
    """How a language model writes scenarios (paper, section 3.1 and appendix F).

    temperature: high, for diversity. attempts: how often a world is asked for, the error of the attempt
    before quoted, until it is valid. nodes: regions and objects of a world, from and to. tasks: of each.
    max_tokens: of one answer. similarity: worlds that share more than this of their words are near-duplicates
    and written anew. workers: requests at a time. max_cost: an estimate above it stops the stage before it
    starts; in the currency of `prices`.
    """

    temperature: float = Field(default=1.0, ge=0, le=2)
    attempts: int = Field(default=4, ge=1, le=20)
    nodes: NodeRange = (8, 30)
    tasks: int = Field(default=5, ge=1, le=20)
    max_tokens: int = Field(default=6000, ge=256)
    similarity: Share = 0.8
    workers: int = Field(default=4, ge=1, le=256)
    prices: Prices = Prices()
    max_cost: float | None = Field(default=None, ge=0)


class ScenarioSettings(_Section):
    """Stage 1, `prism synthesize` (paper, section 3.1).

    source: `generator`, which is built in and free, or a language model that writes: openai:NAME, or any
    other name that `prism models list` knows. train, validation, test: how many scenarios. shard: so many
    are written at once; a kill loses at most the shards in work. theme, size, platform, tasks: for the
    generator, to narrow it down (docs/scenario_generation.md). workers: processes; all cores by default.
    writer: for a language model.
    """

    source: str = Field(default=GENERATOR, min_length=1)
    train: int = Field(default=4000, ge=1)
    validation: int = Field(default=200, ge=1)
    test: int = Field(default=200, ge=0)
    shard: int = Field(default=100, ge=1)
    theme: str | None = None
    size: int | None = Field(default=None, ge=5, le=60)
    platform: Literal["ugv", "uav"] | None = None
    tasks: int | None = Field(default=None, ge=1)
    workers: int | None = Field(default=None, ge=1)
    writer: WriterSettings = WriterSettings()

    def count(self, split: str) -> int:
        return int(getattr(self, split))


class ElicitationSettings(_Section):
    """Stage 2, `prism elicit`: episodes of a teacher in closed loop (paper, section 3.2).

    teacher: expert, or a model: openai:NAME, a name of the registry, a .gguf file. style: how to talk to the
    model; by default at length with openai:NAME. mask: of the known regions and objects a share is hidden
    besides, drawn for each world from this range. masks: how often each world is masked anew. masking:
    `false` gives the whole graph away at the start (for table 3). validation: `false` keeps episodes that
    did not succeed (for table 3). max_steps: before an episode is given up. max_ineffective: how often the
    same action may change nothing in an episode that is kept.

    executor: processes, threads (endpoints), ray (needs `pip install ray`), or auto. workers: how many; by
    default all cores for the expert, 1 for a model in process, 8 for an endpoint. max_cost: an estimate
    above it stops the stage before it starts; in the currency of `prices`.
    """

    teacher: str = Field(default=EXPERT, min_length=1)
    style: Literal["source", "distilled"] | None = None
    mask: ShareRange = (0.0, 0.5)
    masks: int = Field(default=1, ge=1, le=100)
    masking: bool = True
    validation: bool = True
    max_steps: int = Field(default=30, ge=1)
    max_ineffective: int = Field(default=1, ge=0)
    executor: Literal["auto", "processes", "threads", "ray"] = "auto"
    workers: int | None = Field(default=None, ge=1)
    prices: Prices = Prices()
    max_cost: float | None = Field(default=None, ge=0)


class DatasetSettings(_Section):
    """Parquet files and their card.

    max_rows: of the training split, so that runs can be compared at equal budget; None keeps all.
    evaluation: scenario files or directories, besides those that come with prism, that training must not
    have seen; leakage: what to do about rows that share a sentence or a world with one of them, to `fail` or
    to `drop` them. similarity: rows whose words agree to this share count as near-duplicates (reported,
    kept). examples: shown in the card.
    """

    max_rows: int | None = Field(default=None, ge=1)
    evaluation: tuple[Path, ...] = ()
    leakage: Literal["fail", "drop"] = "fail"
    similarity: Share = 0.9
    examples: int = Field(default=4, ge=0, le=50)


class ReportSettings(_Section):
    """`prism report`: which of the paper's tables are measured, and on what.

    scenarios: files or directories; by default held-out generated ones and those that come with prism.
    source: the teacher to compare with. mask: share hidden besides. ablation: a YAML file with the planners
    of table 3. queries: planning steps for each curve of figure 5. jobs: processes.
    """

    tables: tuple[Table, ...] = ("table1", "table2", "figure5")
    scenarios: tuple[Path, ...] = ()
    source: str = EXPERT
    mask: Share = 0.3
    seed: int = Field(default=0, ge=0)
    ablation: Path | None = None
    queries: int = Field(default=60, ge=2)
    jobs: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _has_ablation(self) -> ReportSettings:
        if "table3" in self.tables and self.ablation is None:
            raise ValueError("table3 compares several runs: name their planners in the file `ablation:`")
        return self


class DistillConfig(_Section):
    """A distillation run. name: also that of its directory, below `directory`. seed: of everything that is
    drawn before training; training has its own."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    domain: str = "spine"
    seed: int = Field(default=0, ge=0)
    directory: Path = Path("log/distill")
    base: BaseSettings = BaseSettings()
    scenarios: ScenarioSettings = ScenarioSettings()
    elicitation: ElicitationSettings = ElicitationSettings()
    dataset: DatasetSettings = DatasetSettings()
    training: TrainingSettings = TrainingSettings()
    export: ExportSettings = ExportSettings()
    report: ReportSettings = ReportSettings()

    @property
    def run_directory(self) -> Path:
        return self.directory.expanduser() / self.name


def load_config(path: str | Path) -> DistillConfig:
    """Read a config. Raises ConfigError."""
    path = Path(path)
    try:
        source = read_marked_yaml(path)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read: {error.strerror or error}; ready configs are in config/distill/"
        ) from None
    except YamlError as error:
        raise ConfigError(f"{path}:{error.line}: {error.problem}") from None
    if not isinstance(source.data, dict):
        raise ConfigError(f"{path}:1: expected `key: value` pairs, with at least `name:`")
    try:
        config = DistillConfig.model_validate(source.data)
    except ValidationError as error:
        problems = [_explain(path, source, dict(detail)) for detail in error.errors()]
        raise ConfigError("\n".join(problems)) from None
    if config.domain not in domain_names():
        known = ", ".join(domain_names())
        raise ConfigError(
            f"{path}:{source.line(('domain',))}: domain: there is no domain {config.domain!r}; "
            f"installed domains: {known}"
        )
    return config


def _explain(path: Path, source: MarkedYaml, error: dict[str, Any]) -> str:
    location: tuple[str | int, ...] = tuple(error["loc"])
    kind = error["type"]
    if kind == "extra_forbidden":
        known = _keys(location[:-1])
        close = difflib.get_close_matches(str(location[-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known)}"
        message = f"unknown key; {hint}"
    elif kind == "missing":
        message = f"is missing; add `{location[-1]}:`"
    elif kind == "value_error":
        message = str(error["ctx"]["error"])
    else:
        message = f"{error['msg'][0].lower()}{error['msg'][1:]}, got {error['input']!r}"
    field = ".".join(map(str, location)) or "the file"
    return f"{path}:{source.line(location)}: {field}: {message}"


def _keys(location: tuple[str | int, ...]) -> list[str]:
    """The keys of the section that `location` leads to."""
    section: type[BaseModel] = DistillConfig
    for step in location:
        field = section.model_fields.get(str(step))
        inner = _section_of(field.annotation) if field is not None else None
        if inner is None:
            return []
        section = inner
    return list(section.model_fields)


def _section_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if isinstance(annotation, UnionType) or typing.get_origin(annotation) is not None:
        return next(filter(None, map(_section_of, typing.get_args(annotation))), None)
    return None
