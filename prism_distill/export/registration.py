"""Putting a planner into a model registry: its adapter, its card and its entry, in one directory."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from prism_distill.export.card import write_card
from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import written_whole
from prism_distill.export.record import Score, describe, read_record
from prism_planner.language.registry import AdapterEntry, Registry, Source, read_registry, registry_path


def publish(
    exported: Path,
    name: str,
    *,
    scores: Mapping[str, Score],
    description: str | None = None,
    registry: Path | None = None,
) -> AdapterEntry:
    """Put the planner exported into the directory `exported` into a registry under `name`.

    `NAME.gguf` and `NAME.md` go beside registry.yaml. An entry of this name is replaced, in its place.
    scores: success by what it was measured on. description: by default what it is distilled from. registry:
    a registry.yaml, by default the one that names are looked up in. Raises ExportError, RegistryError.
    """
    registry = registry or registry_path()
    record = read_record(exported)
    made = record.provenance
    source = exported / record.adapter.name
    if not record.verified:
        raise ExportError(
            f"{exported}: the exported files do not say what the trained model says (export.json): they are "
            "not put into a registry"
        )
    try:
        found = describe(source, record.adapter.kind)
    except OSError as error:
        raise ExportError(f"{source} cannot be read: {error.strerror}. Export the run again") from None
    if found != record.adapter:
        raise ExportError(f"{source} is not the file that was verified: export the run again")
    entry = AdapterEntry(
        description=description or f"{made.base} distilled from {made.teacher}",
        domain=made.domain,
        base=made.base,
        source=Source(path=Path(f"{name}.gguf")),
        licence=record.licence,
        sha256=record.adapter.sha256,
        training_data=made.training_data,
        scores={key: round(score.success, 4) for key, score in scores.items()},
    )
    with_entry(registry, name, entry)  # nothing is written for an entry that would not do
    with written_whole(registry.with_name(f"{name}.gguf")) as partial:
        shutil.copyfile(source, partial)
    write_card(record, registry.with_name(f"{name}.md"), name=name, model=name, scores=scores)
    register(registry, name, entry)
    return entry


def register(path: Path, name: str, entry: AdapterEntry) -> None:
    """Add or replace an adapter in a registry.yaml, whose comments and order stay.

    Raises RegistryError for a registry that cannot be read, ExportError for an entry that does not fit it.
    """
    text = with_entry(path, name, entry)
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def with_entry(path: Path, name: str, entry: AdapterEntry) -> str:
    """The text of a registry.yaml with an adapter added or replaced. Raises as `register` does."""
    read_registry(path)
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 1 << 16
    document = editor.load(path.read_text(encoding="utf-8"))
    values = entry.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    if document.get("adapters"):
        document["adapters"][name] = values
    else:
        # `adapters: {}` would go on in one line.
        document["adapters"] = CommentedMap({name: values})
    stream = io.StringIO()
    editor.dump(document, stream)
    text = stream.getvalue()
    try:
        Registry.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        reasons = "; ".join(problem["msg"].removeprefix("Value error, ") for problem in error.errors())
        raise ExportError(f"{path}: {name} cannot be added: {reasons}") from None
    return text
