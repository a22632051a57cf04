"""Spares Python's garbage collector what lives as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_LOOK = 400_000
"""Objects that are alive when the collector first looks: more than a short command makes, some 50 MB."""


def postpone() -> None:
    """Has the collector look for the first time after `FIRST_LOOK` objects, and then as usual.

    Most of what a short command makes are its modules, which stay: to look at them took a seventh of its time.
    """
    usual = gc.get_threshold()

    def as_usual(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.remove(as_usual)
        gc.set_threshold(*usual)

    gc.callbacks.append(as_usual)
    gc.set_threshold(FIRST_LOOK, *usual[1:])


@contextmanager
def long_lived() -> Iterator[None]:
    """For code that makes very many objects, all of them to stay: the collector looks neither now nor later at them.

    It would walk through all of them again and again: for the cases and plans of 10,000 points a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
