"""How llama.cpp's threads wait, unless the user has said otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("given", "spins"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, "None")],
)
def test_what_the_user_has_set_stays(given: dict[str, str], spins: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    code = "import os, prism_planner.language; print(os.environ.get('GOMP_SPINCOUNT'))"
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment | given, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == spins
