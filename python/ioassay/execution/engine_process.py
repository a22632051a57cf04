"""One engine process: started apart from the terminal, followed, stopped in time.

It gets a session of its own, so that a Ctrl-C reaches only the control plane, which then stops the engine
once and in order. It never outlives the control plane: it watches its parent itself.

A launcher between says nothing that is believed: neither that it has ended nor with which exit code. The engine's last
word counts.
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
"""How long the engine may take to stop after a signal: it removes its files meanwhile. The promise is 5 s, and its own
guard leaves what hangs a little earlier, and says what that is.
"""

LAUNCHED_STOP_S = 8.0
"""The same behind a launcher, whose helpers on other nodes have to end too."""

KILL_S = 0.4
"""How long to wait after a SIGKILL. Longer than that, a process hangs in the kernel, mostly on a dead mount."""

_MOST_PRINTED_BYTES = 64 << 10
"""Of each end of what was printed: more says nothing new."""

# Often enough for a live display, seldom enough to leave the processors to the ranks.
_LOOK_EVERY_S = 0.2

LINGER_S = 3.0
"""How long an engine, or its launcher, may go on after the engine's last word."""

LINGER_LOST_S = 0.5
"""The same where a node is lost: many launchers wait for it for minutes."""

LAST_WORD_S = 5.0
"""How long engines may take to say it when their launcher has gone: they notice, and remove their files."""

LOST_S = 4.0
"""How long engines and launcher may take to end by themselves once they have printed that a node is lost: the engines
that are left remove their files meanwhile."""

_KILLED_S = 1.0
"""As `LAST_WORD_S`, where the launcher has ended the engines itself, or has had `LOST_S`."""

LAUNCH_S = 150.0
"""How long a launcher may take until its engine says something. One that waits for a lost node waits for ever; where
MPI does not begin, the engine says so itself before this."""


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
                f"{command[0]} cannot be started: {error.strerror}.", "Check that it is installed and executable."
            ) from error
        self._deadline: float | None = None
        self._killed = False
        self._stopped_twice = False

    @property
    def status(self) -> int | None:
        """Its exit status, negative for the signal that killed it; `None` while it runs or hangs."""
        return self._process.returncode

    @property
    def killed(self) -> bool:
        """True if it had to be killed because it did not stop in time, or was asked twice."""
        return self._killed

    @property
    def stopped_twice(self) -> bool:
        """True if it was killed because it was asked again while it was stopping."""
        return self._stopped_twice

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
            self._stopped_twice |= not self._killed
            self.kill()
            return
        if self._process.stdin is None:
            self._deadline = time.monotonic() + STOP_S
        else:
            self._deadline = time.monotonic() + LAUNCHED_STOP_S
        self._tell(number)

    def suspend(self) -> None:
        """Has its ranks do no I/O until `resume`. It goes on listening, so that it can still be stopped."""
        self._tell_all(signal.SIGTSTP)

    def resume(self) -> None:
        """Has its ranks go on."""
        self._tell_all(signal.SIGCONT)

    def _tell_all(self, number: int) -> None:
        """As `_tell`; without a launcher to the whole group: a recorder in front of the engine keeps these signals."""
        if self._process.stdin is not None:
            self._tell(number)
        elif self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _tell(self, number: int) -> None:
        """Passes on a signal: through a launcher by its name."""
        if self._process.stdin is None:
            self._process.send_signal(number)
            return
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


def follow(
    process: EngineProcess,
    interruption: Interruption,
    events: EventTail,
    on_event: Callable[[Event], None] = lambda event: None,
    on_look: Callable[[], None] = lambda: None,
    *,
    last_words: Collection[str] = ("finished",),
) -> list[Event]:
    """Hands on what `process` reports and passes signals on to it, until its end.

    Returns all events once nothing more is to be expected of `process`, whose last one is one of `last_words`.

    `on_event` gets each event as it appears, `on_look` is called several times a second.
    """
    seen: list[Event] = []
    passed_on = 0
    ended = False
    finished_at: float | None = None
    lost_at: float | None = None
    begun = time.monotonic()

    def look() -> None:
        nonlocal finished_at
        for event in events.new():
            seen.append(event)
            on_event(event)
            if event["event"] in last_words:
                finished_at = time.monotonic()
        on_look()

    while not ended:
        ended = process.wait(_LOOK_EVERY_S)
        look()
        while interruption.first is not None and passed_on < min(interruption.count, 2) and not ended:
            process.stop(interruption.first)
            passed_on += 1
        linger_s = LINGER_LOST_S if lost_at is not None else LINGER_S
        if finished_at is not None and time.monotonic() > finished_at + linger_s:
            process.kill()
        if process.through and not seen and time.monotonic() > begun + LAUNCH_S:
            process.kill()
        if process.through and lost_at is None and is_lost(process.printed, begun=bool(seen)):
            lost_at = time.monotonic()
        if lost_at is not None and time.monotonic() > lost_at + LOST_S:
            process.kill()
    last_word_s = _KILLED_S if process.through and losses(process.printed) else LAST_WORD_S
    gone = time.monotonic()
    while process.through and seen and finished_at is None and time.monotonic() < gone + last_word_s:
        time.sleep(_LOOK_EVERY_S)
        look()
    process.sweep()
    return seen
