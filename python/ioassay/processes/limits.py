"""Limits of this process that make the libraries of the control plane fail without a clear error."""

from __future__ import annotations

import contextlib
import os
import resource
import threading

from ioassay.errors import CannotRun
from ioassay.text.units import format_about_bytes

_FILES = 64
_THREADS = 16

_V8_BYTES = 68e9
"""Address space, as measured; almost none of it is used."""


def refuse_small_limits() -> None:
    """Raises `CannotRun` if too few files can be open, or too few threads can be started."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < _FILES:
        raise CannotRun(
            f"This process may open {files} files at once, and ioassay needs {_FILES}.",
            "Raise the limit of open files: ulimit -n 1024",
        )
    # Two numerical libraries have a pool with one thread per processor.
    threads = _THREADS + 2 * len(os.sched_getaffinity(0))
    if (started := _startable(threads)) < threads:
        raise CannotRun(
            f"This process can start {started} threads, and ioassay needs {threads}.",
            "Raise the limit of processes (ulimit -u, or pids.max of the cgroup), or end other processes of yours.",
        )


def _startable(threads: int) -> int:
    """How many of `threads` can run at once. They all end again."""
    end = threading.Event()
    waiting = [threading.Thread(target=end.wait, daemon=True) for _ in range(threads)]
    started = []
    with contextlib.suppress(RuntimeError):
        for thread in waiting:
            thread.start()
            started.append(thread)
    end.set()
    for thread in started:
        thread.join()
    return len(started)


def small_address_space() -> str:
    """Why V8, which draws figures and prints PDFs, cannot reserve its address space.

    A sentence without its full stop; empty if it can.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _V8_BYTES:
        return ""
    return (
        f"the address space is limited to {format_about_bytes(limit)} (ulimit -v), and V8 reserves "
        f"{format_about_bytes(_V8_BYTES)}"
    )
