"""Stage 3 on a run's dataset, with a tiny random Llama as the base."""

from __future__ import annotations

import pytest

from prism_distill.dataset import make_dataset
from prism_distill.elicitation import elicit
from prism_distill.run import Run, RunError

torch = pytest.importorskip("torch")
pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture
def base(tmp_path):
    """A directory as Hugging Face hubs have it: two layers, and a token for each byte."""
    folder = tmp_path / "base"
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    marks = ["<|im_start|>", "<|im_end|>"]
    vocabulary = {token: number for number, token in enumerate([*marks, *alphabet])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, additional_special_tokens=marks
    ).save_pretrained(folder)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
    )
    model.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def training(synthesized, base):
    """A run with a dataset, to be trained with these settings."""

    def make(**settings):
        settings = {"r": 2, "max_tokens": 4000, "evaluations": 1, "tokens_per_step": 8000} | settings
        scenarios = {"train": 4, "validation": 2, "test": 2, "size": 5, "tasks": 2}
        config = synthesized(scenarios=scenarios, base={"model": base}, training=settings)
        with Run(config) as run:
            elicit(run)
            make_dataset(run)
        return config

    return make


def test_training_leaves_an_adapter_curves_and_figures_and_can_be_extended(training):
    from prism_distill.train_stage import train_run

    read: list[tuple[int, int]] = []
    with Run(training()) as run:
        assert train_run(run, on_read=lambda done, total: read.append((done, total)))
        first = run.manifest.stages["training"].results
        assert (run.directory / "adapter" / "adapter_model.safetensors").is_file()
        assert (run.directory / "training.png").read_bytes().startswith(b"\x89PNG")
        rows = [run.manifest.stages["dataset"].results[split]["rows"] for split in ("train", "validation")]
        assert read[-1] == (sum(rows), sum(rows))
        assert not train_run(run)
    with Run(training(epochs=2)) as run:
        assert train_run(run)
        assert run.manifest.stages["training"].results["steps"] == 2 * first["steps"]
    with Run(training(r=3)) as run, pytest.raises(RunError, match=r"training\.r: 2 then, 3 now"):
        train_run(run)


def test_validation_tasks_are_spread_over_the_cells(synthesized):
    from prism_distill.train_stage import validation_tasks

    with Run(synthesized(scenarios={"validation": 15, "size": 20})) as run:
        tasks = list(validation_tasks(run, 4))
        every = list(validation_tasks(run, 1000))
    cells = {scenario.tasks[task].cell for scenario, task in every}
    assert len(cells) == 4
    assert {scenario.tasks[task].cell for scenario, task in tasks} == cells
    assert len(every) == len({(scenario.name, task) for scenario, task in every})
