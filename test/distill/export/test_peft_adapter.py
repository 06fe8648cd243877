from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import GgufBase
from prism_distill.export.peft_adapter import PeftAdapter, rotary_rows


def change(adapter, **fields):
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


@given(heads=st.integers(1, 5), half=st.integers(1, 6), columns=st.integers(1, 3))
def test_rotary_pairs_become_neighbours_within_their_head(heads, half, columns):
    rows = np.arange(heads * 2 * half, dtype=np.float32)[:, None].repeat(columns, axis=1)
    ours = rotary_rows(rows, heads)
    assert ours.shape == rows.shape
    for head, block in enumerate(np.split(ours[:, 0], heads)):
        start = head * 2 * half
        assert list(block[::2]) == list(range(start, start + half))
        assert list(block[1::2] - block[::2]) == [half] * half


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"use_dora": True}, "use_dora is set: .* no DoRA"),
        ({"bias": "all"}, "bias is 'all'"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save is set"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights is 'pissa', which changes the base's"),
        ({"peft_type": "LOHA"}, "peft_type is 'LOHA'"),
        ({"r": "four"}, "r is 'four'"),
        ({"lora_alpha": None}, "lora_alpha is None"),
    ],
)
def test_what_llama_cpp_cannot_load_is_refused(fields, message, adapter_copy):
    change(adapter_copy, **fields)
    with pytest.raises(ExportError, match=rf"adapter_config.json: {message}"):
        PeftAdapter(adapter_copy)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("adapter_config.json", "has no adapter_config.json"),
        ("adapter_model.safetensors", "has no adapter_model.safetensors"),
    ],
)
def test_a_missing_file_is_named(file, message, adapter_copy):
    (adapter_copy / file).unlink()
    with pytest.raises(ExportError, match=message):
        PeftAdapter(adapter_copy)


def test_no_directory_is_named(tmp_path):
    with pytest.raises(ExportError, match="nowhere is no directory"):
        PeftAdapter(tmp_path / "nowhere")


@pytest.mark.parametrize("kept", [0, 5, 3000, -7])
def test_weights_that_are_cut_off_are_named(kept, adapter_copy):
    file = adapter_copy / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ExportError, match=r"adapter_model.safetensors is cut off or damaged"):
        PeftAdapter(adapter_copy)


def test_a_config_that_is_no_json_is_named(adapter_copy):
    (adapter_copy / "adapter_config.json").write_text('{"r": ')
    with pytest.raises(ExportError, match=r"adapter_config.json cannot be read"):
        PeftAdapter(adapter_copy)


def spoil(adapter, change_weights):
    from safetensors.torch import load_file, save_file

    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    change_weights(weights)
    save_file(weights, file)


def test_a_lone_matrix_is_named(adapter_copy):
    key = "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight"
    spoil(adapter_copy, lambda weights: weights.pop(key))
    with pytest.raises(ExportError, match=f"has no {key}"):
        PeftAdapter(adapter_copy)


def test_weights_of_other_layers_are_named(adapter_copy):
    key = "base_model.model.lm_head.lora_A.weight"
    spoil(adapter_copy, lambda weights: weights.update({key: weights[next(iter(weights))].clone()}))
    with pytest.raises(ExportError, match=f"{key} is no LoRA weight of a Llama's linear layers"):
        PeftAdapter(adapter_copy)


def test_matrices_that_do_not_fit_each_other_are_named(adapter_copy):
    key = "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight"
    spoil(adapter_copy, lambda weights: weights.update({key: weights[key][:, :2].clone()}))
    with pytest.raises(ExportError, match=r"0.mlp.up_proj: lora_A is \(4, 64\) and lora_B \(96, 2\)"):
        PeftAdapter(adapter_copy)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            {"hidden": 32, "heads": 2, "kv_heads": 2},
            "0.mlp.down_proj is 64x96, and blk.0.ffn_down.weight 32x96",
        ),
        ({"layers": 1}, "it has 1.mlp.down_proj, and .* no blk.1.ffn_down.weight"),
        ({"layers": 3}, "it has 2 layers, and .* 3"),
    ],
)
def test_an_adapter_for_another_base_is_refused(other, reason, make_tiny, shared_tiny):
    base = GgufBase(make_tiny("other", **other).gguf)
    with pytest.raises(ExportError, match=f"adapter for another base than tiny: {reason}"):
        PeftAdapter(shared_tiny.adapter).check_base(base)


def test_a_base_of_the_same_shape_is_told_by_its_name(adapter_copy, shared_tiny):
    change(adapter_copy, base_model_name_or_path="smollm2-135m")
    base = GgufBase(shared_tiny.gguf)
    adapter = PeftAdapter(adapter_copy)
    adapter.check_base(base)
    adapter.check_base(base, name="smollm2-135m")
    with pytest.raises(ExportError, match=r"another base than other: .* it was trained for smollm2-135m"):
        adapter.check_base(base, name="other")
