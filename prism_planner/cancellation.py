"""Cooperative cancellation, shared by everything that may take long: models, worlds, robots."""

from __future__ import annotations

import threading


class Cancelled(Exception):
    """Raised inside long work when its `CancelToken` has been cancelled."""


class CancelToken:
    """A one-way flag that the owner of a job sets and the job polls; safe across threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def raise_if_cancelled(self) -> None:
        if self._event.is_set():
            raise Cancelled

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds` or until cancelled; return whether cancelled."""
        return self._event.wait(seconds)
