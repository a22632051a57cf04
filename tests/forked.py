"""Commands that tests start by forking a process that has already imported them.

Python and the modules of a command take 0.15 to 0.3 s, as much as the rest of most commands of tests, of which there
are thousands. What a child does is the same: its own directory, environment, standard streams, signals and exit code.
Not here: commands that tests stop, or look at while they work (`support.Command`), which start as users start them.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Never

_FORKED = multiprocessing.get_context("forkserver")
# The first is the program of pytest, which each child would import otherwise.
_FORKED.set_forkserver_preload(["__main__", __name__, f"{__package__}.imported_commands"])


def run(arguments: Sequence[str], directory: Path | None, deadline_s: float) -> tuple[int, str, str]:
    """Runs an `ioassay` command in `directory` to its end: exit code, standard output, standard error."""
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        at_work = _FORKED.Process(
            target=_run, args=(arguments, directory or Path.cwd(), dict(os.environ), out.name, err.name)
        )
        at_work.start()
        at_work.join(deadline_s)
        if at_work.exitcode is None:
            at_work.kill()
            at_work.join()
            raise subprocess.TimeoutExpired(arguments, deadline_s, out.read(), err.read())
        return at_work.exitcode, out.read().decode(), err.read().decode()


def _run(arguments: Sequence[str], directory: Path, environment: Mapping[str, str], out: str, err: str) -> Never:
    for stream, name in ((1, out), (2, err)):
        opened = os.open(name, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, stream)
        os.close(opened)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.argv[1:] = arguments
    code: object = 0
    try:
        runpy.run_module("ioassay", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not as multiprocessing ends a child, which would run what its parent had registered.
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
