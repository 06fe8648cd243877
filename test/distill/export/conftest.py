"""Random Llamas with a random adapter, as Hugging Face directories and as GGUF."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")
import safetensors.torch  # noqa: E402

VOCABULARY = 160

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


@dataclass
class Tiny:
    """A base in both forms, and a PEFT model with its saved adapter."""

    config: Any
    model: Any
    adapter: Path
    gguf: Path


def _make_tiny(
    folder: Path,
    *,
    layers: int = 2,
    hidden: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    **lora: Any,
) -> Tiny:
    torch.manual_seed(0)
    folder.mkdir(exist_ok=True)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=96,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        max_position_embeddings=256,
        initializer_range=0.15,
        tie_word_embeddings=False,
    )
    model = transformers.LlamaForCausalLM(config)
    path = folder / "base.gguf"
    _write_base(path, config, model.state_dict())
    settings = {"r": 4, "lora_alpha": 12, "target_modules": "all-linear", "task_type": "CAUSAL_LM", **lora}
    adapted = peft.get_peft_model(model, peft.LoraConfig(**settings))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    adapted.save_pretrained(folder / "adapter")
    return Tiny(config, adapted, folder / "adapter", path)


def _write_base(path: Path, config: Any, weights: dict[str, Any]) -> None:
    """A GGUF of a Hugging Face Llama whose tokens are single bytes and some more."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_name("tiny")
    writer.add_license("apache-2.0")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(256)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("llama")
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(128))]
    pieces += [f"word{i}" for i in range(VOCABULARY - len(pieces))]
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([2, 3, 3] + [6] * 128 + [1] * (VOCABULARY - 131))
    writer.add_add_bos_token(False)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    for name, tensor in weights.items():
        writer.add_tensor(*_as_gguf(name, tensor.numpy(), config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _as_gguf(name: str, tensor: np.ndarray, config: Any) -> tuple[str, np.ndarray]:
    other = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    stem = name.removesuffix(".weight")
    if stem in other:
        return f"{other[stem]}.weight", tensor
    _, _, layer, module = stem.split(".", 3)
    if module in ("self_attn.q_proj", "self_attn.k_proj"):
        tensor = np.ascontiguousarray(tensor[_neighbours(len(tensor), config.head_dim)])
    return f"blk.{layer}.{_NAMES[module]}.weight", tensor


def _neighbours(rows: int, head_dim: int) -> list[int]:
    """For each row in llama.cpp's order, the row in Hugging Face's: rotary pairs become neighbours."""
    half = head_dim // 2
    return [
        start + (row % 2) * half + row // 2 for start in range(0, rows, head_dim) for row in range(head_dim)
    ]


@pytest.fixture
def make_tiny(tmp_path):
    """A tiny Llama of a shape, under LoRA with given settings; `folder` keeps several apart."""
    return lambda folder=".", **settings: _make_tiny(tmp_path / folder, **settings)


@pytest.fixture(scope="session")
def shared_tiny(tmp_path_factory):
    """With grouped-query attention. Not to be changed."""
    return _make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def adapter_copy(shared_tiny, tmp_path):
    """A copy of the shared adapter, to be spoilt."""
    return Path(shutil.copytree(shared_tiny.adapter, tmp_path / "copy"))


@pytest.fixture
def unpermute():
    """Changes a saved adapter such that its export lacks the reordering of query and key rows."""
    return _undo_reordering


@pytest.fixture
def unpermuted(shared_tiny, adapter_copy):
    """The shared adapter such that its export lacks the reordering of query and key rows."""
    _undo_reordering(adapter_copy, shared_tiny.config.head_dim)
    return adapter_copy


def _undo_reordering(adapter: Path, head_dim: int) -> None:
    file = adapter / "adapter_model.safetensors"
    weights = safetensors.torch.load_file(file)
    for key, value in weights.items():
        if "q_proj.lora_B" in key or "k_proj.lora_B" in key:
            undone = torch.empty_like(value)
            undone[_neighbours(len(value), head_dim)] = value
            weights[key] = undone
    safetensors.torch.save_file(weights, file)


@pytest.fixture(scope="session")
def prompts():
    numbers = np.random.default_rng(0)
    return [numbers.integers(3, VOCABULARY, size=length).tolist() for length in (5, 70, 31, 12)]
