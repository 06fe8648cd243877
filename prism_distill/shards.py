"""A shard: a file of many records that is written at once, and the journal that gathers them until then."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from prism_distill.run import disk_error, whole

Record = Mapping[str, Any]


class Shard:
    """The file `path` once it is whole; until then a hidden journal beside it, a record a line.

    A record is in the journal as soon as `add` returns, so that a killed process loses nothing that it
    finished; lines that are damaged or not whole are dropped. Records have a unique key.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal = path.with_name(f".{path.name}.journal")
        self._file: int | None = None

    @property
    def sealed(self) -> bool:
        return self.path.exists()

    def keys(self) -> set[str]:
        """The keys of the records that the journal holds."""
        return {key for key, _ in self.records()}

    def records(self) -> Iterator[tuple[str, Any]]:
        """Keys and records of the journal, in the order in which they were added."""
        if not self._journal.exists():
            return
        for line in self._journal.read_bytes().split(b"\n")[:-1]:
            try:
                key, record = json.loads(line)
            except ValueError:
                # A power failure leaves anything in lines that were not on the disk yet.
                continue
            yield key, record

    def add(self, key: str, record: Record) -> None:
        """Raises RunError, and adds nothing, when there is no room."""
        if self._file is None:
            self._file = self._open()
        line = json.dumps([key, record], ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        end = os.fstat(self._file).st_size
        try:
            view = memoryview(line + b"\n")
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            os.ftruncate(self._file, end)
            raise disk_error(self.path, error) from error

    def seal(self, write: Callable[[Path, list[Any]], None]) -> None:
        """Write the shard: `write` gets a path, and all records in the order of keys. Raises RunError."""
        records = [record for _, record in sorted(self.records(), key=lambda item: item[0])]
        with whole(self.path) as partial:
            write(partial, records)
        self.close()
        self.forget_journal()

    def forget_journal(self) -> None:
        """Delete the journal, which a kill may leave behind a shard that is whole."""
        self._journal.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        try:
            self._journal.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._journal, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise disk_error(self.path, error) from error
        content = self._journal.read_bytes()
        os.ftruncate(file, content.rfind(b"\n") + 1)
        return file


class Gathering:
    """Shards that are being filled, each written as soon as it has all of its records."""

    def __init__(self, write: Callable[[Path, list[Any]], None]) -> None:
        """write: as for `Shard.seal`."""
        self._write = write
        self._open: dict[Path, tuple[Shard, set[str]]] = {}

    def begin(self, path: Path, keys: Iterable[str]) -> set[str]:
        """Start or continue the shard with the records `keys`; those that it still lacks."""
        shard = Shard(path)
        if shard.sealed:
            shard.forget_journal()
            return set()
        missing = set(keys) - shard.keys()
        if missing:
            self._open[path] = (shard, set(missing))
        else:
            shard.seal(self._write)
        return missing

    def add(self, path: Path, key: str, record: Record) -> None:
        """Raises RunError when there is no room."""
        shard, missing = self._open[path]
        shard.add(key, record)
        missing.discard(key)
        if not missing:
            shard.seal(self._write)
            del self._open[path]

    def __enter__(self) -> Gathering:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for shard, _ in self._open.values():
            shard.close()


def shard_path(folder: Path, split: str, number: int, suffix: str) -> Path:
    """`folder`/train-00003.jsonl and its like."""
    return folder / f"{split}-{number:05}.{suffix}"


def sealed_shards(folder: Path, split: str, suffix: str) -> list[Path]:
    """The whole shards of a split, in order."""
    return sorted(folder.glob(f"{split}-[0-9]*.{suffix}"))
