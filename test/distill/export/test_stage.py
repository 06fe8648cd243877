from __future__ import annotations

import json

import pytest

from prism_distill.base_model import BaseModel
from prism_distill.export.errors import ExportError
from prism_distill.export.record import Provenance, read_record
from prism_distill.export.settings import ExportSettings
from prism_distill.export.stage import Trained, export
from prism_planner.language.chat_format import CHATML, ChatFormat

MADE = Provenance(
    domain="spine",
    base="tiny",
    teacher="expert",
    training_data="0" * 64,
    episodes=10,
    training={"epochs": 1},
    command="prism distill tiny.yaml",
)


@pytest.fixture(scope="module")
def folder(shared_tiny, tmp_path_factory):
    """The shared base as a Hugging Face directory."""
    path = tmp_path_factory.mktemp("hub")
    with_adapter = shared_tiny.model.get_base_model()
    state = {
        name.replace("base_layer.", ""): value
        for name, value in with_adapter.state_dict().items()
        if "lora_" not in name
    }
    with_adapter.config.save_pretrained(path)
    from safetensors.torch import save_file

    save_file(state, path / "model.safetensors", metadata={"format": "pt"})
    return path


def trained(folder, adapter, gguf=None):
    base = BaseModel(name="tiny", form=ChatFormat(CHATML), tokenizer=None, path=str(folder), gguf=gguf)
    config = adapter / "adapter_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "base_model_name_or_path": "tiny"}))
    return Trained(adapter=adapter, base=base)


def test_all_is_written_and_verified(folder, adapter_copy, shared_tiny, prompts, tmp_path):
    out, steps = tmp_path / "out", []
    record = export(
        trained(folder, adapter_copy),
        provenance=MADE,
        prompts=prompts,
        settings=ExportSettings(
            merged=("f16", "q8_0"), base_gguf=shared_tiny.gguf, prompts=3, tokens=5, licence="MIT"
        ),
        directory=out,
        on_step=lambda *step: steps.append(step),
    )
    files = ["README.md", "adapter.gguf", "export.json", "merged-f16.gguf", "merged-q8_0.gguf"]
    assert sorted(path.name for path in out.iterdir()) == files
    assert record == read_record(out)
    assert record.verified
    assert record.licence == "MIT"
    assert record.agreement.keys() == {"adapter.gguf", "merged-f16.gguf"}
    assert {found["prompts"] for found in record.agreement.values()} == {3}
    assert steps[-1] == ("comparing", 3, 3)
    assert "Not measured yet" in (out / "README.md").read_text()


def test_files_that_do_not_agree_are_kept_and_reported(folder, adapter_copy, shared_tiny, prompts, tmp_path):
    """Here the GGUF is another base of the same shape: all its weights are doubled."""
    from safetensors.torch import load_file, save_file

    other = tmp_path / "other"
    other.mkdir()
    (other / "config.json").write_bytes((folder / "config.json").read_bytes())
    doubled = {key: value * 2 for key, value in load_file(folder / "model.safetensors").items()}
    save_file(doubled, other / "model.safetensors", metadata={"format": "pt"})
    settings = ExportSettings(base_gguf=shared_tiny.gguf, tokens=5)
    with pytest.raises(ExportError, match=r"fewer than 95% .* adapter.gguf 0%") as error:
        export(
            trained(other, adapter_copy),
            provenance=MADE,
            prompts=prompts,
            settings=settings,
            directory=tmp_path / "out",
        )
    assert error.value.code == 1
    assert not read_record(tmp_path / "out").verified


def test_a_base_that_llama_cpp_lacks_is_asked_for(folder, adapter_copy, prompts, tmp_path):
    with pytest.raises(ExportError, match=r"export.base_gguf is missing: tiny is a Hugging Face model"):
        export(
            trained(folder, adapter_copy),
            provenance=MADE,
            prompts=prompts,
            settings=ExportSettings(),
            directory=tmp_path / "out",
        )


def test_an_adapter_that_was_trained_for_another_base_is_refused(
    folder, adapter_copy, shared_tiny, prompts, tmp_path
):
    given = trained(folder, adapter_copy)
    config = adapter_copy / "adapter_config.json"
    config.write_text(
        json.dumps({**json.loads(config.read_text()), "base_model_name_or_path": "llama-3.2-1b"})
    )
    with pytest.raises(ExportError, match=r"another base than tiny: .* trained for llama-3.2-1b"):
        export(
            given,
            provenance=MADE,
            prompts=prompts,
            settings=ExportSettings(base_gguf=shared_tiny.gguf),
            directory=tmp_path / "out",
        )
    assert not (tmp_path / "out").exists()
