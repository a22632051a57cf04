"""Keeps Python's garbage collector away from objects that live as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_LOOK = 400_000
"""Live objects at the first collection: more than a short command creates, some 50 MB."""


def postpone() -> None:
    """Postpones the first collection to `FIRST_LOOK` objects; later ones are as usual.

    Most objects of a short command are its modules, which stay: collecting took a seventh of its time.
    """
    defaults = gc.get_threshold()

    def as_usual(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.remove(as_usual)
        gc.set_threshold(*defaults)

    gc.callbacks.append(as_usual)
    gc.set_threshold(FIRST_LOOK, *defaults[1:])


@contextmanager
def long_lived() -> Iterator[None]:
    """For code that creates very many long-lived objects: the collector skips them now and later.

    Otherwise it visits all of them repeatedly, which took a third of the time for cases and plans of 10,000 points.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
