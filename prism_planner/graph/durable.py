"""Files that are whole after a crash, whenever it comes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that appears complete and on the disk, or not at all.

    The parts go to `path` with `.tmp` appended, which is synchronised and then renamed.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_file(path: Path) -> None:
    """Make what was written to a file durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Make creations, renames and removals in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
