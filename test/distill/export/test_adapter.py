from __future__ import annotations

import numpy as np
import pytest

from prism_distill.export.adapter import write_adapter
from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import GgufBase
from prism_distill.export.peft_adapter import PeftAdapter
from prism_distill.export.verify import Exported, compare

gguf = pytest.importorskip("gguf")

SHAPES = {
    "grouped queries": {},
    "heads wider than their share": {"head_dim": 32},
    "one head": {"heads": 1, "kv_heads": 1, "head_dim": 64},
    "rank-stabilised": {"use_rslora": True},
    "ranks and alphas by layer": {
        "rank_pattern": {"up_proj": 8},
        "alpha_pattern": {"q_proj": 3, "layers.1.mlp.down_proj": 40},
    },
    "some layers only": {"layers_to_transform": [1], "target_modules": ["q_proj", "up_proj"]},
}


def exported(tiny, path, *, adapter=None, kind="f32"):
    write_adapter(PeftAdapter(adapter or tiny.adapter), GgufBase(tiny.gguf), path, kind=kind)
    return Exported(tiny.gguf, path)


@pytest.mark.parametrize("shape", SHAPES)
def test_llama_cpp_with_the_adapter_says_what_transformers_says(shape, make_tiny, prompts, tmp_path):
    tiny = make_tiny("model", **SHAPES[shape])
    models = [exported(tiny, tmp_path / "adapter.gguf"), Exported(tiny.gguf)]
    with_adapter, without = compare(tiny.model, models, prompts, tokens=12, threads=1)
    # llama.cpp keeps keys and values in F16; the logits spread over several units.
    assert with_adapter.max_difference < 0.03
    assert with_adapter.divergence < 1e-5
    assert without.divergence > 1e-2


def test_an_adapter_whose_rows_are_not_reordered_is_found_out(shared_tiny, unpermuted, prompts, tmp_path):
    models = [
        exported(shared_tiny, tmp_path / "right.gguf"),
        exported(shared_tiny, tmp_path / "wrong.gguf", adapter=unpermuted),
    ]
    right, wrong = compare(shared_tiny.model, models, prompts, tokens=12, threads=1)
    assert right.identical.value == 1
    assert wrong.identical.value < 0.95
    assert wrong.divergence > 1000 * right.divergence


@pytest.mark.parametrize(("kind", "tolerance"), [("f32", 0.01), ("f16", 0.02), ("q8_0", 0.3)])
def test_formats_differ_in_precision_only(kind, tolerance, shared_tiny, prompts, tmp_path):
    model = exported(shared_tiny, tmp_path / "adapter.gguf", kind=kind)
    (agreement,) = compare(shared_tiny.model, [model], prompts, tokens=12, threads=1)
    assert agreement.max_difference < tolerance


def test_rows_that_q8_0_cannot_hold_are_kept_in_f16(shared_tiny, tmp_path):
    path = exported(shared_tiny, tmp_path / "adapter.gguf", kind="q8_0").adapter
    kinds = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(path).tensors}
    assert kinds["blk.0.attn_q.weight.lora_a"] == "Q8_0"
    assert kinds["blk.0.attn_q.weight.lora_b"] == "F16"


def test_an_adapter_in_bfloat16_is_read(shared_tiny, adapter_copy, tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file, save_file

    file = adapter_copy / "adapter_model.safetensors"
    save_file({key: value.to(torch.bfloat16) for key, value in load_file(file).items()}, file)
    whole = gguf.GGUFReader(exported(shared_tiny, tmp_path / "a.gguf").adapter)
    rounded = gguf.GGUFReader(exported(shared_tiny, tmp_path / "b.gguf", adapter=adapter_copy).adapter)
    for ours, theirs in zip(whole.tensors, rounded.tensors, strict=True):
        assert ours.name == theirs.name
        assert np.allclose(ours.data, theirs.data, rtol=2**-8)


def test_the_file_says_what_it_is(shared_tiny, tmp_path):
    path = tmp_path / "adapter.gguf"
    write_adapter(PeftAdapter(shared_tiny.adapter), GgufBase(shared_tiny.gguf), path, name="planner")
    reader = gguf.GGUFReader(path)
    said = {key: reader.get_field(key).contents() for key in reader.fields if not key.startswith("GGUF")}
    assert said == {
        "general.architecture": "llama",
        "general.type": "adapter",
        "general.name": "planner",
        "general.license": "apache-2.0",
        "general.base_model.count": 1,
        "general.base_model.0.name": "tiny",
        "adapter.type": "lora",
        "adapter.lora.alpha": 12,
    }


def test_a_number_that_the_format_cannot_hold_leaves_no_file(shared_tiny, adapter_copy, tmp_path):
    from safetensors.torch import load_file, save_file

    file = adapter_copy / "adapter_model.safetensors"
    weights = load_file(file)
    next(value for key, value in weights.items() if "lora_B" in key)[0, 0] = 1e6
    save_file(weights, file)
    exported(shared_tiny, tmp_path / "adapter.gguf", adapter=adapter_copy, kind="f32")
    before = (tmp_path / "adapter.gguf").read_bytes()
    with pytest.raises(ExportError, match=r"too large for F16"):
        exported(shared_tiny, tmp_path / "adapter.gguf", adapter=adapter_copy, kind="f16")
    assert (tmp_path / "adapter.gguf").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_no_room_to_write_is_said(shared_tiny, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ExportError, match=r"taken/adapter.gguf cannot be written"):
        exported(shared_tiny, tmp_path / "taken" / "adapter.gguf")
