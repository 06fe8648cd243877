from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import torch  # noqa: E402

from prism_distill.base_model import find_base  # noqa: E402
from prism_planner.language.model import ModelLoadError  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny random Llama as a Hugging Face directory."""
    words = {"<s>": 0, "<|end|>": 1, "hello": 2, "robot": 3, "<unk>": 4}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="<|end|>", unk_token="<unk>"
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>{% endfor %}"
    tokenizer.save_pretrained(tmp_path)
    config = transformers.LlamaConfig(
        vocab_size=5,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    return tmp_path


def test_a_hugging_face_directory(folder: Path) -> None:
    base = find_base(str(folder))
    assert base.gguf is None
    assert base.form.pieces(("user",)) == ("user: ", "<|end|>")
    assert base.tokenizer.encode("hello robot", special=False) == [2, 3]
    assert base.tokenizer.encode("<|end|>", special=True) == [1]
    assert 1 not in base.tokenizer.encode("<|end|>", special=False)
    assert base.weights(torch.float32).config.num_hidden_layers == 1


@pytest.mark.parametrize("name", ["no-such-model", "missing.gguf"])
def test_a_base_that_is_not_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelLoadError, match=name):
        find_base(name)


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF and then nothing")
    with pytest.raises(ModelLoadError, match=r"broken\.gguf"):
        find_base(str(tmp_path / "broken.gguf"))


def test_weights_that_are_missing(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelLoadError, match="weights"):
        find_base(str(folder)).weights(torch.float32)
