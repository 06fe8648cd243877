"""How an export fails."""

from __future__ import annotations

from prism_planner.cli.errors import CommandError


class ExportError(CommandError):
    """An adapter, a base or a place to write to is not as it must be; the message says what to do."""
