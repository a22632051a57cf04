"""Limits of this process that the libraries of the control plane do not survive, and do not report in a line."""

from __future__ import annotations

import contextlib
import os
import resource
import threading

from ioassay.errors import CannotRun

_FILES = 64
_THREADS = 16


def refuse_small_limits() -> None:
    """Raises `CannotRun` where too few files can be open, or too few threads be started."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < _FILES:
        raise CannotRun(
            f"This process may open {files} files at once, and ioassay needs {_FILES}.",
            "Raise the limit of open files: ulimit -n 1024",
        )
    # The libraries that compute have a pool of a thread for each processor, two of them at once.
    threads = _THREADS + 2 * len(os.sched_getaffinity(0))
    if (started := _startable(threads)) < threads:
        raise CannotRun(
            f"This process can start {started} threads, and ioassay needs {threads}.",
            "Raise the limit of processes (ulimit -u, or pids.max of the cgroup), or end other processes of yours.",
        )


def _startable(threads: int) -> int:
    """How many of `threads` can be started at once. None of them stays."""
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
