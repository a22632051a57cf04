"""One engine process: started apart from the terminal, followed, stopped in time.

It gets a session of its own, so that a Ctrl-C reaches only the control plane, which then stops the engine
once and in order. It never outlives the control plane: it watches its parent itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from ioassay.errors import CannotRun
from ioassay.execution.interruption import signal_name

STOP_S = 4.9
"""How long the engine may take to stop after a signal: it removes its files meanwhile. The promise is 5 s, and its own
guard leaves what hangs a little earlier, and says what that is.
"""

LAUNCHED_STOP_S = 8.0
"""The same behind a launcher, whose helpers on other nodes have to end too."""

KILL_S = 0.4
"""How long to wait after a SIGKILL. Longer than that, a process hangs in the kernel, mostly on a dead mount."""

_MOST_PRINTED_BYTES = 64 << 10
"""Of each end of what was printed: more says nothing new."""


class EngineProcess:
    """An engine at work, with its launcher. Leaving the context stops it."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        inherited: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        *,
        through: bool = False,
    ) -> None:
        """Starts `command`; what it prints is appended to `output`. Raises `CannotRun` when it does not start.

        `through` a launcher the engine is told by its standard input when to stop: signals would reach the launcher,
        and each of those makes something else of them.
        """
        self._through = through
        self._output = output
        try:
            with output.open("ab") as file:
                self._begin_bytes = file.tell()
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE if through else subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                    pass_fds=inherited,
                    env=environment,
                )
        except OSError as error:
            raise CannotRun(
                f"{command[0]} does not start: {error.strerror}.", "Check that it is installed and executable."
            ) from error
        self._deadline: float | None = None
        self._killed = False

    @property
    def status(self) -> int | None:
        """Its exit status, negative for the signal that killed it; `None` while it runs or hangs."""
        return self._process.returncode

    @property
    def killed(self) -> bool:
        """True if it had to be killed because it did not stop in time, or was asked twice."""
        return self._killed

    def wait(self, timeout_s: float) -> bool:
        """Waits for its end, at most `timeout_s`. True once nothing more is to be expected of it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
            if not self._through:
                self.sweep()
            return True
        if self._deadline is None or time.monotonic() < self._deadline:
            return False
        if self._killed:
            return True
        self.kill()
        return False

    def stop(self, number: int) -> None:
        """Asks it to end by passing on a signal; kills it after `STOP_S`. Asked again, kills it now."""
        if self._deadline is not None:
            self.kill()
            return
        if self._process.stdin is None:
            self._deadline = time.monotonic() + STOP_S
            self._process.send_signal(number)
            return
        self._deadline = time.monotonic() + LAUNCHED_STOP_S
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{signal_name(number)}\n".encode())
            self._process.stdin.flush()

    def kill(self) -> None:
        """Ends it and all its ranks on this machine, without giving them time for anything."""
        if self._killed:
            return
        self._killed = True
        self._deadline = time.monotonic() + KILL_S
        self._kill_group()

    @property
    def through(self) -> bool:
        """True if a launcher stands between."""
        return self._through

    @property
    def printed(self) -> str:
        """What it has printed so far: its first and its last part, where that is much."""
        with self._output.open("rb") as file:
            file.seek(self._begin_bytes)
            head = file.read(_MOST_PRINTED_BYTES)
            end = file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - _MOST_PRINTED_BYTES, self._begin_bytes + len(head)))
            text = head + (file.read() if end > self._begin_bytes + len(head) else b"")
        return text.decode(errors="replace")

    def sweep(self) -> None:
        """Ends ranks and helpers on this machine that outlived the process which led them."""
        self._kill_group()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self.stop(signal.SIGTERM)
            while not self.wait(0.1):
                pass
        self.sweep()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
