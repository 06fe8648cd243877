"""Stage 4: a run's adapter as files that a robot loads, compared with what was trained."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from prism_distill.base_model import BaseModel, find_base
from prism_distill.dataset import count_rows
from prism_distill.run import Run, RunError
from prism_distill.scenarios.splits import Split
from prism_distill.train_stage import conversations

OnStep = Callable[[str, int, int], None]
"""Called with what is being done, and how much of how much of it is done."""


def export_run(run: Run, *, command: str, fresh: bool = False, on_step: OnStep | None = None) -> bool:
    """Export the adapter of a run; whether there was work to do. It is done anew when the adapter changed.

    command: makes the run again, for the model card. Raises RunError, ExportError, ModelLoadError.
    """
    config = run.config
    inputs = {
        "training": run.output("training"),
        "base": config.base.model,
        "export": config.export.model_dump(mode="json"),
    }
    if not run.begin("export", inputs, fresh=fresh):
        return False
    from prism_distill.export.record import Provenance
    from prism_distill.export.stage import Trained, export

    with run.working("export"):
        base = find_base(config.base.model)
        data = run.folder("dataset")
        record = export(
            Trained(run.directory / "adapter", base),
            provenance=Provenance(
                domain=config.domain,
                base=config.base.model,
                teacher=config.elicitation.teacher,
                training_data=run.output("dataset"),
                episodes=count_rows(data, "train"),
                training=config.training.model_dump(mode="json"),
                command=command,
            ),
            prompts=list(_prompts(run, base, config.export.prompts)),
            settings=config.export,
            directory=run.folder("export"),
            on_step=on_step or (lambda *_: None),
        )
        files = [path for path in run.folder("export").iterdir() if path.is_file()]
        run.finish("export", files, results={"agreement": record.agreement, "verified": record.verified})
    return True


def register_run(run: Run, name: str, *, registry: Path | None = None) -> list[str]:
    """Put the exported planner into a model registry, with what `prism report` measured; what that was.

    registry: a registry.yaml; the one that names are looked up in by default. Raises RunError, ExportError,
    RegistryError.
    """
    from prism_distill.export.record import Score
    from prism_distill.export.registration import publish

    run.output("export")
    measured = run.folder("report") / "table1.json"
    scores: dict[str, Score] = {}
    if measured.is_file():
        row = json.loads(measured.read_text(encoding="utf-8")).get("prism", {})
        kept = Score.model_fields.keys()
        scores = {
            column: Score(**{key: value for key, value in cell.items() if key in kept})
            for column, cell in row.items()
        }
    publish(run.folder("export"), name, scores=scores, registry=registry)
    return list(scores)


def _prompts(run: Run, base: BaseModel, wanted: int) -> Iterator[list[int]]:
    """One prompt of each episode, of early and late turns alike."""
    from prism_distill.export.verify import answer_prompts

    folder = run.folder("dataset")
    split: Split = "test" if count_rows(folder, "test") else "validation"
    found = 0
    for _, conversation in conversations(folder, split, run.config, base):
        if found == wanted:
            return
        prompts = list(answer_prompts(conversation.until(run.config.training.max_tokens)))
        if prompts:
            yield prompts[found % len(prompts)]
            found += 1
    if not found:
        raise RunError(f"{folder}: has no held-out episode to verify the export with")
