"""Finished episodes on disk, so that an evaluation that was stopped goes on where it was."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

import prism_planner
from prism_planner.evaluation.episode import EpisodeResult

# The code that an episode's outcome depends on.
_DECISIVE = ("domains", "graph", "language", "skills", "worlds", "evaluation/episode.py")


class StoreError(Exception):
    """The file of finished episodes cannot be used; the message names it and the fix."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: str
    result: EpisodeResult


@cache
def code_digest() -> str:
    """A digest of the planner's own source: a changed planner does not inherit old results."""
    root = Path(prism_planner.__file__).parent
    digest = hashlib.sha256(prism_planner.__version__.encode())
    for part in _DECISIVE:
        files = [root / part] if part.endswith(".py") else sorted((root / part).rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(root)).encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def episode_key(scenario_file: Path, **identity: Any) -> str:
    """The digest of all that decides an episode: the scenario's content, the code, and `identity`."""
    content = hashlib.sha256(scenario_file.read_bytes()).hexdigest()
    whole = json.dumps([content, code_digest(), identity], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode()).hexdigest()


class EpisodeStore:
    """An append-only JSON-lines file, one finished episode a line.

    A line is written with one system call and synced, so that a kill at any moment leaves whole lines
    and at most one partial last one, which the next run drops. One process writes at a time (a lock
    that ends with the process).
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        """Open or create the file. fresh: forget whatever is in it. Raises StoreError."""
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened for writing: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise StoreError(
                f"{path}: another evaluation is writing to it; wait for it, or choose another --out"
            ) from error
        try:
            if fresh:
                os.ftruncate(self._file, 0)
            self._finished = dict(self._read())
        except StoreError:
            os.close(self._file)
            raise

    def get(self, key: str) -> EpisodeResult | None:
        return self._finished.get(key)

    def __len__(self) -> int:
        return len(self._finished)

    def add(self, key: str, result: EpisodeResult) -> None:
        """Raises StoreError when the line could not be written whole, as on a full disk."""
        line = f"{_Line(key=key, result=result).model_dump_json()}\n".encode()
        try:
            written = os.write(self._file, line)
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written: {error.strerror}") from error
        if written < len(line):
            raise StoreError(f"{self._path}: the last episode was written in part only: is the disk full?")
        self._finished[key] = result

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> EpisodeStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> Iterator[tuple[str, EpisodeResult]]:
        content = self._path.read_bytes()
        whole, newline, _ = content.rpartition(b"\n")
        if len(whole) + len(newline) < len(content):
            os.ftruncate(self._file, len(whole) + len(newline))
        for number, line in enumerate(whole.split(b"\n") if newline else (), 1):
            if not line.strip():
                continue
            try:
                record = _Line.model_validate_json(line)
            except ValidationError as error:
                raise StoreError(
                    f"{self._path}, line {number}: not a finished episode ({error.errors()[0]['msg']}); "
                    "remove the line, or start over with --fresh"
                ) from error
            yield record.key, record.result
