"""The last stage: the paper's tables for a run, and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from prism_distill.base_model import find_base
from prism_distill.run import Run
from prism_distill.train_stage import planner_name


def report_run(run: Run) -> Path:
    """Measure the tables that the config names, and write report/index.md, whose path is returned.

    Finished episodes are kept. Raises RunError, CommandError, ModelLoadError.
    """
    from prism_distill.report import cli
    from prism_distill.report.index import report_directory, write_report

    config, settings = run.config, run.config.report
    exported = run.output("export")
    base = find_base(config.base.model)
    base_name = config.base.model if base.gguf is not None else str(config.export.base_gguf)
    planner = planner_name(config, base, run.folder("export") / "adapter.gguf")
    common: dict[str, Any] = {
        "scenarios": list(settings.scenarios) or None,
        "domain": config.domain,
        "mask": settings.mask,
        "seed": settings.seed,
        "run": run.directory,
        "base": base_name,
    }
    for table in settings.tables:
        if table == "table1":
            cli.table1(**common, prism=planner, source=settings.source, jobs=settings.jobs)
        elif table == "table2":
            cli.table2(**common, prism=planner, source=settings.source, jobs=settings.jobs)
        elif table == "table3":
            cli.table3(**common, full=planner, adapters=settings.ablation, jobs=settings.jobs)
        else:
            cli.figure5(**common, prism=planner, queries=settings.queries)
    page = write_report(run.directory)
    out = report_directory(run.directory)
    figures = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(out.glob("*.json"))}
    inputs = {"export": exported, "report": settings.model_dump(mode="json")}
    files = [file for file in out.iterdir() if file.is_file() and file.suffix in (".md", ".png", ".json")]
    run.note("report", inputs, files, results=figures)
    return page
