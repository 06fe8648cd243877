from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
pytest.importorskip("accelerate")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from safetensors import SafetensorError  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from prism_distill.conversation import Conversation  # noqa: E402
from prism_distill.training.checkpoint import CheckpointError  # noqa: E402
from prism_distill.training.data import Example  # noqa: E402
from prism_distill.training.settings import TrainingSettings  # noqa: E402
from prism_distill.training.trainer import learning_rate, train  # noqa: E402
from prism_planner.cli.errors import CommandError  # noqa: E402

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
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert left == {"adapter", "checkpoints", "training.jsonl"}
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
    with pytest.raises(CommandError, match="no episode"):
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


def test_a_run_that_is_made_shorter_again_ends_with_a_judged_adapter(tiny_base, tmp_path):
    run = {"base": tiny_base, "training": examples(12), "validation": examples(4), "directory": tmp_path}
    settings = SETTINGS.model_copy(update={"decay": 0.0})
    train(**run, settings=settings)
    shorter = train(**run, settings=settings.model_copy(update={"epochs": 1, "evaluations": 1}))
    assert shorter.step == shorter.steps == shorter.validations[-1].step
    assert weights(shorter.adapter)


@pytest.mark.parametrize("writes", range(1, 6))
def test_a_full_disk_is_said_and_training_goes_on_when_there_is_room(
    tiny_base, tmp_path, monkeypatch, writes
):
    run = {"base": tiny_base, "training": examples(12), "validation": examples(4), "settings": SETTINGS}
    save, left = peft.PeftModel.save_pretrained, iter(range(writes))

    def save_while_there_is_room(model, directory, **options):
        save(model, directory, **options)
        if next(left, None) is None:
            raise SafetensorError("No space left on device")

    with monkeypatch.context() as full:
        full.setattr(peft.PeftModel, "save_pretrained", save_while_there_is_room)
        with pytest.raises(CheckpointError, match="run the same command again"):
            train(**run, directory=tmp_path / "run")
    assert not list((tmp_path / "run").rglob("*.partial"))
    resumed = train(**run, directory=tmp_path / "run")
    whole = train(**run, directory=tmp_path / "whole")
    for name, weight in weights(whole.adapter).items():
        torch.testing.assert_close(weights(resumed.adapter)[name], weight, rtol=0, atol=0)


TWO_PROCESSES = """
import sys
from pathlib import Path
from prism_distill.base_model import BaseModel
from prism_distill.conversation import Conversation
from prism_distill.training.data import Example
from prism_distill.training.settings import TrainingSettings
from prism_distill.training.trainer import train
from prism_planner.language.chat_format import CHATML, ChatFormat
folder = Path(sys.argv[1])
base = BaseModel(name="tiny", form=ChatFormat(CHATML), tokenizer=None, path=str(folder / "base"))
examples = [Example(i, Conversation([5, i, 7, 9, 8], [False] * 3 + [True] * 2)) for i in range(24)]
settings = TrainingSettings(
    r=4, warmup=2, tokens_per_step=20, precision="float32", evaluations=5, patience=2
)
success = iter([0.9, 0.1, 0.1])
trained = train(base=base, training=examples, validation=examples[:4], settings=settings,
                directory=folder / "run", try_planner=lambda _: next(success))
print(f"stopped: {trained.stopped}")
"""


@pytest.mark.usefixtures("tiny_base")
def test_several_processes_end_together(tmp_path):
    (tmp_path / "two.py").write_text(TWO_PROCESSES)
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    result = subprocess.run(
        [*launch, tmp_path / "two.py", tmp_path],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("stopped: True") == 2
