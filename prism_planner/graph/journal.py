"""A scene graph's journal on disk: what was acknowledged survives a crash at any moment.

A directory holds `log-N.journal` (the deltas after revision N), `snapshot-N.journal` (the graph at
revision N, as deltas from nothing) and `lock`. A new log begins and a snapshot is written every
`snapshot_every` deltas, by a thread that folds the same deltas into a graph of its own, so that
`append` never waits for work on the whole graph. The last two snapshots and the logs since the
older one are kept.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, NoReturn

from pydantic import ValidationError

from prism_planner.graph import spine_json
from prism_planner.graph.delta import GraphDelta
from prism_planner.graph.durable import sync_directory, write_atomically
from prism_planner.graph.records import FILE_HEADER, encode, has_record_after, read_records
from prism_planner.graph.scene_graph import GraphError, SceneGraph

SyncPolicy = Literal["each", "os"]
_Pace = Callable[[Iterable[GraphDelta]], Iterator[GraphDelta]]

_END_OF_SNAPSHOT = b"end"
# The snapshot thread works in slices of about a millisecond and lets go of the interpreter between
# them, so that the thread that appends is not kept waiting.
_SLICE = 200
_PAUSE_S = 0.002

_log = logging.getLogger(__name__)


class JournalError(Exception):
    """The journal cannot be used or written; the message says why and what to do."""


class JournalLockedError(JournalError):
    """Another process, or another Journal of this one, has the directory."""


class JournalCorruptedError(JournalError):
    """A record in the middle of the journal is damaged.

    path, offset: the file and the byte where it starts. revision: the last that could be read.
    readable: the graph at that revision, in SPINE's JSON.
    """

    def __init__(self, reason: str, *, path: Path, offset: int, revision: int, readable: Path) -> None:
        super().__init__(
            f"{path}: byte {offset}: {reason}. Nothing was deleted; the graph up to revision {revision} "
            f"is in {readable}. Restore the file from a backup, or open the journal with salvage=True to "
            "go on from that revision"
        )
        self.path = path
        self.offset = offset
        self.revision = revision
        self.readable = readable


class _Damage(Exception):
    """Becomes a JournalCorruptedError once the readable part is safe."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.offset = offset


class Journal:
    """The durable history of one scene graph. Use it from one thread.

    directory: created if missing; locked until `close` or the end of the process.
    sync: "each" makes every `append` durable against power loss (one fdatasync); "os" leaves that to
    the operating system, which loses nothing when only this process dies, but the last seconds with
    the power. snapshot_every: deltas between snapshots. salvage: instead of raising
    JournalCorruptedError, move what is damaged and what follows it into a directory `damaged-K` and go
    on from what is readable.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        sync: SyncPolicy = "each",
        snapshot_every: int = 1000,
        salvage: bool = False,
    ) -> None:
        if snapshot_every < 1:
            raise ValueError(f"snapshot_every must be at least 1, not {snapshot_every}")
        self._directory = Path(directory)
        self._sync = sync
        self._snapshot_every = snapshot_every
        self._recovered: SceneGraph | None = None
        self._pending: list[GraphDelta] = []
        self._writer: threading.Thread | None = None
        self._hurry = threading.Event()
        self._failure: str | None = None
        self._revision = 0
        self._log_file = -1
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            sync_directory(self._directory.parent)
            self._lock_file = _lock(self._directory / "lock")
        except OSError as error:
            raise JournalError(
                f"{self._directory}: cannot be used for a journal: {error.strerror}"
            ) from error
        try:
            self._open(salvage)
        except OSError as error:
            self.close()
            raise JournalError(f"{error.filename or self._directory}: {error.strerror}") from error
        except JournalError:
            self.close()
            raise

    @property
    def revision(self) -> int:
        """The revision of the last delta in the journal; 0 in an empty one."""
        return self._revision

    def recover(self) -> SceneGraph:
        """The graph with every acknowledged delta. To be called before the first `append`."""
        if self._recovered is None:
            raise JournalError(f"{self._directory}: recover the graph before journaling changes of it")
        return self._recovered.copy()

    def append(self, delta: GraphDelta, revision: int) -> None:
        """Write the delta that leads to `revision`, and return once it is durable.

        Call `SceneGraph.check` before and `apply` after, so that neither has what the other lacks.
        Raises JournalError when it could not be written; the journal then still ends with the
        delta before, and refuses more after a failed synchronisation, when nobody knows what is on
        the disk.
        """
        if self._failure is not None:
            raise JournalError(self._failure)
        if revision != self._revision + 1:
            raise JournalError(
                f"revision {revision} cannot follow revision {self._revision} in {self._directory}: "
                "journal each delta once, in order"
            )
        self._write(encode(revision, _to_json(delta)))
        self._recovered = None
        self._revision = revision
        self._pending.append(delta)
        if self._unsnapped + len(self._pending) >= self._snapshot_every and not self._is_writing():
            self._begin_snapshot()

    def close(self) -> None:
        """Finish a snapshot under way and let others have the directory. Calling it again is fine."""
        self._hurry.set()
        if self._writer is not None:
            self._writer.join()
        for descriptor in (self._log_file, self._lock_file):
            if descriptor >= 0:
                os.close(descriptor)
        self._log_file = self._lock_file = -1
        self._failure = f"the journal in {self._directory} is closed"

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Opening

    def _open(self, salvage: bool) -> None:
        for leftover in self._directory.glob("*.tmp"):
            leftover.unlink()
        recovery = _Recovery(self._directory)
        try:
            recovery.run()
        except _Damage as damage:
            self._keep_readable(recovery.graph, damage, salvage)
        self._recovered = recovery.graph
        self._replica = recovery.graph.copy()
        self._revision = recovery.graph.revision
        self._unsnapped = recovery.replayed
        path = max(self._directory.glob("log-*.journal"), default=None)
        if path is None:
            self._start_log()
        else:
            self._log_file = os.open(path, os.O_WRONLY | os.O_APPEND)
            self._log_path, self._log_size = path, path.stat().st_size

    def _keep_readable(self, graph: SceneGraph, damage: _Damage, salvage: bool) -> None:
        readable = self._directory / f"readable-{graph.revision}.json"
        spine_json.save_file(graph, readable)
        error = JournalCorruptedError(
            str(damage), path=damage.path, offset=damage.offset, revision=graph.revision, readable=readable
        )
        if not salvage:
            raise error
        _log.error("%s", error)
        aside = self._new_directory("damaged")
        for path in (*self._directory.glob("log-*"), *self._directory.glob("snapshot-*")):
            if _number(path) > graph.revision:
                path.rename(aside / path.name)
        if damage.path.exists():
            shutil.copy2(damage.path, aside)
            _truncate(damage.path, max(damage.offset, len(FILE_HEADER)))

    def _new_directory(self, stem: str) -> Path:
        number = 1
        while (path := self._directory / f"{stem}-{number}").exists():
            number += 1
        path.mkdir()
        return path

    # Appending

    def _write(self, record: bytes) -> None:
        # Stands until the record is known to be whole: an exception at any point leaves it.
        self._failure = f"{self._log_path}: a write was interrupted: open the journal again"
        try:
            written = 0
            while written < len(record):
                written += os.write(self._log_file, record[written:])
        except OSError as error:
            self._take_back(error)
        if self._sync == "each":
            try:
                os.fdatasync(self._log_file)
            except OSError as error:
                self._fail(f"{self._log_path}: could not be synchronised ({error.strerror})", error)
        self._log_size += len(record)
        self._failure = None

    def _take_back(self, error: OSError) -> NoReturn:
        """Remove a record that was written in part (the disk is full), so that the next may follow."""
        try:
            os.ftruncate(self._log_file, self._log_size)
        except OSError:
            self._fail(f"{self._log_path}: could not be written ({error.strerror})", error)
        self._failure = None
        raise JournalError(f"{self._log_path}: could not be written: {error.strerror}") from error

    def _fail(self, message: str, error: OSError) -> NoReturn:
        self._failure = f"{message}: check the disk, then open the journal again"
        raise JournalError(self._failure) from error

    def _start_log(self) -> None:
        path = _log_path(self._directory, self._revision)
        write_atomically(path, [FILE_HEADER])
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        if self._log_file >= 0:
            os.close(self._log_file)
        self._log_file, self._log_path, self._log_size = descriptor, path, len(FILE_HEADER)

    # Snapshots

    def _is_writing(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def _begin_snapshot(self) -> None:
        try:
            self._start_log()
        except OSError as error:
            _log.warning("%s: no new log could be started: %s", self._directory, error.strerror)
            return
        deltas, self._pending, self._unsnapped = self._pending, [], 0
        self._writer = threading.Thread(
            target=self._snapshot, args=(deltas,), name="journal-snapshot", daemon=True
        )
        self._writer.start()

    def _snapshot(self, deltas: Iterable[GraphDelta]) -> None:
        """In the snapshot thread, which alone uses the replica while it runs."""
        try:
            for delta in self._unhurried(deltas, 5):
                self._replica.apply(delta)
            _write_snapshot(self._directory, self._replica, self._unhurried)
            self._remove_superseded()
        except OSError as error:
            _log.warning("%s: no snapshot could be written: %s", self._directory, error.strerror)
        except GraphError as error:
            self._failure = f"{self._directory}: a delta was journaled that does not fit the graph: {error}"
            _log.error("%s", self._failure)

    def _unhurried(self, items: Iterable[GraphDelta], at_once: int = 1) -> Iterator[GraphDelta]:
        for number, item in enumerate(items, start=1):
            yield item
            if number % at_once == 0 and not self._hurry.is_set():
                time.sleep(_PAUSE_S)

    def _remove_superseded(self) -> None:
        snapshots = sorted(self._directory.glob("snapshot-*.journal"))
        if len(snapshots) < 2:
            return
        oldest_kept = _number(snapshots[-2])
        for path in snapshots[:-2]:
            path.unlink()
        for path in self._directory.glob("log-*"):
            if _number(path) < oldest_kept:
                path.unlink()


class _Recovery:
    """Rebuilds the graph from a directory; `graph` is as far as it got when `run` raises _Damage.

    replayed: how many deltas came from logs.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.replayed = 0
        self.graph = SceneGraph()

    def run(self) -> None:
        unread: list[_Damage] = []
        for path in sorted(self.directory.glob("snapshot-*.journal"), reverse=True):
            try:
                self.graph = _read_snapshot(path)
                break
            except _Damage as damage:
                unread.append(damage)
        logs = sorted(self.directory.glob("log-*.journal"))
        needed = [log for i, log in enumerate(logs) if i + 1 == len(logs) or not self._covers(logs[i + 1])]
        for path in needed:
            if _number(path) > self.graph.revision:
                raise unread[0] if unread else _Damage(path, 0, self._gap(_number(path) + 1))
            self._replay(path, last=path == logs[-1])
        for snapshot in unread:
            if _number(snapshot.path) > self.graph.revision:
                raise snapshot
            _log.warning("%s: %s; older files replaced it, nothing is lost", snapshot.path, snapshot)
            snapshot.path.rename(snapshot.path.with_suffix(".damaged"))

    def _covers(self, log: Path) -> bool:
        """Whether the graph already has everything before `log`."""
        return _number(log) <= self.graph.revision

    def _replay(self, path: Path, *, last: bool) -> None:
        data = path.read_bytes()
        end = len(FILE_HEADER)
        for revision, record in enumerate(read_records(data), start=_number(path) + 1):
            if record.revision != revision:
                raise _Damage(path, record.start, f"revision {record.revision} where {revision} should be")
            if record.revision == self.graph.revision + 1:
                self.replayed += 1
                try:
                    self.graph.apply(GraphDelta.model_validate_json(record.payload))
                except (ValidationError, GraphError) as error:
                    raise _Damage(path, record.start, f"the delta does not fit: {error}") from error
            end = record.end
        if data.startswith(FILE_HEADER) and end == len(data):
            return
        start = end if data.startswith(FILE_HEADER) else 0
        if not last or has_record_after(data, start) or (start == 0 and not FILE_HEADER.startswith(data)):
            raise _Damage(path, start, "the record is damaged")
        self._cut(path, data, start)

    def _cut(self, path: Path, data: bytes, end: int) -> None:
        """Remove a last record that was never acknowledged, keeping its bytes in a file beside."""
        if end == 0:
            write_atomically(path, [FILE_HEADER])
            return
        _log.warning("%s: the last record is torn: %d bytes cut at byte %d", path, len(data) - end, end)
        write_atomically(path.with_suffix(f".torn-{end}"), [data[end:]])
        _truncate(path, end)

    def _gap(self, revision: int) -> str:
        return f"revision {revision} follows revision {self.graph.revision}, those between are missing"


def _read_snapshot(path: Path) -> SceneGraph:
    data = path.read_bytes()
    records = list(read_records(data))
    end = records[-1].end if records else 0
    if not records or end != len(data) or records[-1].payload != _END_OF_SNAPSHOT:
        raise _Damage(path, end, "the snapshot is damaged")
    try:
        deltas = (GraphDelta.model_validate_json(record.payload) for record in records[:-1])
        return SceneGraph.from_deltas(deltas, revision=_number(path))
    except (ValidationError, GraphError) as error:
        raise _Damage(path, 0, f"the snapshot does not fit together: {error}") from error


def _write_snapshot(directory: Path, graph: SceneGraph, paced: _Pace | None = None) -> None:
    deltas = _parts(graph)
    paced_deltas = deltas if paced is None else paced(deltas)
    revision = graph.revision

    def content() -> Iterator[bytes]:
        yield FILE_HEADER
        for delta in paced_deltas:
            yield encode(revision, _to_json(delta))
        yield encode(revision, _END_OF_SNAPSHOT)

    write_atomically(directory / f"snapshot-{revision:012d}.journal", content())


def _parts(graph: SceneGraph) -> Iterator[GraphDelta]:
    """The whole graph as small deltas."""
    whole = graph.as_delta()
    for i in range(0, len(whole.add_nodes), _SLICE):
        yield GraphDelta.model_construct(add_nodes=whole.add_nodes[i : i + _SLICE])
    for i in range(0, len(whole.add_connections), _SLICE):
        yield GraphDelta.model_construct(add_connections=whole.add_connections[i : i + _SLICE])
    yield GraphDelta.model_construct(update_robot_location=whole.update_robot_location)


def _truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)
        os.fsync(file.fileno())


def _to_json(delta: GraphDelta) -> bytes:
    return delta.model_dump_json(exclude_defaults=True).encode()


def _log_path(directory: Path, revision: int) -> Path:
    return directory / f"log-{revision:012d}.journal"


def _number(path: Path) -> int:
    return int(path.name.split("-")[1].split(".")[0])


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise JournalLockedError(
            f"{path.parent}: the journal is in use by process {holder}: stop it, or choose another directory"
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor
