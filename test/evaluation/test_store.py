"""Finished episodes survive kills, and are found again only when nothing has changed."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal

import pytest

from prism_planner.evaluation.episode import EpisodeResult
from prism_planner.evaluation.store import EpisodeStore, StoreError, episode_key


def result(number: int = 0) -> EpisodeResult:
    return EpisodeResult(
        scenario="s\u2028",
        task=number,
        instruction="go",
        cell="mapping/full",
        seed=0,
        success=True,
        status="succeeded",
        turns=1,
        step_s=[0.1],
    )


def test_what_was_added_is_there_again(tmp_path):
    path = tmp_path / "new" / "episodes.jsonl"
    with EpisodeStore(path) as store:
        assert store.get("a") is None
        store.add("a", result(1))
        store.add("b", result(2))
        assert store.get("a") == result(1)
    with EpisodeStore(path) as store:
        assert len(store) == 2
        assert store.get("b") == result(2)


def test_a_fresh_start_forgets_everything_even_what_cannot_be_read(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text("what is this\n")
    with pytest.raises(StoreError, match="--fresh"):
        EpisodeStore(path)
    with EpisodeStore(path, fresh=True) as store:
        assert len(store) == 0
        store.add("a", result())
    with EpisodeStore(path) as store:
        assert len(store) == 1


def test_a_partial_last_line_is_dropped_and_writing_goes_on(tmp_path):
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        store.add("a", result())
    whole = path.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        with EpisodeStore(path) as store:
            assert len(store) == 1
            store.add("b", result(2))
        with EpisodeStore(path) as store:
            assert len(store) == 2
        path.write_bytes(whole)


def _write_until_killed(path, ready):
    with EpisodeStore(path) as store:
        for number in range(1_000_000):
            store.add(str(number), result(number))
            if number == 20:
                ready.set()


def test_kill_9_while_writing_loses_nothing_that_was_added(tmp_path):
    path = tmp_path / "episodes.jsonl"
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    writer = context.Process(target=_write_until_killed, args=(path, ready))
    writer.start()
    assert ready.wait(30)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with EpisodeStore(path) as store:  # the lock died with the writer
        assert len(store) > 20
        assert all(store.get(str(number)) == result(number) for number in range(len(store)))


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path), pytest.raises(StoreError, match="another evaluation"):
        EpisodeStore(path)
    EpisodeStore(path).close()


@pytest.mark.parametrize("line", ["not json", '{"key": "a"}', '{"key": "a", "result": {"turns": "x"}}'])
def test_foreign_lines_are_named(tmp_path, line):
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        store.add("a", result())
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(StoreError, match=r"episodes\.jsonl, line 2: not a finished episode"):
        EpisodeStore(path)


def test_an_unwritable_place_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        EpisodeStore(tmp_path / "file" / "episodes.jsonl")


def test_keys_change_with_what_decides_an_episode(tmp_path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("a: 1")
    same = episode_key(scenario, seed=0, model="m")
    assert episode_key(scenario, model="m", seed=0) == same
    assert episode_key(scenario, model="m", seed=1) != same
    scenario.write_text("a: 2")
    assert episode_key(scenario, model="m", seed=0) != same


def test_a_full_disk_is_said_and_loses_nothing(tmp_path):
    path = tmp_path / "episodes.jsonl"
    with EpisodeStore(path) as store:
        store.add("a", result())
        room = path.stat().st_size
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        for limit in (room, room + 10):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            try:
                with pytest.raises(StoreError, match=r"episodes\.jsonl: "):
                    store.add("b", result(2))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with EpisodeStore(path) as store:
        assert len(store) == 1
