"""What commands choose by default, and say that they chose: the planner and the scenario."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from prism_planner.cli.errors import CommandError

EXPERT = "expert"

MODEL_HELP = (
    "Who plans: a name from `prism models list`, a .gguf file, BASE+ADAPTER.gguf, openai:NAME, or expert. "
    "Default: the distilled adapter of the domain, or the expert while there is none."
)

STYLE_HELP = (
    "How to talk to the model: source (instructions and examples) or distilled (as short as possible). "
    "Default: source for openai:NAME, distilled otherwise."
)


class StyleChoice(str, Enum):
    source = "source"
    distilled = "distilled"


def choose_model(name: str | None, *, domain: str = "spine") -> tuple[str, str]:
    """The model's name and, where it was not the user's choice, a sentence that says so."""
    from prism_planner.language.registry import default_adapter

    if name:
        return name, ""
    adapter = default_adapter(domain)
    if adapter is not None:
        return adapter, f"Planning with {adapter}, the distilled model for {domain}."
    return EXPERT, (
        f"There is no distilled model for {domain} yet, so the built-in expert plans: rules and a lexicon, "
        "no language model. Try the bare base model with --model smollm2-135m."
    )


def scenario_file(given: str) -> Path:
    """A scenario file, given as a path or by the name of one that comes with the package."""
    path = Path(given)
    if path.is_file():
        return path
    shipped = {file.stem.replace("_", "-"): file for file in sorted(shipped_scenarios().rglob("*.yaml"))}
    found = shipped.get(path.stem.replace("_", "-")) if path.parent == Path() else None
    if found is None:
        raise CommandError(
            f"{given}: there is no such scenario file, and none of that name comes with prism: "
            f"{', '.join(sorted(shipped)) or 'none at all'}"
        )
    return found


def shipped_scenarios() -> Path:
    """The directory of the scenarios that come with the package."""
    from prism_planner.nodes.share import share_directory

    return share_directory() / "scenarios"
