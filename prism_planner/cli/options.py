"""Options that several commands have. The launch file, which has no typer, uses `choices` instead."""

from __future__ import annotations

from typing import Annotated

import typer

LARGEST_UINT32 = 2**32 - 1
"""Of whole numbers that go into a message: more would be cut off there, silently."""

MaskOption = Annotated[
    float | None,
    typer.Option(
        min=0.0, max=1.0, help="Hide this fraction of what is known at the start. Default: the scenario's."
    ),
]
