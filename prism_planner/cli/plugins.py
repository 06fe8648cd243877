"""Commands that other packages add to `prism`, through the entry-point group `prism_planner.commands`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from prism_planner.cli.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Mapping

GROUP = "prism_planner.commands"


class PluginGroup(TyperGroup):
    """The built-in commands, and those of plug-ins, which are loaded when they are asked for.

    An entry point names a `typer.Typer`: a command where it has one, otherwise a group. One that cannot be
    loaded stays in the list, and says why when it is used; everything else works.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        built_in = super().list_commands(ctx)
        return [*built_in, *(name for name in _points() if name not in built_in)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in _points():
            self.add_command(_load(_points()[cmd_name]), cmd_name)
        return super().get_command(ctx, cmd_name)


@cache
def _points() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> Any:
    try:
        command = typer.main.get_command(point.load())
    except Exception as error:
        command = _unavailable(point, f"{type(error).__name__}: {error}")
    command.name = point.name
    return command


def _unavailable(point: EntryPoint, reason: str) -> Any:
    app = typer.Typer(add_completion=False)
    package = point.dist.name if point.dist is not None else point.value

    @app.command(
        point.name,
        help=f"Not available: {package} cannot be loaded.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def unavailable() -> None:
        raise CommandError(
            f"{point.name}: the plug-in {point.value} of the package {package} cannot be loaded ({reason}): "
            "install the package again, or remove it"
        )

    return typer.main.get_command(app)
