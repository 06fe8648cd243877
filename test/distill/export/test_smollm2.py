"""The embedded base itself: its shape, its tokenizer and its number formats."""

from __future__ import annotations

import pytest

from prism_distill.base_model import find_base
from prism_distill.export.adapter import write_adapter
from prism_distill.export.gguf_file import GgufBase
from prism_distill.export.merged import write_f16
from prism_distill.export.peft_adapter import PeftAdapter
from prism_distill.export.verify import Exported, compare

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")

PROMPT = "<|im_start|>user\nIs the path to the exit clear?<|im_end|>\n<|im_start|>assistant\n"


def test_a_random_adapter_does_in_llama_cpp_what_it_does_in_transformers(unpermute, tmp_path):
    base = find_base("smollm2-135m")
    settings = {"r": 8, "lora_alpha": 16, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}
    torch.manual_seed(0)
    model = peft.get_peft_model(base.weights(torch.float32), peft.LoraConfig(**settings))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    model.save_pretrained(tmp_path / "adapter")
    gguf = GgufBase(base.gguf)
    write_f16(gguf, tmp_path / "base.gguf")
    write_adapter(PeftAdapter(tmp_path / "adapter"), gguf, tmp_path / "right.gguf")
    unpermute(tmp_path / "adapter", head_dim=64)
    write_adapter(PeftAdapter(tmp_path / "adapter"), gguf, tmp_path / "wrong.gguf")

    models = [Exported(tmp_path / "base.gguf", tmp_path / f"{name}.gguf") for name in ("right", "wrong")]
    prompts = [base.tokenizer.encode(PROMPT, special=True), base.tokenizer.encode("The robot", special=True)]
    right, wrong = compare(model, models, prompts, tokens=8, threads=1)
    assert right.identical.value == 1
    assert right.divergence < 1e-4
    assert wrong.divergence > 100 * right.divergence
