"""Names the steps of a Python application, so that its I/O profile says what each of them did to storage.

    with region("checkpoint"):
        save(model)

Without the recorder (`ioassay record`) nothing happens. Regions may lie within each other; each thread has its own.
One file without dependencies: copy it, or put its directory on `PYTHONPATH`.
"""

import contextlib
import ctypes
from collections.abc import Iterator

_process = ctypes.PyDLL(None)
_begin = getattr(_process, "ioassay_region_begin", None)
_end = getattr(_process, "ioassay_region_end", None)


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    """Names what happens within: the I/O of the calling thread until it leaves. Put no number into a name."""
    if _begin is None or _end is None:
        yield
        return
    label = name.encode(errors="replace")  # nothing may fail that does not without the recorder
    _begin(label)
    try:
        yield
    finally:
        _end(label)
