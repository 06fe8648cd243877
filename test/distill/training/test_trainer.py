from __future__ import annotations

import json
import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
pytest.importorskip("accelerate")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from prism_distill.conversation import Conversation  # noqa: E402
from prism_distill.training.checkpoint import CheckpointError  # noqa: E402
from prism_distill.training.data import Example  # noqa: E402
from prism_distill.training.settings import TrainingSettings  # noqa: E402
from prism_distill.training.trainer import learning_rate, train  # noqa: E402

SETTINGS = TrainingSettings(
    r=4,
    alpha=8,
    learning_rate=0.01,
    warmup=2,
    epochs=2,
    tokens_per_step=40,
    precision="float32",
    evaluations=2,
)


def examples(count: int, seed: int = 0) -> list[Example]:
    """After six numbers that nobody can guess come six that are always the same."""
    rng = random.Random(seed)
    result = []
    for i in range(count):
        asked = [rng.randrange(90) for _ in range(6)]
        tokens = [5, 6, i // 2, *asked, 7, 9, 8, 9, 7, 8]
        result.append(Example(i // 2, Conversation(tokens, [False] * 9 + [True] * 6)))
    return result


def weights(directory):
    return load_file(directory / "adapter_model.safetensors")


class Killed(Exception):
    pass


def killed_at(step):
    def on_progress(progress):
        if progress.step == step:
            raise Killed

    return on_progress


def test_the_loss_falls_and_the_adapter_is_written(tiny_base, tmp_path):
    seen = []
    trained = train(
        base=tiny_base,
        training=examples(16),
        validation=examples(4),
        settings=SETTINGS.model_copy(update={"epochs": 12}),
        directory=tmp_path / "run",
        on_progress=seen.append,
    )
    assert seen[-1].loss < 0.9 * seen[0].loss
    assert [p.step for p in seen] == list(range(1, trained.steps + 1))
    assert {v.step for v in trained.validations} == {trained.steps // 2, trained.steps}
    assert all("lora" in name for name in weights(trained.adapter))
    records = [json.loads(line) for line in (tmp_path / "run/training.jsonl").read_text().splitlines()]
    assert [r["step"] for r in records if "rate" in r] == list(range(1, trained.steps + 1))


@pytest.mark.parametrize("step", [1, 4, 5])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tiny_base, tmp_path, step):
    settings = SETTINGS.model_copy(update={"checkpoint_minutes": 1e-9})
    run = {
        "base": tiny_base,
        "training": examples(16),
        "validation": examples(4),
        "settings": settings,
    }
    whole = train(**run, directory=tmp_path / "whole")
    with pytest.raises(Killed):
        train(**run, directory=tmp_path / "killed", on_progress=killed_at(step))
    seen = []
    resumed = train(**run, directory=tmp_path / "killed", on_progress=seen.append)

    assert seen[0].step == max(1, step)  # the step before was saved, this one was not
    assert resumed.steps == whole.steps
    for name, weight in weights(whole.adapter).items():
        torch.testing.assert_close(weights(resumed.adapter)[name], weight, rtol=0, atol=0)
    steps = [
        json.loads(line)["step"]
        for line in (tmp_path / "killed/training.jsonl").read_text().splitlines()
        if "rate" in json.loads(line)
    ]
    assert steps == list(range(1, whole.steps + 1))


def test_training_ends_when_the_planner_gets_no_better(tiny_base, tmp_path):
    scores = iter([0.5, 0.9, 0.4, 0.9, 0.3, 0.2, 0.1])
    trained = train(
        base=tiny_base,
        training=examples(40),
        validation=examples(4),
        settings=SETTINGS.model_copy(update={"evaluations": 7, "patience": 3, "epochs": 1}),
        directory=tmp_path,
        try_planner=lambda adapter: next(scores) if weights(adapter) else 0.0,
    )
    assert trained.stopped
    assert [v.success for v in trained.validations] in (
        [0.5, 0.9, 0.4, 0.9, 0.3],  # the tie went to the first
        [0.5, 0.9, 0.4, 0.9, 0.3, 0.2, 0.1],  # or to the second, with the lower loss
    )
    assert trained.step in (trained.validations[1].step, trained.validations[3].step)


def test_a_checkpoint_of_other_data_is_refused(tiny_base, tmp_path):
    train(
        base=tiny_base,
        training=examples(8),
        validation=[],
        settings=SETTINGS.model_copy(update={"evaluations": 0}),
        directory=tmp_path,
    )
    with pytest.raises(CheckpointError, match="--fresh"):
        train(
            base=tiny_base,
            training=examples(8, seed=1),
            validation=[],
            settings=SETTINGS.model_copy(update={"evaluations": 0}),
            directory=tmp_path,
        )


def test_nothing_to_train_on_is_said(tiny_base, tmp_path):
    with pytest.raises(ValueError, match="no episode"):
        train(base=tiny_base, training=[], validation=[], settings=SETTINGS, directory=tmp_path)


def test_the_rate_rises_stays_and_falls():
    settings = TrainingSettings(warmup=10, decay=0.2)
    rates = [learning_rate(step, 100, settings) for step in range(100)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[9:80] == [settings.learning_rate] * 71
    assert rates[80:] == sorted(rates[80:], reverse=True)
    assert rates[-1] == pytest.approx(settings.final_rate * settings.learning_rate)


@given(st.integers(1, 500), st.integers(0, 50), st.floats(0, 1))
def test_the_rate_is_positive_and_never_above_its_height(steps, warmup, decay):
    settings = TrainingSettings(warmup=warmup, decay=decay)
    for step in range(steps):
        assert 0 < learning_rate(step, steps, settings) <= settings.learning_rate * (1 + 1e-9)


def test_a_run_is_extended_from_where_the_rate_began_to_fall(tiny_base, tmp_path):
    run = {"base": tiny_base, "training": examples(16), "validation": examples(4)}
    settings = SETTINGS.model_copy(update={"warmup": 2, "decay": 0.5})
    longer = settings.model_copy(update={"epochs": 4})
    train(**run, settings=settings, directory=tmp_path / "run")
    seen = []
    extended = train(**run, settings=longer, directory=tmp_path / "run", on_progress=seen.append)
    assert seen[0].step == 1 + extended.steps // 4  # behind half of half as many steps

    whole = train(**run, settings=longer, directory=tmp_path / "whole")
    for name, weight in weights(whole.adapter).items():
        torch.testing.assert_close(weights(extended.adapter)[name], weight, rtol=0, atol=0)
