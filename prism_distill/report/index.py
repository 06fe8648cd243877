"""What a run came to, on one page: report/index.md, and the files beside it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

TABLES = ("table1", "table2", "table3", "figure5")

# Where the other stages of a run leave what the page links to: title -> patterns, the first match counts.
_LINKS = {
    "Dataset card": ("dataset/*.md",),
    "Model card": ("export/*.md",),
    "Manifest": ("manifest.json",),
}
_CURVES = ("checkpoints/*.png", "training/*.png", "adapter/*.png", "*.png")


def report_directory(run: Path) -> Path:
    return run / "report"


def save(out: Path, name: str, figures: dict[str, Any], text: str) -> None:
    """Write `name`.json and `name`.md, whose picture is `name`.png, into `out`. Raises OSError."""
    _write(out / f"{name}.json", json.dumps(figures, indent=2, ensure_ascii=False) + "\n")
    _write(out / f"{name}.md", text)


def write_report(run: Path) -> Path:
    """Write `run`/report/index.md from the tables and figures in that directory and what the stages left.

    Says of what is missing how to make it. Returns the path. Raises OSError.
    """
    out = report_directory(run)
    lines = [f"# {run.name}", ""]
    for title, patterns in _LINKS.items():
        found = _first(run, patterns)
        where = f"[{found.name}]({_relative(found, out)})" if found else "not there yet"
        lines.append(f"- {title}: {where}")
    curves = _first(run, _CURVES)
    lines += ["", "## Training", ""]
    lines.append(f"![training curves]({_relative(curves, out)})" if curves else "No curves yet.")
    for name in TABLES:
        lines += ["", f"## {name[:-1].capitalize()} {name[-1]}", ""]
        text = out / f"{name}.md"
        if text.is_file():
            lines += [text.read_text(encoding="utf-8").strip(), "", f"![{name}]({name}.png)"]
        else:
            lines.append(f"Not measured yet: `prism distill {name} --run {run}`.")
    path = out / "index.md"
    _write(path, "\n".join([*lines, ""]))
    return path


def _first(run: Path, patterns: tuple[str, ...]) -> Path | None:
    return next((file for pattern in patterns for file in sorted(run.glob(pattern))), None)


def _relative(file: Path, out: Path) -> str:
    return Path(os.path.relpath(file, out)).as_posix()


def _write(path: Path, text: str) -> None:
    """Whoever looks finds the whole file or the one before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
