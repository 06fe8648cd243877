"""Names of planners: given, of a run, by default."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from prism_distill.report.contenders import base_of, contender, planner_name
from prism_planner.cli.errors import CommandError
from prism_planner.language.model import ModelLoadError

gguf = pytest.importorskip("gguf", reason="the gguf package is not installed: pip install gguf")

REGISTRY = """
format: prism-models/1
bases:
  tiny: {{description: a, source: {{path: a.gguf}}, licence: MIT, sha256: {digest}, context_length: 512,
         chat_template: chatml, quantisation: q8_0}}
  small: {{description: b, source: {{path: b.gguf}}, licence: MIT, sha256: {digest}, context_length: 512,
         chat_template: chatml, quantisation: q8_0}}
"""

ADAPTER = """
adapters:
  guide: {{description: c, domain: spine, base: small, source: {{path: c.gguf}}, licence: MIT,
          sha256: {digest}}}
"""


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "registry.yaml"
    path.write_text(REGISTRY.format(digest=hashlib.sha256(b"").hexdigest()))
    monkeypatch.setenv("PRISM_MODELS", str(tmp_path))
    return path


def write(path: Path, kind: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type(kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_names_stay_as_they_are(tmp_path: Path) -> None:
    merged = write(tmp_path / "merged.gguf", "model")
    for name in ("guide", "expert", "openai:gpt-4o", str(merged), f"tiny+{tmp_path}/a.gguf"):
        assert planner_name(name, domain="spine") == name


def test_the_file_of_an_adapter_is_put_on_a_base(tmp_path: Path) -> None:
    adapter = write(tmp_path / "new.gguf", "adapter")
    assert planner_name(str(adapter), domain="spine") == f"tiny+{adapter}"
    assert planner_name(str(adapter), domain="spine", base="small") == f"small+{adapter}"


def test_what_a_run_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    merged = write(run / "export" / "a-merged.gguf", "model")
    assert planner_name(None, domain="spine", run=run) == str(merged)
    adapter = write(run / "export" / "adapter.gguf", "adapter")
    for arguments in ({"given": None, "run": run}, {"given": str(run)}):
        assert planner_name(**arguments, domain="spine") == f"tiny+{adapter}"  # type: ignore[arg-type]


def test_the_adapter_of_the_registry_and_its_base(registry: Path) -> None:
    with pytest.raises(CommandError, match=r"no distilled planner for spine yet.*prism distill CONFIG"):
        planner_name(None, domain="spine")
    with registry.open("a") as file:
        file.write(ADAPTER.format(digest=hashlib.sha256(b"").hexdigest()))
    assert planner_name(None, domain="spine") == "guide"
    assert base_of("guide") == "small"
    assert base_of("small+x.gguf") == "small"
    assert base_of("expert") == "tiny"


def test_what_is_missing_or_broken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(CommandError, match=r"run: has no export/\*.gguf"):
        planner_name(str(tmp_path / "run"), domain="spine")
    broken = tmp_path / "broken.gguf"
    for content in (b"", b"no", b"GGUF but no more", write(tmp_path / "x.gguf", "adapter").read_bytes()[:40]):
        broken.write_bytes(content)
        with pytest.raises(ModelLoadError, match=r"broken.gguf is not a whole GGUF file"):
            planner_name(str(broken), domain="spine")


def test_how_models_are_asked() -> None:
    assert contender("source", "openai:gpt-4o").style == "source"
    assert contender("prism", "guide").style == "distilled"
    assert contender("slm", "tiny", style="source").style == "source"
    assert contender("prism", "guide").jobs == 1
