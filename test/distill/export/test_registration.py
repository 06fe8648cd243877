from __future__ import annotations

import shutil

import pytest

from prism_distill.export.errors import ExportError
from prism_distill.export.record import ExportRecord, Provenance, Score, describe, write_record
from prism_distill.export.registration import publish, register, with_entry
from prism_planner.language.registry import (
    AdapterEntry,
    RegistryError,
    Source,
    default_adapter,
    read_registry,
    registry_path,
    verify,
)

DIGEST = "ab" * 32
REGISTRY = """\
# The models of this robot.
format: prism-models/1

bases:
  small:   # the one on board
    description: "a small one: quoted"
    source:
      path: base.gguf
    licence: Apache-2.0
    sha256: {base}
    context_length: 512
    chat_template: chatml
    quantisation: q8_0
    run_as: q8_0   # faster

{adapters}"""
TWO = """\
adapters:
  # The first of a domain is its default.
  old-spine:
    description: an older one
    domain: spine
    base: small
    source: {path: old.gguf}
    licence: MIT
    sha256: DIGEST
  other:
    description: of another domain
    domain: saycan
    base: small
    source: {path: other.gguf}
    licence: MIT
    sha256: DIGEST
"""


def entry(**fields):
    return AdapterEntry(
        **{
            "description": "new",
            "domain": "spine",
            "base": "small",
            "source": Source(path="new.gguf"),
            "licence": "Apache-2.0",
            "sha256": DIGEST,
            "training_data": DIGEST,
            "scores": {"held-out": 0.9625},
            **fields,
        }
    )


@pytest.fixture
def registry(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "base.gguf").write_bytes(b"GGUF base")
    file = tmp_path / "models" / "registry.yaml"
    base = describe(tmp_path / "models" / "base.gguf", "q8_0").sha256

    def write(adapters="adapters: {}\n"):
        file.write_text(REGISTRY.format(base=base, adapters=adapters.replace("DIGEST", DIGEST)))
        return file

    return write


@pytest.mark.parametrize("adapters", ["adapters: {}\n", ""])
def test_the_first_adapter_is_added(adapters, registry):
    path = registry(adapters)
    register(path, "new-spine", entry())
    assert read_registry(path).adapters == {"new-spine": entry()}


def test_nothing_else_changes(registry):
    path = registry(TWO)
    before = path.read_text().splitlines()
    register(path, "new-spine", entry())
    after = path.read_text().splitlines()
    assert after[: len(before)] == before
    assert list(read_registry(path).adapters) == ["old-spine", "other", "new-spine"]


def test_an_entry_is_replaced_in_its_place(registry):
    path = registry(TWO)
    register(path, "old-spine", entry())
    assert next(iter(read_registry(path).adapters.items())) == ("old-spine", entry())
    assert "# The first of a domain is its default." in path.read_text()
    register(path, "old-spine", entry())
    assert list(read_registry(path).adapters) == ["old-spine", "other"]


def test_the_registry_that_is_shipped_keeps_its_text():
    text = registry_path().read_text()
    base = next(iter(read_registry().bases))
    kept = text.partition("adapters:")[0]
    assert with_entry(registry_path(), "new", entry(base=base)).startswith(kept)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("new", {"base": "large"}, "new cannot be added: .*there is no base 'large', only small"),
        ("small", {}, "small is the name of a base and of an adapter"),
    ],
)
def test_an_entry_that_does_not_fit_changes_nothing(name, fields, message, registry):
    path = registry(TWO)
    before = path.read_text()
    with pytest.raises(ExportError, match=message):
        register(path, name, entry(**fields))
    assert path.read_text() == before


def test_a_registry_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(RegistryError, match=r"registry.yaml cannot be read"):
        register(tmp_path / "registry.yaml", "new", entry())


@pytest.fixture
def exported(tmp_path):
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "adapter.gguf").write_bytes(b"GGUF adapter")
    agreement = {
        "prompts": 60,
        "identical": 59 / 60,
        "ci_low": 0.91,
        "ci_high": 0.99,
        "top1": 0.999,
        "max_difference": 0.07,
        "mean_difference": 0.01,
        "divergence": 3e-6,
        "positions": 1800,
    }

    def write(**fields):
        record = ExportRecord(
            **{
                "provenance": Provenance(
                    domain="spine",
                    base="small",
                    teacher="expert",
                    training_data=DIGEST,
                    episodes=4000,
                    training={"learning_rate": 0.001, "epochs": 2},
                    command="prism distill config/distill/small.yaml",
                ),
                "licence": "Apache-2.0",
                "rank": 32,
                "alpha": 32,
                "adapter": describe(folder / "adapter.gguf", "f16"),
                "agreement": {"adapter.gguf": agreement},
                "wanted": 0.95,
                **fields,
            }
        )
        write_record(record, folder)
        return folder

    return write


SCORES = {"held-out": Score(episodes=160, success=0.95625, ci_low=0.912, ci_high=0.979)}


def test_a_published_planner_is_the_domains_default(exported, registry, monkeypatch):
    path = registry()
    monkeypatch.setenv("PRISM_MODELS", str(path.parent))
    published = publish(exported(), "spine-small", scores=SCORES)
    assert default_adapter("spine") == "spine-small"
    assert read_registry().adapters["spine-small"] == published
    assert published.scores == {"held-out": 0.9563}
    assert published.training_data == DIGEST
    assert verify("spine-small").ok


def test_the_card_says_what_must_be_known(exported, registry):
    path = registry()
    publish(exported(), "spine-small", scores=SCORES, registry=path)
    card = (path.parent / "spine-small.md").read_text()
    for words in (
        "# spine-small",
        "Licence: Apache-2.0",
        f"4000 episodes of expert in synthetic worlds, without human labels; SHA-256 `{DIGEST}`",
        "| learning_rate | 0.001 |",
        "rank 32, alpha 32",
        "| held-out | 0.956 | 0.912 to 0.979 | 160 |",
        "| `adapter.gguf` | 0.983 | 0.910 to 0.990 | 60 | 0.9990 | 3e-06 | 0.070 |",
        "prism distill config/distill/small.yaml",
        "## Limits",
    ):
        assert words in card


def test_what_does_not_agree_is_not_published(exported, registry):
    path = registry()
    before = path.read_text()
    with pytest.raises(ExportError, match="do not say what the trained model says"):
        publish(exported(wanted=0.99), "spine-small", scores=SCORES, registry=path)
    assert path.read_text() == before
    assert not (path.parent / "spine-small.gguf").exists()


def test_another_file_than_was_verified_is_not_published(exported, registry):
    folder = exported()
    (folder / "adapter.gguf").write_bytes(b"GGUF another")
    with pytest.raises(ExportError, match=r"adapter.gguf is not the file that was verified"):
        publish(folder, "spine-small", scores=SCORES, registry=registry())


def test_a_run_that_was_not_exported_is_named(exported, registry):
    folder = exported()
    (folder / "export.json").write_text('{"format": "prism-export/0"}')
    with pytest.raises(ExportError, match=r"export.json: format"):
        publish(folder, "spine-small", scores=SCORES, registry=registry())
    shutil.rmtree(folder)
    with pytest.raises(ExportError, match=r"export.json cannot be read.*Export the run first"):
        publish(folder, "spine-small", scores=SCORES, registry=registry())
