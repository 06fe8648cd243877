"""A run's directory: stages, files that are whole or absent, and shards that survive a kill."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_distill.run import MANIFEST, Run, RunError, write_whole
from prism_distill.shards import Gathering, Shard


def begin(run, inputs=None, **options):
    return run.begin("scenarios", inputs or {"scenarios": {"train": 4}}, **options)


def finish(run, content="one\n"):
    file = run.folder("scenarios") / "train-00000.jsonl"
    write_whole(file, content.encode())
    run.finish("scenarios", [file], results={"tasks": 1})
    return file


# ------------------------------------------------------------------ stages


def test_a_finished_stage_is_not_begun_again(small):
    with Run(small()) as run:
        assert begin(run)
        finish(run)
    with Run(small()) as run:
        assert not begin(run)
        assert run.is_done("scenarios")


def test_the_manifest_records_seed_versions_inputs_and_digests(small):
    with Run(small()) as run:
        begin(run)
        file = finish(run)
    manifest = json.loads((small().run_directory / MANIFEST).read_text())
    stage = manifest["stages"]["scenarios"]
    assert manifest["seed"] == 3
    assert manifest["config"]["scenarios"]["train"] == 8
    assert {"prism", "python", "pydantic"} <= stage["versions"].keys()
    assert stage["inputs"] == {"scenarios": {"train": 4}}
    assert len(stage["files"][f"scenarios/{file.name}"]) == 64


@pytest.mark.parametrize("done", [False, True])
def test_other_inputs_are_refused_and_named(small, done):
    with Run(small()) as run:
        begin(run)
        if done:
            finish(run)
        with pytest.raises(
            RunError, match=r"(?s)scenarios.train: 4 then, 5 now.*prism synthesize CONFIG --fresh"
        ):
            begin(run, {"scenarios": {"train": 5}})


def test_work_that_was_begun_with_other_code_is_not_continued(small):
    with Run(small()) as run:
        begin(run, code="old")
        with pytest.raises(RunError, match="the code of prism"):
            begin(run, code="new")
        finish(run)
        assert not begin(run, code="new")  # what is done is no mixture


def test_fresh_forgets_what_there_is(small):
    with Run(small()) as run:
        begin(run)
        file = finish(run)
        assert begin(run, {"scenarios": {"train": 5}}, fresh=True)
        assert not file.exists()


def derive(run, settings):
    """Whether a stage that costs nothing had to be done, and its file."""
    file = run.folder("dataset") / "train.parquet"
    if begun := run.begin("dataset", {"dataset": settings}):
        write_whole(file, b"rows")
        run.finish("dataset", [file], results={})
    return begun, file


def test_a_stage_that_costs_nothing_is_made_anew_when_its_inputs_or_files_changed(small):
    with Run(small()) as run:
        assert derive(run, 1)[0]
        assert not derive(run, 1)[0]
        begun, file = derive(run, 2)
        assert begun
        file.write_bytes(b"other rows")
        with pytest.raises(RunError, match=r"train.parquet: was changed .* with `prism elicit CONFIG`$"):
            run.output("dataset")
        assert derive(run, 2)[0]
        file.unlink()
        with pytest.raises(RunError, match=r"train\.parquet: is gone"):
            run.output("dataset")
        assert derive(run, 2)[0]
        assert run.output("dataset")


def test_what_was_made_of_other_files_than_the_stage_left_is_never_begun(small):
    with Run(small()) as run:
        begin(run, {"scenarios": {"train": run.config.scenarios.train}})
        finish(run).unlink()
        with pytest.raises(RunError, match=r"is gone .* `prism synthesize CONFIG --fresh`"):
            run.output("scenarios")


def test_a_stage_that_can_be_extended_goes_on_with_what_there_is(small):
    with Run(small()) as run:
        begin(run)
        file = finish(run)
        assert begin(run, {"scenarios": {"train": 5}}, extend=("scenarios.train",))
        assert file.exists()
        assert not run.is_done("scenarios")


def test_files_that_the_manifest_does_not_know_are_not_taken_for_results(small):
    with Run(small()) as run:
        write_whole(run.folder("scenarios") / "train-00000.jsonl", b"whose?\n")
        with pytest.raises(RunError, match="does not say from what it was made"):
            begin(run)


def test_the_output_of_a_stage_that_is_not_done_names_its_command(small):
    with Run(small()) as run, pytest.raises(RunError, match="run `prism synthesize CONFIG` first"):
        run.output("scenarios")


def test_a_run_is_for_one_process_at_a_time(small):
    with Run(small()), pytest.raises(RunError, match=r"process \d+ is working on this run"), Run(small()):
        pass
    with Run(small()):
        pass  # free again


@pytest.mark.parametrize(
    "content", [b"{}", b"not JSON", b"\xff\x00", b'{"format": "prism-run/0", "name": "small"}']
)
def test_a_manifest_of_another_version_is_refused(small, content):
    directory = small().run_directory
    directory.mkdir(parents=True)
    (directory / MANIFEST).write_bytes(content)
    with pytest.raises(RunError, match=r"manifest\.json: .*expected `format: prism-run/1`"), Run(small()):
        pass


# ------------------------------------------------------------------ files


FULL_DISK = """
import resource, sys
from pathlib import Path
from prism_distill.run import RunError, write_whole
from prism_distill.shards import Shard
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # a write beyond fails, as on a full disk
folder = Path(sys.argv[1])
shard = Shard(folder / "train-00000.jsonl")
shard.add("a", {"text": "short"})
much = {"text": 2000 * "x"}
for write in (lambda: write_whole(folder / "whole", bytes(2000)), lambda: shard.add("b", much)):
    try:
        write()
    except RunError as error:
        print(error)
shard.add("c", {"text": "short"})
print(sorted(shard.keys()), sorted(path.name for path in folder.iterdir()))
"""


def test_a_full_disk_is_said_and_keeps_what_was_finished(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True
    )
    whole, shard, left = result.stdout.splitlines()
    for line in (whole, shard):
        assert "cannot be written" in line
        assert "make room and run the same command again" in line
    assert left == "['a', 'c'] ['.train-00000.jsonl.journal']"


def as_lines(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


@given(
    records=st.lists(st.text(max_size=20), min_size=1, max_size=6),
    cut=st.integers(min_value=0, max_value=40),
)
def test_a_shard_keeps_every_whole_record_wherever_it_is_cut(tmp_path_factory, records, cut):
    folder = tmp_path_factory.mktemp("shard")
    path = folder / "train-00000.jsonl"
    keys = [f"{i:03}" for i in range(len(records))]
    with Gathering(as_lines) as gathering:
        gathering.begin(path, [*keys, "last"])
        for key, record in zip(keys, records, strict=True):
            gathering.add(path, key, {"text": record})
    journal = next(folder.iterdir())
    content = journal.read_bytes()
    journal.write_bytes(content[: max(0, len(content) - cut)])
    whole = content[: max(0, len(content) - cut)].count(b"\n")

    with Gathering(as_lines) as gathering:
        missing = gathering.begin(path, [*keys, "last"])
        assert missing == {*keys[whole:], "last"}
        for key in sorted(missing, reverse=True):
            gathering.add(path, key, {"text": "last" if key == "last" else records[int(key)]})
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == [*records, "last"]
    assert not journal.exists()


def test_a_damaged_record_is_made_anew(tmp_path):
    path = tmp_path / "train-00000.jsonl"
    Shard(path).add("a", {"text": "a"})
    (journal,) = tmp_path.iterdir()
    journal.write_bytes(journal.read_bytes() + b'["b",{"te\0\0\0\n')
    with Gathering(as_lines) as gathering:
        assert gathering.begin(path, ["a", "b"]) == {"b"}
        gathering.add(path, "b", {"text": "b"})
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_a_sealed_shard_lacks_nothing(tmp_path):
    path = tmp_path / "train-00000.jsonl"
    with Gathering(as_lines) as gathering:
        gathering.begin(path, ["a"])
        gathering.add(path, "a", {})
    Shard(path).add("a", {})  # as a kill leaves it between the shard and the end of its journal
    with Gathering(as_lines) as gathering:
        assert gathering.begin(path, ["a", "b"]) == set()
    assert Shard(path).sealed
    assert list(tmp_path.iterdir()) == [path]
