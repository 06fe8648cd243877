"""Traces on disk: read back as written, and readable errors for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_planner.domains.trace import (
    PlanTrace,
    TraceError,
    TraceHeader,
    TraceOutcome,
    TraceTurn,
    TurnTiming,
)

HEADER = TraceHeader(task="go", domain="line", model="scripted")

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=30) | st.sampled_from(
    ['{"status": "observation"}', '"observation"', "a\u2028b\x85c\nd\r", "status"]
)
turns = st.builds(
    TraceTurn,
    observation=st.dictionaries(text, text | st.integers() | st.none(), max_size=3),
    feedback=st.lists(text, max_size=2),
    raw=text,
    plan=st.none() | st.dictionaries(text, text, max_size=2),
    rejected=st.lists(st.tuples(text, text), max_size=2),
    skill=st.none() | text,
    code=st.none() | st.integers(0, 600),
    timing=st.builds(TurnTiming, execution_s=st.floats(0, 1e6)),
)
outcomes = st.builds(
    TraceOutcome,
    status=st.sampled_from(["succeeded", "aborted", "cancelled"]),
    reason=st.sampled_from(["", "loop", "step_limit"]),
    detail=text,
    answer=text,
)
traces = st.builds(
    PlanTrace,
    header=st.builds(TraceHeader, task=text, domain=text, model=text, scenario=text),
    turns=st.lists(turns, max_size=4),
    outcome=st.none() | outcomes,
)


@given(trace=traces)
def test_a_trace_reads_back_as_it_was_written(tmp_path_factory, trace):
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    trace.write(path)
    assert PlanTrace.read(path) == trace


def test_writing_makes_its_folder_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "new" / "trace.jsonl"
    PlanTrace(header=HEADER).write(path)
    PlanTrace(header=HEADER, outcome=TraceOutcome(status="cancelled")).write(path)
    assert list(path.parent.iterdir()) == [path]
    assert PlanTrace.read(path).outcome.status == "cancelled"


def test_blank_lines_are_ignored_and_a_killed_run_is_read(tmp_path):
    path = tmp_path / "trace.jsonl"
    turn = TraceTurn(observation={}, raw="go b", plan=None)
    path.write_text(f"{HEADER.model_dump_json()}\n\n{turn.model_dump_json()}\n")
    trace = PlanTrace.read(path)
    assert len(trace.turns) == 1
    assert trace.outcome is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "empty; expected a header line with format: prism-trace/1"),
        ("hello", "line 1, record: Invalid JSON"),
        ('{"format": "prism-trace/2", "task": "", "domain": "", "model": ""}', "line 1, format"),
        ('{"task": "", "domain": "line"}', "line 1, model: Field required"),
        ('{HEADER}\n{"observation": {}, "plan": null}', "line 2, raw: Field required"),
        ('{HEADER}\n{"status": "won"}', "line 2, status"),
        ("{HEADER}\n[1]", "line 2, record"),
        ("{HEADER}\n" + "[" * 100_000, "line 2, record: Invalid JSON"),
        ('{HEADER}\n{"observation": {}, "raw"', "line 2, record: Invalid JSON"),
        ('{HEADER}\n{"status": "succeeded"}\n\n{"status": "aborted"}', "line 4: nothing may follow"),
        ('{HEADER}\n{"observation": {}, "raw": "", "plan": null, "mood": 1}', "line 2, mood"),
    ],
)
def test_errors_name_file_line_and_field(tmp_path, content, expected):
    path = tmp_path / "trace.jsonl"
    path.write_text(content.replace("{HEADER}", HEADER.model_dump_json()))
    with pytest.raises(TraceError) as error:
        PlanTrace.read(path)
    assert str(path) in str(error.value)
    assert expected in str(error.value)


def test_unreadable_files(tmp_path):
    with pytest.raises(TraceError, match="cannot be read"):
        PlanTrace.read(tmp_path / "absent.jsonl")
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="cannot be read"):
        PlanTrace.read(tmp_path / "binary.jsonl")


def test_an_endpoint_bills_every_request_of_a_turn():
    rejected = [("go nowhere", "there is no nowhere")]
    asked_twice = TraceTurn(observation={}, raw="go b", plan={}, rejected=rejected, prompt_tokens=100)
    given_up = TraceTurn(observation={}, raw="", plan=None, rejected=2 * rejected, prompt_tokens=100)
    assert (asked_twice.sent_tokens, given_up.sent_tokens) == (200, 200)
