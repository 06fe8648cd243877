from __future__ import annotations

import pytest

from prism_distill.export.gguf_file import GgufBase
from prism_distill.export.merged import write_f16, write_merged
from prism_distill.export.peft_adapter import PeftAdapter
from prism_distill.export.verify import Exported, compare
from prism_planner.language.model import ModelLoadError

gguf = pytest.importorskip("gguf")


def metadata(path):
    reader = gguf.GGUFReader(path)
    return {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}


@pytest.fixture(scope="module")
def merged(shared_tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("merged")
    kinds = ("q8_0", "f16", "q4_0", "q4_1", "q4_k_m")
    return write_merged(GgufBase(shared_tiny.gguf), PeftAdapter(shared_tiny.adapter), folder, kinds)


def test_a_merged_model_says_what_transformers_says(merged, shared_tiny, prompts):
    models = [Exported(path) for path in (merged["f16"], merged["q8_0"])]
    full, quantised = compare(shared_tiny.model, models, prompts, tokens=12, threads=1)
    assert full.max_difference < 0.03
    assert full.identical.value == 1
    assert full.divergence < quantised.divergence < 0.01


@pytest.mark.parametrize("kind", ["f16", "q8_0", "q4_0", "q4_1", "q4_k_m"])
def test_tokenizer_and_template_are_the_bases(kind, merged, shared_tiny):
    ours, bases = metadata(merged[kind]), metadata(shared_tiny.gguf)
    own = {"general.name", "general.file_type", "general.quantization_version"}
    assert {key: ours[key] for key in bases.keys() - own} == {key: bases[key] for key in bases.keys() - own}
    assert ours.keys() - own == bases.keys() - own
    assert ours["general.file_type"] == gguf.LlamaFileType[f"MOSTLY_{kind.upper()}"]


def test_only_what_was_asked_for_is_left(shared_tiny, tmp_path):
    base, adapter = GgufBase(shared_tiny.gguf), PeftAdapter(shared_tiny.adapter)
    assert write_merged(base, adapter, tmp_path, []) == {}
    (tmp_path / ".scratch").mkdir()
    (tmp_path / ".scratch" / "of a killed process").touch()
    write_merged(base, adapter, tmp_path, ["q8_0"], name="planner")
    assert [path.name for path in tmp_path.iterdir()] == ["planner-q8_0.gguf"]


def test_without_an_adapter_the_base_is_dequantised(merged, tmp_path):
    base = GgufBase(merged["q8_0"])
    assert not base.is_full_precision
    write_f16(base, tmp_path / "f16.gguf")
    again = GgufBase(tmp_path / "f16.gguf")
    assert again.is_full_precision
    for name, tensor in base.tensors.items():
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert again.tensors[name].data == pytest.approx(values, rel=1e-3, abs=1e-6)


def test_a_base_that_is_no_gguf_is_named(tmp_path):
    (tmp_path / "base.gguf").write_text("a web page")
    with pytest.raises(ModelLoadError, match=r"base.gguf is not a GGUF file"):
        GgufBase(tmp_path / "base.gguf")


def test_a_base_that_is_cut_off_is_named(shared_tiny, tmp_path):
    from prism_distill.export.errors import ExportError

    for size in (4, 30, 2000):
        (tmp_path / "base.gguf").write_bytes(shared_tiny.gguf.read_bytes()[:size])
        with pytest.raises(ExportError, match=r"base.gguf is not a whole GGUF file"):
            GgufBase(tmp_path / "base.gguf")


def test_a_base_of_another_architecture_is_named(tmp_path):
    from prism_distill.export.errors import ExportError

    writer = gguf.GGUFWriter(tmp_path / "base.gguf", "gemma3")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ExportError, match="a model of architecture 'gemma3'"):
        GgufBase(tmp_path / "base.gguf")
