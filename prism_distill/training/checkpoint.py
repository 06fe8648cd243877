"""Checkpoints of a training run: whole or absent, whenever the process is killed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prism_planner.cli.errors import CommandError
from prism_planner.graph.durable import sync_directory, sync_file

_NAME = re.compile(r"step-(\d+)")


class CheckpointError(CommandError):
    """A checkpoint cannot be written or does not fit the run; the message says why and what to do."""


def newest_first(directory: Path) -> list[Path]:
    """All checkpoints in a directory."""
    return sorted(_all(directory), key=step_of, reverse=True)


def step_of(checkpoint: Path) -> int:
    match = _NAME.fullmatch(checkpoint.name)
    return int(match[1]) if match else -1


def save(directory: Path, step: int, *, model: Any, state: dict[str, Any], keep_until: int) -> Path:
    """Write the adapter of a PEFT model and `state` as `step-NNNNNN`.

    All others go but the one before, and the newest of at most `keep_until` steps. Raises CheckpointError
    when there is no room.
    """
    import torch

    target = directory / f"step-{step:06}"
    with _whole(target) as partial:
        _write_adapter(model, partial)
        torch.save(state, partial / "state.pt")
    known = newest_first(directory)
    kept = {*known[:2], *[path for path in known if step_of(path) <= keep_until][:1]}
    for old in set(known) - kept:
        shutil.rmtree(old, ignore_errors=True)
    return target


def save_adapter(model: Any, directory: Path) -> None:
    """Write the adapter of a PEFT model in the place of what is there.

    Raises CheckpointError when there is no room.
    """
    with _whole(directory) as partial:
        _write_adapter(model, partial)


def read_state(checkpoint: Path, *, fingerprint: str) -> dict[str, Any]:
    """The state that was saved. fingerprint: what the run depends on; it must have been saved with the same.

    Raises CheckpointError.
    """
    import torch

    try:
        state: dict[str, Any] = torch.load(checkpoint / "state.pt", weights_only=True)
    except Exception as error:
        raise _unreadable(checkpoint, error) from None
    if state.get("fingerprint") != fingerprint:
        raise CheckpointError(
            f"{checkpoint} belongs to other data or other settings of `training`. Start anew with --fresh, "
            "or choose another directory for this run"
        )
    return state


def read_adapter(checkpoint: Path, *, model: Any) -> None:
    """Put the adapter of a checkpoint into a PEFT model. Raises CheckpointError."""
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    try:
        weights = load_file(checkpoint / "adapter_model.safetensors")
    except Exception as error:
        raise _unreadable(checkpoint, error) from None
    set_peft_model_state_dict(model, weights)


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Raises CheckpointError when `target` cannot be written."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        raise CheckpointError(
            f"{target}: cannot be written: {error}. Free some space and run the same command again: training "
            "goes on from the newest checkpoint"
        ) from error


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A directory to write to, whose files take the place of those in `target` when that went well."""
    partial = target.with_name(f".{target.name}.partial")
    try:
        with writing(target):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            yield partial
            for file in partial.iterdir():
                sync_file(file)
            sync_directory(partial)
            if target.exists():
                # One by one: a full directory cannot be replaced at once, and at no time is there none.
                for file in partial.iterdir():
                    file.replace(target / file.name)
                sync_directory(target)
            else:
                partial.replace(target)
            sync_directory(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_adapter(model: Any, directory: Path) -> None:
    # The embeddings are the base's own; PEFT would look for the base on a hub to see whether they grew.
    model.save_pretrained(directory, save_embedding_layers=False)


def _unreadable(checkpoint: Path, error: Exception) -> CheckpointError:
    # torch.load goes on about pickles below.
    reason = str(error).partition("\n")[0].partition(". ")[0]
    return CheckpointError(f"{checkpoint} cannot be read: {reason}. Delete it to start before it")


def _all(directory: Path) -> list[Path]:
    return [path for path in directory.glob("step-*") if _NAME.fullmatch(path.name)]
