"""The journal: what was acknowledged is there again, whatever happened to process or file."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prism_planner.graph import spine_json
from prism_planner.graph.delta import GraphDelta, Node
from prism_planner.graph.journal import Journal, JournalCorruptedError, JournalError, JournalLockedError
from prism_planner.graph.scene_graph import SceneGraph


def delta(number: int) -> GraphDelta:
    """The delta that leads to revision `number` in these tests."""
    name = f"r{number}"
    return GraphDelta(
        add_nodes=(Node(name=name, kind="region", coords=(number, 0), attributes={"ü": "ß"}),),
        add_connections=((name, f"r{number - 1}"),) if number > 1 else (),
        remove_nodes=(f"r{number - 5}",) if number % 7 == 6 else (),
        update_robot_location=name,
    )


def fold(revision: int) -> SceneGraph:
    return SceneGraph.from_deltas(delta(number) for number in range(1, revision + 1))


def write(directory: Path, first: int, last: int, *, snapshot_every: int = 1000) -> None:
    with Journal(directory, snapshot_every=snapshot_every) as journal:
        for number in range(first, last + 1):
            journal.append(delta(number), number)


def recover(directory: Path) -> SceneGraph:
    with Journal(directory) as journal:
        graph = journal.recover()
        assert journal.revision == graph.revision
        return graph


def test_a_new_journal_is_empty_and_makes_its_directory(tmp_path: Path) -> None:
    graph = recover(tmp_path / "a" / "b")
    assert (len(graph), graph.revision) == (0, 0)


def test_what_was_appended_is_recovered_and_can_be_continued(tmp_path: Path) -> None:
    write(tmp_path, 1, 4)
    write(tmp_path, 5, 9)
    graph = recover(tmp_path)
    assert graph == fold(9)
    assert graph.revision == 9
    assert graph.regions == fold(9).regions


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(1, 6))
def test_recovery_is_the_same_through_any_snapshots(
    tmp_path_factory: pytest.TempPathFactory, sittings: list[int], snapshot_every: int
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    last = 0
    for count in sittings:
        write(directory, last + 1, last + count, snapshot_every=snapshot_every)
        last += count
        graph = recover(directory)
        assert (graph, graph.revision) == (fold(last), last)
        assert (graph.regions, graph.region_connections) == (
            fold(last).regions,
            fold(last).region_connections,
        )


def test_old_snapshots_and_logs_are_removed(tmp_path: Path) -> None:
    for first in range(1, 201, 20):
        write(tmp_path, first, first + 19, snapshot_every=10)
    assert len(list(tmp_path.glob("snapshot-*"))) == 2
    assert len(list(tmp_path.glob("log-*"))) <= 4
    assert recover(tmp_path) == fold(200)


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    from test_journal import Journal, delta

    journal = Journal(sys.argv[1], snapshot_every=25)
    number = journal.revision
    while True:
        number += 1
        journal.append(delta(number), number)
        print(number, flush=True)
    """
)


def test_kill_9_at_any_moment_loses_nothing_acknowledged(tmp_path: Path) -> None:
    rng = random.Random(7)
    acknowledged = 0
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        ) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            assert first, "the writer did not start"
            time.sleep(rng.uniform(0, 0.4))
            writer.kill()
            lines = (first + writer.stdout.read()).split(b"\n")[:-1]
        acknowledged = int(lines[-1])
        graph = recover(tmp_path)
        assert graph.revision in (acknowledged, acknowledged + 1)
        assert graph == fold(graph.revision)
    assert acknowledged > 6


def log_of(directory: Path, count: int) -> tuple[Path, list[int]]:
    """A log of `count` records, and where each ends (the first entry is where the first starts)."""
    ends = []
    with Journal(directory) as journal:
        path = next(directory.glob("log-*"))
        ends.append(path.stat().st_size)
        for number in range(1, count + 1):
            journal.append(delta(number), number)
            ends.append(path.stat().st_size)
    return path, ends


def test_a_tail_torn_at_any_byte_is_cut_to_the_last_whole_delta(tmp_path: Path) -> None:
    path, ends = log_of(tmp_path / "whole", 2)
    data = path.read_bytes()
    for size in range(len(data) + 1):
        directory = tmp_path / str(size)
        directory.mkdir()
        (directory / path.name).write_bytes(data[:size])
        whole = sum(end <= size for end in ends[1:])
        with Journal(directory) as journal:
            graph = journal.recover()
            assert (graph, graph.revision) == (fold(whole), whole), f"cut at byte {size}"
            journal.append(delta(whole + 1), whole + 1)
        assert recover(directory) == fold(whole + 1), f"continued after a cut at byte {size}"


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"garbage", bytes(range(256)) * 20])
def test_what_a_power_cut_leaves_after_the_last_delta_is_cut_but_kept_aside(
    tmp_path: Path, tail: bytes
) -> None:
    path, ends = log_of(tmp_path, 3)
    with path.open("ab") as file:
        file.write(tail)
    assert recover(tmp_path) == fold(3)
    assert path.stat().st_size == ends[-1]
    assert [p.read_bytes() for p in tmp_path.glob("*.torn-*")] == [tail]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_one_damaged_byte_is_never_taken_for_the_truth(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    path, ends = log_of(directory, 4)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    whole = sum(end <= position for end in ends[1:])
    if whole == 3:
        assert recover(directory) == fold(3), "indistinguishable from a torn last record"
        return
    with pytest.raises(JournalCorruptedError) as error:
        Journal(directory)
    assert error.value.path == path
    assert error.value.offset == (ends[whole] if position >= ends[0] else 0)
    assert error.value.revision == whole
    assert f"{path}: byte {error.value.offset}: " in str(error.value)
    assert path.read_bytes() == content, "nothing is changed"
    assert spine_json.load_file(error.value.readable) == fold(whole)


def test_salvage_keeps_every_byte_aside_and_goes_on(tmp_path: Path) -> None:
    path, ends = log_of(tmp_path, 6)
    content = bytearray(path.read_bytes())
    content[ends[2] + 30] ^= 1
    path.write_bytes(content)
    with Journal(tmp_path, salvage=True) as journal:
        assert journal.recover() == fold(2)
        journal.append(delta(3), 3)
    assert [p.read_bytes() for p in tmp_path.glob(f"damaged-1/{path.name}")] == [content]
    assert recover(tmp_path) == fold(3)


def test_salvage_after_a_missing_log_goes_on_from_what_came_before(tmp_path: Path) -> None:
    write(tmp_path, 1, 3, snapshot_every=3)
    write(tmp_path, 4, 6, snapshot_every=3)
    write(tmp_path, 7, 8)
    for lost in ("snapshot-000000000006.journal", "log-000000000003.journal"):
        (tmp_path / lost).unlink()
    with pytest.raises(
        JournalCorruptedError, match="revision 7 follows revision 3, those between are missing"
    ):
        Journal(tmp_path)
    with Journal(tmp_path, salvage=True) as journal:
        assert journal.recover() == fold(3)
        journal.append(delta(4), 4)
    assert recover(tmp_path) == fold(4)


def test_snapshots_are_due_however_short_the_sittings(tmp_path: Path) -> None:
    for number in range(1, 6):
        write(tmp_path, number, number, snapshot_every=4)
    assert [path.name for path in tmp_path.glob("snapshot-*")] == ["snapshot-000000000004.journal"]


def test_a_damaged_snapshot_is_replaced_by_the_one_before(tmp_path: Path) -> None:
    write(tmp_path, 1, 3, snapshot_every=3)
    write(tmp_path, 4, 8, snapshot_every=3)
    newest = max(tmp_path.glob("snapshot-*.journal"))
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 255
    newest.write_bytes(content)
    graph = recover(tmp_path)
    assert (graph, graph.revision) == (fold(8), 8)
    assert [p.read_bytes() for p in tmp_path.glob("*.damaged")] == [content]


def test_damaged_snapshots_without_a_log_to_replace_them_are_named(tmp_path: Path) -> None:
    for first in range(1, 31, 10):
        write(tmp_path, first, first + 9, snapshot_every=10)
    for path in tmp_path.glob("snapshot-*.journal"):
        path.write_bytes(path.read_bytes()[:-9])
    newest = max(tmp_path.glob("snapshot-*.journal"))
    with pytest.raises(JournalCorruptedError, match="the snapshot is damaged") as error:
        Journal(tmp_path)
    assert error.value.path == newest


def test_a_delta_that_does_not_fit_is_reported_where_it_stands(tmp_path: Path) -> None:
    _, ends = log_of(tmp_path, 2)
    with Journal(tmp_path) as journal:
        journal.append(GraphDelta(remove_nodes=("nowhere",)), 3)
        journal.append(GraphDelta(), 4)
    with pytest.raises(JournalCorruptedError, match="no node 'nowhere'") as error:
        Journal(tmp_path)
    assert error.value.offset == ends[2]
    assert spine_json.load_file(error.value.readable) == fold(2)


def test_leftovers_of_an_interrupted_snapshot_are_ignored(tmp_path: Path) -> None:
    write(tmp_path, 1, 3)
    (tmp_path / "snapshot-000000000003.journal.tmp").write_bytes(b"half")
    assert recover(tmp_path) == fold(3)


def test_two_users_cannot_share_a_directory(tmp_path: Path) -> None:
    with Journal(tmp_path):
        with pytest.raises(JournalLockedError, match=f"process {os.getpid()}: stop it, or choose another"):
            Journal(tmp_path)
        code = f"from prism_planner.graph.journal import Journal; Journal({str(tmp_path)!r})"
        other = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            check=False,
            timeout=60,
        )
        assert "JournalLockedError" in other.stderr
    Journal(tmp_path).close()


@pytest.mark.parametrize("revision", [0, 3, 5])
def test_revisions_must_follow_each_other(tmp_path: Path, revision: int) -> None:
    write(tmp_path, 1, 3)
    with Journal(tmp_path) as journal:
        with pytest.raises(JournalError, match="cannot follow revision 3"):
            journal.append(delta(4), revision)
        journal.append(delta(4), 4)
    assert recover(tmp_path) == fold(4)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_refuses_the_delta_and_keeps_the_journal_whole(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(delta(1), 1)
        path = next(tmp_path.glob("log-*"))
        with file_size_limit(path.stat().st_size + 10), pytest.raises(JournalError) as error:
            journal.append(delta(2), 2)
        assert str(path) in str(error.value)
        assert journal.revision == 1
        journal.append(delta(2), 2)
    assert recover(tmp_path) == fold(2)


def test_after_a_failed_synchronisation_nothing_more_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    with Journal(tmp_path) as journal:
        journal.append(delta(1), 1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", fails)
            with pytest.raises(JournalError, match="Input/output error"):
                journal.append(delta(2), 2)
        with pytest.raises(JournalError, match="open the journal again"):
            journal.append(delta(2), 2)


def test_an_interrupted_append_is_never_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with Journal(tmp_path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                journal.append(delta(1), 1)
        with pytest.raises(JournalError, match="open the journal again"):
            journal.append(GraphDelta(), 1)
    assert recover(tmp_path) in (fold(0), fold(1))


def test_the_graph_is_recovered_before_it_changes(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(delta(1), 1)
        with pytest.raises(JournalError, match="before journaling"):
            journal.recover()


def test_synchronisation_can_be_left_to_the_operating_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path, sync="os") as journal:
        monkeypatch.delattr(os, "fdatasync")
        journal.append(delta(1), 1)
    assert recover(tmp_path) == fold(1)


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="file: cannot be used for a journal"):
        Journal(tmp_path / "file")
    with pytest.raises(ValueError, match="snapshot_every"):
        Journal(tmp_path, snapshot_every=0)


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(delta(1), 1)
