"""Spares Python's garbage collector what lives as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
