"""The models that prism knows."""

from __future__ import annotations

import hashlib
import json

import pytest
import yaml


@pytest.fixture
def registry(tmp_path):
    """A registry with a sound file, and one that is not what it should be."""

    def entry(name, content):
        (tmp_path / name).write_bytes(content)
        return {
            "description": "a [test] model",
            "source": {"path": name},
            "licence": "Apache-2.0",
            "sha256": hashlib.sha256(b"sound").hexdigest(),
            "context_length": 2048,
            "chat_template": "chatml",
            "quantisation": "f16",
        }

    bases = {"sound": entry("sound.gguf", b"sound"), "damaged": entry("damaged.gguf", b"other")}
    (tmp_path / "registry.yaml").write_text(yaml.safe_dump({"format": "prism-models/1", "bases": bases}))
    return {"PRISM_MODELS": str(tmp_path)}


def test_list(prism, registry, tmp_path):
    result = prism("models", "list", "--json", "models.json", **registry)
    assert result.returncode == 0, result.stderr
    assert "a [test] model" in result.stdout
    models = {model["name"]: model for model in json.loads((tmp_path / "models.json").read_text())["models"]}
    assert models["sound"]["installed"] is True
    assert models["damaged"]["installed"] is False


def test_verify(prism, registry):
    sound = prism("models", "verify", "sound", **registry)
    assert (sound.returncode, sound.stderr) == (0, "")
    everything = prism("models", "verify", **registry)
    assert everything.returncode == 1
    assert "ok   sound" in everything.stdout
    assert "damaged.gguf" in everything.stdout
    assert "damaged" in everything.stderr


def test_bad_input(refused, tmp_path):
    assert "gpt-17" in refused("models", "verify", "gpt-17", code=3)
    assert "registry.yaml" in refused("models", "list", code=3, PRISM_MODELS=str(tmp_path))
    (tmp_path / "registry.yaml").write_text("format: prism-models/9")
    assert "format" in refused("models", "list", code=3, PRISM_MODELS=str(tmp_path))
