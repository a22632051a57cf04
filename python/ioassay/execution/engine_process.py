"""Starts one engine process in its own session, follows its events, and stops it in time.

The session makes a Ctrl-C reach only the control plane, which then stops the engine
once and in order. The engine never outlives the control plane: it watches its parent itself.

Neither the end nor the exit code of a launcher in between is trusted: the engine's last
event counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption, signal_name
from ioassay.launchers.failure_messages import is_lost, losses
from ioassay.store.events import EventTail

if TYPE_CHECKING:
    from ioassay.protocol.event import Event

STOP_S = 4.9
"""How long the engine may take to stop after a signal: it removes its files meanwhile. We promise 5 s; its own
watchdog abandons a hanging rank a little earlier, and reports it.
"""

LAUNCHED_STOP_S = 8.0
"""The same through a launcher, whose helpers on other nodes have to end too."""

KILL_S = 0.4
"""How long to wait after a SIGKILL; after that, a process hangs in the kernel, mostly on a dead mount."""

_MOST_PRINTED_BYTES = 64 << 10
"""Bytes of printed output that are kept, at its beginning and at its end."""

# Short enough for a live display, long enough to leave the processors to the ranks.
_LOOK_EVERY_S = 0.2

LINGER_S = 3.0
"""How long an engine, or its launcher, may run after the engine's last event."""

LINGER_LOST_S = 0.5
"""The same after a node is lost: many launchers wait for it for minutes."""

LAST_WORD_S = 5.0
"""How long engines may take for their last event after their launcher ended: they notice, and remove their files."""

LOST_S = 4.0
"""How long engines and launcher may take to end by themselves after they printed that a node is lost: the remaining
engines remove their files meanwhile."""

_KILLED_S = 1.0
"""As `LAST_WORD_S`, if the launcher itself ended the engines, or after `LOST_S`."""

LAUNCH_S = 150.0
"""How long a launcher may take until the engine's first event. A launcher that waits for a lost node waits for ever;
if MPI does not start, the engine reports it before this."""


class EngineProcess:
    """A running engine, with its launcher. Leaving the context stops it."""

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        inherited: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        *,
        through: bool = False,
    ) -> None:
        """Starts `command` and appends its output to `output`. Raises `CannotRun` if it does not start.

        `through` a launcher, the engine is stopped by its standard input: signals would reach the launcher,
        and each launcher treats them differently.
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
                f"{command[0]} cannot be started: {error.strerror}.", "Check that it is installed and executable."
            ) from error
        self._deadline: float | None = None
        self._killed = False
        self._stopped_twice = False

    @property
    def status(self) -> int | None:
        """Exit status, negative for the signal that killed it; `None` while it runs or hangs."""
        return self._process.returncode

    @property
    def killed(self) -> bool:
        """True if it was killed because it did not stop in time, or because it was stopped twice."""
        return self._killed

    @property
    def stopped_twice(self) -> bool:
        """True if it was killed because of a second `stop`."""
        return self._stopped_twice

    def wait(self, timeout_s: float) -> bool:
        """Waits up to `timeout_s` for the end. True once the process has ended, or hangs after a SIGKILL."""
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
        """Passes on a signal that ends it; kills it after `STOP_S`, or at the second call."""
        if self._deadline is not None:
            self._stopped_twice |= not self._killed
            self.kill()
            return
        if self._process.stdin is None:
            self._deadline = time.monotonic() + STOP_S
        else:
            self._deadline = time.monotonic() + LAUNCHED_STOP_S
        self._tell(number)

    def suspend(self) -> None:
        """Pauses the I/O of its ranks until `resume`. The engine still handles signals, so that it can be stopped."""
        self._tell_all(signal.SIGTSTP)

    def resume(self) -> None:
        self._tell_all(signal.SIGCONT)

    def _tell_all(self, number: int) -> None:
        """As `_tell`; without a launcher, to the whole group: a recorder in front of the engine keeps these signals to
        itself.
        """
        if self._process.stdin is not None:
            self._tell(number)
        elif self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _tell(self, number: int) -> None:
        """Passes on a signal; through a launcher, its name is written to the engine's standard input."""
        if self._process.stdin is None:
            self._process.send_signal(number)
            return
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{signal_name(number)}\n".encode())
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kills it and all its ranks on this machine at once."""
        if self._killed:
            return
        self._killed = True
        self._deadline = time.monotonic() + KILL_S
        self._kill_group()

    @property
    def through(self) -> bool:
        """True if a launcher is in between."""
        return self._through

    @property
    def printed(self) -> str:
        """The output so far; only its beginning and its end if it is long."""
        with self._output.open("rb") as file:
            file.seek(self._begin_bytes)
            head = file.read(_MOST_PRINTED_BYTES)
            end = file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - _MOST_PRINTED_BYTES, self._begin_bytes + len(head)))
            text = head + (file.read() if end > self._begin_bytes + len(head) else b"")
        return text.decode(errors="replace")

    def sweep(self) -> None:
        """Kills ranks and helpers on this machine that outlived the process."""
        self._kill_group()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.stop(signal.SIGTERM)
            while not self.wait(0.1):
                pass
        self.sweep()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def follow(
    process: EngineProcess,
    interruption: Interruption,
    events: EventTail,
    on_event: Callable[[Event], None] = lambda event: None,
    on_look: Callable[[], None] = lambda: None,
    *,
    last_words: Collection[str] = ("finished",),
) -> list[Event]:
    """Reads events of `process` and passes signals on to it, until its end.

    Returns all events. The process is finished after an event whose kind is among `last_words`.

    `on_event` gets each event as it appears, `on_look` is called several times per second.
    """
    reported: list[Event] = []
    signals_passed = 0
    has_ended = False
    finished_at: float | None = None
    lost_at: float | None = None
    begin_s = time.monotonic()

    def look() -> None:
        nonlocal finished_at
        for event in events.new():
            reported.append(event)
            on_event(event)
            if event["event"] in last_words:
                finished_at = time.monotonic()
        on_look()

    while not has_ended:
        has_ended = process.wait(_LOOK_EVERY_S)
        look()
        while interruption.first is not None and signals_passed < min(interruption.count, 2) and not has_ended:
            process.stop(interruption.first)
            signals_passed += 1
        linger_s = LINGER_LOST_S if lost_at is not None else LINGER_S
        if finished_at is not None and time.monotonic() > finished_at + linger_s:
            process.kill()
        if process.through and not reported and time.monotonic() > begin_s + LAUNCH_S:
            process.kill()
        if process.through and lost_at is None and is_lost(process.printed, begun=bool(reported)):
            lost_at = time.monotonic()
        if lost_at is not None and time.monotonic() > lost_at + LOST_S:
            process.kill()
    last_word_s = _KILLED_S if process.through and losses(process.printed) else LAST_WORD_S
    ended_s = time.monotonic()
    while process.through and reported and finished_at is None and time.monotonic() < ended_s + last_word_s:
        time.sleep(_LOOK_EVERY_S)
        look()
    process.sweep()
    return reported
