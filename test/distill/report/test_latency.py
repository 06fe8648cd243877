"""Figure 5: the same conversations for every curve, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from prism_distill.report import figure
from prism_distill.report.latency import Endpoint, measure_latency
from prism_distill.report.local_endpoint import ALIAS, local_endpoint
from prism_planner.cli.errors import CommandError
from prism_planner.evaluation.episode import EpisodeOptions
from prism_planner.language.model import EndpointError, Limits, Message, ModelLoadError
from prism_planner.language.openai_compatible import OpenAIModel
from prism_planner.language.registry import load_model


def measure(yard: Path, endpoint, address: str, *, queries: int = 2, style: str = "distilled"):
    model = OpenAIModel("ours", base_url=endpoint.address, backoff_s=0.01)
    try:
        return measure_latency(
            model,
            Endpoint(address, "theirs", style),  # type: ignore[arg-type]
            domain_name="spine",
            files=[yard],
            options=EpisodeOptions(),
            round_trips_ms=[6.7, 50.0],
            queries=queries,
        )
    finally:
        model.close()


def test_every_curve_answers_the_same_queries(yard: Path, endpoint) -> None:
    curves = measure(yard, endpoint, endpoint.address)
    assert list(curves) == ["ours", "endpoint_6.7ms", "endpoint_50ms"]
    figures = figure.as_json(curves)
    assert {f["queries"] for f in figures.values()} == {2}
    assert figures["endpoint_50ms"]["round_trip_ms"] == 50.0
    assert {"mean_s", "std_s", "median_s"} <= set(figures["ours"])
    assert min(curves["endpoint_50ms"].seconds) >= 0.95 * 0.05  # a delay bounds from below on any machine

    asked: dict[str, list[object]] = {"ours": [], "theirs": []}
    for request in endpoint.requests:
        if request["messages"] != [{"role": "user", "content": "ready?"}]:
            asked[str(request["model"])].append(request["messages"])
    assert asked["theirs"] == asked["ours"] * 2


def test_a_hosted_model_is_asked_with_the_sources_prompt(yard: Path, endpoint) -> None:
    measure(yard, endpoint, endpoint.address, style="source")
    ours, theirs = (
        [r["messages"] for r in endpoint.requests if r["model"] == model and len(r["messages"]) > 1]
        for model in ("ours", "theirs")
    )
    assert len(theirs) == 2 * len(ours)  # the prompt's own examples are no queries
    assert len(str(theirs[0][0])) > len(str(ours[0][0]))


def test_too_few_tasks(yard: Path, endpoint) -> None:
    with pytest.raises(CommandError, match=r"gave 2 queries, not 60.*--queries"):
        measure(yard, endpoint, endpoint.address, queries=60)


@pytest.mark.parametrize("address", ["https://api.openai.com/v1", "localhost:8000", "http://"])
def test_addresses_that_cannot_be_delayed(yard: Path, endpoint, address: str) -> None:
    with pytest.raises(CommandError, match="expected an address such as http://"):
        measure(yard, endpoint, address)


def test_an_endpoint_that_is_not_there_is_named(yard: Path, endpoint) -> None:
    with pytest.raises(EndpointError, match=r"^http://127.0.0.1:9/v1, through the delaying proxy"):
        measure(yard, endpoint, "http://127.0.0.1:9/v1")


def test_the_figure_is_told(yard: Path, endpoint) -> None:
    curves = measure(yard, endpoint, endpoint.address)
    notes = figure.notes("spine-smollm2", None)
    text = figure.as_markdown(curves, notes)
    assert "GPT-4o 3.64 ± 2.25 s" in text
    assert "same small model on this same machine" in text
    assert "not GPT-4o" in text
    assert "not GPT-4o" in figure.caption(None)
    assert "not GPT-4o" not in "".join(figure.notes("spine-smollm2", "gpt-4o at http://gateway/v1"))


def test_the_local_endpoint_serves_the_base(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: make setup")
    try:
        model = load_model("smollm2-135m", context_length=512)
        base = model.path  # type: ignore[attr-defined]
        model.close()
        with local_endpoint(base, adapter=None, context_length=512, log=tmp_path / "log") as address:
            served = OpenAIModel(ALIAS, base_url=address)
            answer = served.generate([Message("user", "Say yes.")], limits=Limits(max_tokens=3))
            served.close()
    except ModelLoadError as error:
        pytest.skip(str(error))
    assert answer.text


def test_a_local_endpoint_that_cannot_start(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp.server", reason="llama-cpp-python is not installed: make setup")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but no more")
    log = tmp_path / "server.log"
    try:
        with (
            pytest.raises(EndpointError, match=r"ended at once.*server.log"),
            local_endpoint(broken, adapter=None, context_length=512, log=log),
        ):
            pass
    except ModelLoadError as error:
        pytest.skip(str(error))
