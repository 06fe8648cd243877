from __future__ import annotations

import json

import numpy as np
import pytest

from prism_distill.conversation import Conversation
from prism_distill.export.adapter import write_adapter
from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import GgufBase
from prism_distill.export.peft_adapter import PeftAdapter
from prism_distill.export.verify import Exported, answer_prompts, compare
from prism_planner.language.llama_context import LlamaContext

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def exported(shared_tiny, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "adapter.gguf"
    write_adapter(PeftAdapter(shared_tiny.adapter), GgufBase(shared_tiny.gguf), path)
    return Exported(shared_tiny.gguf, path)


def greedy(exported, prompt, tokens):
    context = LlamaContext(exported.model, context_length=256, threads=1, reading_threads=1, gpu_layers=0)
    if exported.adapter:
        context.set_adapter(exported.adapter, scale=1.0)
    sequence = list(prompt)
    for _ in range(tokens):
        sequence.append(int(context.evaluate(sequence).argmax()))
        if sequence[-1] in context.end_tokens:
            break
    context.close()
    return sequence[len(prompt) :]


def test_what_is_called_identical_is_what_both_write(shared_tiny, exported, prompts):
    """With the adapter all are the same; without it none is. Both are generated here by themselves."""
    bare = Exported(shared_tiny.gguf)
    for model in (exported, bare):
        (agreement,) = compare(shared_tiny.model, [model], prompts, tokens=8, threads=1)
        for prompt, first in zip(prompts, agreement.first_differences, strict=True):
            theirs = shared_tiny.model.generate(
                torch.tensor([prompt]), max_new_tokens=8, do_sample=False, eos_token_id=2, pad_token_id=0
            )[0, len(prompt) :].tolist()
            ours = greedy(model, prompt, 8)
            assert (first is None) == (ours == theirs)
            assert first is None or ours[first] != theirs[first]
            assert ours[:first] == theirs[:first]


def test_figures_are_those_of_the_logits(shared_tiny, prompts):
    """Of one position of a model that lacks the adapter, computed here in another way."""
    prompt = prompts[2]
    (agreement,) = compare(shared_tiny.model, [Exported(shared_tiny.gguf)], [prompt], tokens=1, threads=1)
    with torch.no_grad():
        trained = shared_tiny.model(input_ids=torch.tensor([prompt])).logits[0, -1]
        with shared_tiny.model.disable_adapter():
            bare = shared_tiny.model(input_ids=torch.tensor([prompt])).logits[0, -1]
    assert agreement.positions == 1
    assert agreement.max_difference == pytest.approx(float((trained - bare).abs().max()), abs=0.02)
    assert agreement.mean_difference == pytest.approx(float((trained - bare).abs().mean()), abs=0.02)
    divergence = torch.nn.functional.kl_div(
        bare.log_softmax(0), trained.log_softmax(0), log_target=True, reduction="sum"
    )
    assert agreement.divergence == pytest.approx(float(divergence), rel=0.02)


def test_the_result_is_plain_and_complete(shared_tiny, exported, prompts):
    done = []
    (agreement,) = compare(
        shared_tiny.model, [exported], prompts, tokens=3, threads=1, on_prompt=lambda *n: done.append(n)
    )
    found = json.loads(json.dumps(agreement.as_json()))
    assert found["prompts"] == len(prompts) == len(found["first_differences"])
    assert found["ci_low"] <= found["identical"] <= found["ci_high"]
    assert done == [(i + 1, len(prompts)) for i in range(len(prompts))]


def test_a_model_with_another_vocabulary_is_refused(shared_tiny, prompts):
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(**{**shared_tiny.config.to_dict(), "vocab_size": 190})
    with pytest.raises(ExportError, match="a vocabulary of 160 tokens, the trained model 190"):
        compare(transformers.LlamaForCausalLM(config), [Exported(shared_tiny.gguf)], prompts[:1], threads=1)


@pytest.mark.parametrize("none", [[], [[]]])
def test_no_prompts_are_refused(none, shared_tiny, exported):
    with pytest.raises(ExportError, match="no held-out prompt"):
        compare(shared_tiny.model, [exported], none)


def test_prompts_end_before_each_answer():
    tokens = [1, 2, 3, 4, 5, 6, 7]
    supervised = [False, False, True, True, False, True, False]
    assert list(answer_prompts(Conversation(tokens, supervised))) == [[1, 2], [1, 2, 3, 4, 5]]
    assert list(answer_prompts(Conversation([], []))) == []
    assert np.size(list(answer_prompts(Conversation([1], [True])))) == 0
