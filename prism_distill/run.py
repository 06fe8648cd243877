"""A run's directory: what was made of which settings, in files that are whole or not there.

`manifest.json` says for each stage from what it was made: the settings, the digest of what the stage before
gave it, seeds, versions. A stage is continued, or taken as done, for the same inputs only, so that old and
new data never mix.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import prism_distill
import prism_planner
from prism_distill.config import DistillConfig
from prism_planner.cli.errors import CommandError
from prism_planner.evaluation.store import code_digest as planner_digest
from prism_planner.graph.durable import sync_file

MANIFEST = "manifest.json"
FORMAT: Final = "prism-run/1"

StageName = Literal["scenarios", "elicitation", "dataset", "training", "export", "report"]

# What each stage leaves in the run's directory.
_LEFT: dict[StageName, tuple[str, ...]] = {
    "scenarios": ("scenarios",),
    "elicitation": ("traces",),
    "dataset": ("dataset",),
    "training": ("checkpoints", "adapter", "candidate", "training.jsonl", "training.png"),
    "export": ("export",),
    "report": ("report",),
}
_COMMANDS: dict[StageName, str] = {
    "scenarios": "synthesize",
    "elicitation": "elicit",
    "dataset": "elicit",
    "training": "train",
    "export": "export",
    "report": "report",
}
# Made from other stages at no cost.
_DERIVED: frozenset[StageName] = frozenset({"dataset", "export"})
_PACKAGES = (
    "accelerate",
    "datasets",
    "gguf",
    "llama-cpp-python",
    "openai",
    "peft",
    "pyarrow",
    "pydantic",
    "torch",
    "transformers",
)
# The code that scenarios and episodes depend on, besides the planner's own.
_DECISIVE = ("scenarios", "elicitation.py", "synthesis.py")
_MOST_NAMED = 6


class RunError(CommandError):
    """A run cannot go on; the message says why and what to do."""


class StageRecord(BaseModel):
    """One stage. inputs: all that its result depends on. code: digest of the source, where that decides too.
    seconds: of work, over all commands that worked on it. files: SHA-256 by path in the run's directory.
    results: figures of the stage."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["begun", "done"] = "begun"
    inputs: dict[str, Any]
    code: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    begun: str = ""
    done: str = ""
    seconds: float = 0.0
    files: dict[str, str] = Field(default_factory=dict)
    results: dict[str, Any] = Field(default_factory=dict)

    @property
    def output(self) -> str:
        """The digest of what the stage made."""
        return digest(self.files)


class Manifest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal["prism-run/1"] = FORMAT
    name: str
    seed: int = 0
    config: dict[str, Any] = Field(default_factory=dict)
    stages: dict[StageName, StageRecord] = Field(default_factory=dict)


class Run:
    """A run's directory, locked for this process while the context lasts."""

    def __init__(self, config: DistillConfig, *, lock: bool = True) -> None:
        """lock: False for the other processes of one command, such as accelerate starts."""
        self.config = config
        self.directory = config.run_directory
        self._lock_wanted = lock
        self._lock: int | None = None
        self.manifest = Manifest(name=config.name)

    def __enter__(self) -> Run:
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._lock_wanted:
            self._lock = _lock(self.directory / "run.lock")
        try:
            self.manifest = self._read()
        except RunError:
            self._unlock()
            raise
        self.manifest.seed = self.config.seed
        self.manifest.config = self.config.model_dump(mode="json")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._unlock()

    def folder(self, stage: StageName) -> Path:
        return self.directory / _LEFT[stage][0]

    def is_done(self, stage: StageName) -> bool:
        record = self.manifest.stages.get(stage)
        return record is not None and record.status == "done"

    def output(self, stage: StageName) -> str:
        """The digest of what a finished stage made.

        Raises RunError for one that is not finished, whose files are not what it left, or that was made
        with other settings than the config has now, as was any stage before it.
        """
        stages: tuple[StageName, ...] = get_args(StageName)
        for earlier in stages[: stages.index(stage) + 1]:
            self._check_settings(earlier)
        record = self.manifest.stages.get(stage)
        if record is None or record.status != "done":
            done = "is not finished" if record is not None else "has not been started"
            raise RunError(
                f"{self.directory}: the stage {stage} {done}: run `prism {_COMMANDS[stage]} CONFIG` first"
            )
        if damage := self._damage(record):
            again = f"`prism {_COMMANDS[stage]} CONFIG{'' if stage in _DERIVED else ' --fresh'}`"
            raise RunError(
                f"{damage} since the stage {stage} was done: put back what was there, or make it anew "
                f"with {again}"
            )
        return record.output

    def begin(
        self,
        stage: StageName,
        inputs: Mapping[str, Any],
        *,
        code: str = "",
        fresh: bool = False,
        extend: Collection[str] = (),
    ) -> bool:
        """Start or continue a stage; False when it is done already.

        inputs: all that decides the result, as JSON-able data. code: a digest of the source that decides it
        too: work that was begun with other code is not continued. fresh: forget what there is. extend:
        inputs, dotted, of which other values continue the work. Raises RunError when the stage was begun with
        other inputs, unless it is one that costs nothing: that is made anew, also when its files changed.
        """
        plain = json.loads(json.dumps(dict(inputs), default=str))
        record = self.manifest.stages.get(stage)
        changes = _changes(record, plain, code, extend) if record is not None else []
        if fresh or (stage in _DERIVED and (record is None or changes or self._damage(record))):
            self.forget(stage)
            record = None
        elif changes:
            assert record is not None
            raise RunError(
                f"{self.directory}: the stage {stage} was {record.status} with other inputs:\n"
                + "\n".join(f"  {change}" for change in changes)
                + f"\nTo start it anew, forgetting what there is: `prism {_COMMANDS[stage]} CONFIG --fresh`. "
                "To keep it: undo the change, or give the run another `name:`"
            )
        elif record is None and (left := self._left(stage)):
            raise RunError(
                f"{left[0]}: is there, but {MANIFEST} does not say from what it was made. Start the stage "
                f"anew with `prism {_COMMANDS[stage]} CONFIG --fresh`, or give the run another `name:`"
            )
        if record is not None and record.status == "done" and record.inputs == plain:
            return False
        if record is not None:
            record.inputs, record.status = plain, "begun"
        else:
            record = StageRecord(inputs=plain, code=code, begun=_now())
        record.versions = versions()
        self.manifest.stages[stage] = record
        self._save()
        return True

    @contextmanager
    def working(self, stage: StageName) -> Iterator[None]:
        """Count the time that is spent on a stage, also when it fails."""
        began = time.monotonic()
        try:
            yield
        except BaseException:
            # A full disk may be why it failed.
            with suppress(RunError):
                self._add_seconds(stage, time.monotonic() - began)
            raise
        self._add_seconds(stage, time.monotonic() - began)

    def finish(self, stage: StageName, files: Iterable[Path], *, results: Mapping[str, Any]) -> None:
        """The stage is done: note its files, which are all on disk, and its figures."""
        record = self.manifest.stages[stage]
        record.files = {str(file.relative_to(self.directory)): file_digest(file) for file in sorted(files)}
        record.results = dict(results)
        record.status, record.done = "done", _now()
        self._save()

    def note(
        self,
        stage: StageName,
        inputs: Mapping[str, Any],
        files: Iterable[Path],
        *,
        results: Mapping[str, Any],
    ) -> None:
        """Record a stage that keeps its own account of what is finished."""
        record = StageRecord(inputs=json.loads(json.dumps(dict(inputs), default=str)), begun=_now())
        record.versions = versions()
        self.manifest.stages[stage] = record
        self.finish(stage, files, results=results)

    def forget(self, stage: StageName) -> None:
        """Delete what a stage left."""
        # The manifest first: files that it does not know are never taken for results.
        if self.manifest.stages.pop(stage, None) is not None:
            self._save()
        for path in self._left(stage):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _add_seconds(self, stage: StageName, seconds: float) -> None:
        self.manifest.stages[stage].seconds += seconds
        self._save()

    def _check_settings(self, stage: StageName) -> None:
        record = self.manifest.stages.get(stage)
        known = record.inputs.get(stage) if record is not None else None
        if not isinstance(known, dict):
            return
        then = dict(_flat(known, stage))
        now = dict(_flat(getattr(self.config, stage).model_dump(mode="json"), stage))
        # What a config leaves open was chosen when the stage began.
        said = {key for key in then if now.get(key) is not None}
        if changes := _differences(then, now, said):
            raise RunError(
                f"{self.directory}: the stage {stage} was made with other settings:\n"
                + "\n".join(f"  {change}" for change in _most_named(changes))
                + f"\nTo keep it: undo the change, or give the run another `name:`. To bring it up to date: "
                f"`prism {_COMMANDS[stage]} CONFIG`, then what comes after it"
            )

    def _damage(self, record: StageRecord) -> str:
        """Which file of a stage is not as it was left, and why; empty when all are."""
        for name, known in record.files.items():
            path = self.directory / name
            if not path.is_file():
                return f"{path}: is gone"
            if file_digest(path) != known:
                return f"{path}: was changed"
        return ""

    def _left(self, stage: StageName) -> list[Path]:
        """What there is of a stage, but for empty directories."""
        paths = [self.directory / name for name in _LEFT[stage]]
        return [path for path in paths if path.is_file() or (path.is_dir() and any(path.iterdir()))]

    def _read(self) -> Manifest:
        path = self.directory / MANIFEST
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return Manifest(name=self.config.name)
        try:
            return Manifest.model_validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the file"
            raise RunError(
                f"{path}: {field}: {first['msg']}; expected `format: {FORMAT}`. It is of another version of "
                "prism, or damaged: give the run another `name:`, or delete its directory"
            ) from None

    def _save(self) -> None:
        write_whole(self.directory / MANIFEST, f"{self.manifest.model_dump_json(indent=2)}\n".encode())

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` when that went well. Raises RunError when there is no room.

    Whoever looks, also after a kill or a power failure, finds the whole file or none.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        sync_file(partial)
        partial.replace(path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all. Raises RunError."""
    with whole(path) as partial:
        partial.write_bytes(content)


def disk_error(path: Path, error: OSError) -> RunError:
    """What to say when a file could not be written."""
    return RunError(
        f"{path}: cannot be written: {error.strerror or error}. What was finished is kept: make room and run "
        "the same command again"
    )


def digest(content: Any) -> str:
    """SHA-256 of JSON-able data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    result = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            result.update(block)
    return result.hexdigest()


@cache
def code_digest() -> str:
    """A digest of the source that decides what is synthesised and elicited."""
    root = Path(prism_distill.__file__).parent
    result = hashlib.sha256(planner_digest().encode())
    for part in _DECISIVE:
        for file in sorted((root / part).rglob("*")) if (root / part).is_dir() else [root / part]:
            if file.is_file() and "__pycache__" not in file.parts:
                result.update(str(file.relative_to(root)).encode())
                result.update(file.read_bytes())
    return result.hexdigest()


@cache
def versions() -> dict[str, str]:
    """Versions of what takes part, by name."""
    found = {"prism": prism_planner.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _changes(record: StageRecord, inputs: dict[str, Any], code: str, ignored: Collection[str]) -> list[str]:
    """How a stage's inputs differ from those it was begun with, a sentence each."""
    before, now = dict(_flat(record.inputs)), dict(_flat(inputs))
    found = _differences(before, now, (before.keys() | now.keys()) - set(ignored))
    if record.status == "begun" and record.code != code:
        found.append("the code of prism that makes it has changed since")
    return _most_named(found)


def _differences(then: Mapping[str, Any], now: Mapping[str, Any], keys: Collection[str]) -> list[str]:
    return [
        f"{key}: {_shown(then.get(key))} then, {_shown(now.get(key))} now"
        for key in sorted(keys)
        if then.get(key) != now.get(key)
    ]


def _most_named(changes: Sequence[str]) -> list[str]:
    more = len(changes) - _MOST_NAMED
    return [*changes[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:16]}..."


def _lock(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        who = f"process {owner}" if owner else "another process"
        raise RunError(
            f"{path.parent}: {who} is working on this run; wait for it, or give this run another `name:`"
        ) from None
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
