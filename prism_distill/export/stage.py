"""The export stage: everything that is made of a trained adapter, verified and described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prism_distill.export.adapter import write_adapter
from prism_distill.export.card import CARD, write_card
from prism_distill.export.errors import ExportError
from prism_distill.export.gguf_file import GgufBase, scratch
from prism_distill.export.merged import write_f16, write_merged
from prism_distill.export.peft_adapter import PeftAdapter
from prism_distill.export.record import ExportRecord, Provenance, describe, write_record
from prism_distill.export.settings import ExportSettings
from prism_distill.export.verify import Exported, compare
from prism_planner.cli.errors import FAILED

if TYPE_CHECKING:
    from peft import PeftModel

    from prism_distill.base_model import BaseModel

ADAPTER = "adapter.gguf"

OnStep = Callable[[str, int, int], None]
"""Called with what is being done, and how much of how much of it is done."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What is exported: the PEFT directory of an adapter, and the base that it was trained on."""

    adapter: Path
    base: BaseModel


def export(
    trained: Trained,
    *,
    provenance: Provenance,
    prompts: Sequence[Sequence[int]],
    settings: ExportSettings,
    directory: Path,
    on_step: OnStep = lambda _what, _done, _all: None,
) -> ExportRecord:
    """Write adapter.gguf, merged models, export.json and a model card to `directory`, and verify them.

    prompts: held-out conversations up to an answer (`verify.answer_prompts`), as token ids; the first
    `settings.prompts` are taken. All of it is written even when the files do not agree with the trained
    model, which then raises ExportError. Raises it also for an adapter that cannot be exported, for a base
    that llama.cpp lacks, and when there is no room; and ModelLoadError.
    """
    on_step("reading", 0, 1)
    adapter = PeftAdapter(trained.adapter)
    base = GgufBase(_base_gguf(trained.base, settings))
    adapter.check_base(base, name=trained.base.name)
    if trained.base.gguf is None and not base.is_full_precision:
        raise ExportError(
            f"export.base_gguf: {base.path} is quantised, and {trained.base.name} was not when the adapter "
            "was trained on it: name a GGUF in f32, f16 or bf16"
        )
    prompts = prompts[: settings.prompts]
    licence = settings.licence or base.licence or "unknown"
    on_step("writing", 0, 1)
    file = directory / ADAPTER
    write_adapter(adapter, base, file, kind=settings.adapter, name=provenance.domain, licence=licence)
    merged = write_merged(base, adapter, directory, settings.merged)
    models = {ADAPTER: Exported(base.path, file)}
    if full := merged.get("f16"):
        models[full.name] = Exported(full)
    with ExitStack() as stack:
        if not base.is_full_precision:
            folder = stack.enter_context(scratch(directory))
            models[ADAPTER] = Exported(folder / "base-f16.gguf", file)
            write_f16(base, models[ADAPTER].model)
        agreements = compare(
            _reference(trained),
            list(models.values()),
            prompts,
            tokens=settings.tokens,
            on_prompt=lambda done, total: on_step("comparing", done, total),
        )
    record = ExportRecord(
        provenance=provenance,
        licence=licence,
        rank=adapter.rank,
        alpha=adapter.alpha,
        adapter=describe(file, settings.adapter),
        merged=tuple(describe(path, kind) for kind, path in merged.items()),
        agreement={name: found.as_json() for name, found in zip(models, agreements, strict=True)},
        wanted=settings.identical,
    )
    write_record(record, directory)
    planner = f"{trained.base.name if trained.base.gguf else base.path}+{file}"
    write_card(record, directory / CARD, name=f"{provenance.base} for {provenance.domain}", model=planner)
    if not record.verified:
        raise ExportError(_disagreement(record, directory), FAILED)
    return record


def _base_gguf(base: BaseModel, settings: ExportSettings) -> Path:
    file = settings.base_gguf.expanduser() if settings.base_gguf is not None else base.gguf
    if file is None:
        raise ExportError(
            f"export.base_gguf is missing: {base.name} is a Hugging Face model, and llama.cpp needs it as "
            "a GGUF. Make one with llama.cpp (`convert_hf_to_gguf.py --outtype f16 DIRECTORY`), and name it"
        )
    return file


def _reference(trained: Trained) -> PeftModel:
    import torch
    from peft import PeftModel

    return PeftModel.from_pretrained(trained.base.weights(torch.float32), str(trained.adapter))


def _disagreement(record: ExportRecord, directory: Path) -> str:
    shares = ", ".join(f"{name} {found['identical']:.0%}" for name, found in record.agreement.items())
    return (
        f"{directory}: llama.cpp continues fewer than {record.wanted:.0%} of the held-out prompts as the "
        f"trained model does: {shares} (export.json says where they part). If the logits differ by little, "
        "there are near ties: lower export.identical. If by much, the base is not the one that was trained on"
    )
