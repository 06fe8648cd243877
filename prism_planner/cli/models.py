"""`prism models`: the language models that prism knows by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prism_planner.cli.errors import FAILED, CommandError

app = typer.Typer(help="The language models that prism knows by name.", no_args_is_help=True)


@app.command("list")
def list_models(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the list to this file.")
    ] = None,
) -> None:
    """List base models and adapters, whether each is installed, and what was
    measured.

    Besides these, --model takes expert, the path of a .gguf file,
    BASE+ADAPTER.gguf for an adapter that is not listed, and openai:NAME for
    any OpenAI-compatible endpoint (OPENAI_BASE_URL, OPENAI_API_KEY).

        prism models list
    """
    from rich.table import Table
    from rich.text import Text

    from prism_planner.cli.plan import write_json
    from prism_planner.cli.show import console
    from prism_planner.language.registry import AdapterEntry, BaseEntry, read_registry, registry_path, verify

    registry = read_registry()
    table = Table(title=str(registry_path()), title_justify="left")
    for heading in ("name", "kind", "what", "licence", "installed", "measured"):
        table.add_column(heading, overflow="fold")
    rows = []
    entries: dict[str, BaseEntry | AdapterEntry] = {**registry.bases, **registry.adapters}
    for name, entry in entries.items():
        kind = f"{entry.domain} on {entry.base}" if isinstance(entry, AdapterEntry) else "base"
        scores = entry.scores if isinstance(entry, AdapterEntry) else {}
        installed = verify(name).ok
        measured = ", ".join(f"{key} {value:g}" for key, value in scores.items())
        shown = (name, kind, entry.description, entry.licence, "yes" if installed else "no", measured)
        table.add_row(*map(Text, shown))
        rows.append({"name": name, "installed": installed, **entry.model_dump(mode="json")})
    console().print(table, soft_wrap=False)
    if json_file is not None:
        write_json(json_file, {"models": rows})


@app.command("verify")
def verify_models(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all.")] = None,
) -> None:
    """Compare the files of models with the digests in the registry; exit code 1 when one differs.

    prism models verify
    prism models verify smollm2-135m
    """
    from prism_planner.cli.show import console
    from prism_planner.language.registry import read_registry, verify

    out = console()
    results = [verify(name) for name in names or read_registry().names]
    for result in results:
        style = "green" if result.ok else "red"
        out.print(
            f"{'ok' if result.ok else 'BAD':4} {result.name}: {result.detail}", style=style, markup=False
        )
    bad = [result.name for result in results if not result.ok]
    if bad:
        raise CommandError(f"not as the registry says: {', '.join(bad)}", FAILED)
