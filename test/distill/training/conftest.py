from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")


@pytest.fixture
def tiny_llama():
    """A random Llama with grouped-query attention under LoRA, both LoRA matrices non-zero."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    model = transformers.LlamaForCausalLM(config)
    lora = peft.LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return model


@pytest.fixture
def tiny_base(tmp_path, tiny_llama):
    """A saved random Llama, as the trainer gets it."""
    from prism_distill.base_model import BaseModel
    from prism_planner.language.chat_format import CHATML, ChatFormat

    class Letters:
        begin_text = ""

        def encode(self, text: str, *, special: bool) -> list[int]:  # noqa: ARG002 - as the protocol says
            return [ord(c) % 97 for c in text]

    folder = tmp_path / "base"
    tiny_llama.unload().save_pretrained(folder)
    return BaseModel(name="tiny", form=ChatFormat(CHATML), tokenizer=Letters(), path=str(folder))
