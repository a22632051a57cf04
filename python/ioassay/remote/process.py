"""Commands on hosts that never outlive this process.

A shell on the host reads from our pipe. When that closes, because we closed it, ended or were killed, or because
the connection broke, the shell ends the command. `timeout` on the host is for connections that die silently.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ioassay.errors import CannotRun
from ioassay.lab.requirements import search_path
from ioassay.remote.hosts import Host

READY = "ioassay: ready"
"""The line on standard error of a command that is ready."""

SPARE_S = 30
"""How long starting, connecting and ending may take in addition to the measurement."""

_END_S = 6.0
"""How long a command may take to end once its pipe is closed."""

_EVERY_S = 0.01

PATH = "PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin; "
"""Directories that a non-login shell often lacks."""

# Each script is one line: csh, which may be the shell that ssh starts, accepts no newline within quotes.

_HOLD = '"$@" </dev/null 3<&- & command=$!; { read -r _ <&3; kill $command; } >/dev/null 2>&1 & watch=$!; '

_HOLD_FED = 'printf %s "$text" | "$@" 3<&- & command=$!; { read -r _ <&3; kill $command; } >/dev/null 2>&1 & watch=$!; '
"""The same, with a text on its standard input."""

_WAIT = "wait $command; code=$?; kill $watch 2>/dev/null; exit $code"

_FED = f"{PATH}exec 3<&0 </dev/null; text=$1; shift; {_HOLD_FED}{_WAIT}"
"""Starts at once."""

_ONCE_TOLD = f"{PATH}exec 3<&0; echo {READY} >&2; read -r _ <&3 || exit 1; {_HOLD}{_WAIT}"
"""Starts on request, so that many start at the same time."""

_LISTENS = 'grep -qs ":$port 0*:0000 0A" /proc/net/tcp /proc/net/tcp6'

_UNTIL_LISTENING = (
    f"{PATH}exec 3<&0; port=$1; shift; {_HOLD}"
    f"until {_LISTENS}; do kill -0 $command 2>/dev/null || break; sleep 0.05; done; "
    f"echo {READY} >&2; {_WAIT}"
)
"""Starts at once, and is ready when it listens on its port, in hexadecimal."""


@dataclass(frozen=True)
class ProcessResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


class Process:
    """A running command on a host. Leaving the context ends it."""

    def __init__(self, host: Host, words: Sequence[str], script: Sequence[str], out: Path, err: Path) -> None:
        self.host = host
        self.command = shlex.join(words)
        self._out, self._err = out, err
        command = host.command("sh", "-c", *script, *words)
        try:
            with out.open("ab") as out_file, err.open("wb") as err_file:
                self._process = subprocess.Popen(
                    command,
                    env={**os.environ, "PATH": search_path()},
                    stdin=subprocess.PIPE,
                    stdout=out_file,
                    stderr=err_file,
                    start_new_session=True,  # Ctrl-C is handled here
                )
        except OSError as error:
            raise CannotRun(
                f"{command[0]} cannot be started: {error.strerror}.", "Check that it is installed."
            ) from error
        self.ended_s: float | None = None
        """When its end was noticed, on the clock of `time.monotonic`."""

    @property
    def is_ready(self) -> bool:
        """True once it waits for `tell`, or listens; also once it has ended."""
        return self.has_ended or READY in self._said().splitlines()

    @property
    def has_ended(self) -> bool:
        if self.ended_s is None and self._process.poll() is not None:
            self.ended_s = time.monotonic()
        return self.ended_s is not None

    def tell(self) -> None:
        """Starts it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended; `result` has the reason
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()

    def ask_to_end(self) -> None:
        """Ends it without waiting, so that many end at the same time."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def result(self) -> ProcessResult:
        """Its exit code and output. It must have ended."""
        return ProcessResult(self._process.returncode, self._out.read_text(errors="replace"), self.errors)

    @property
    def errors(self) -> str:
        """Its standard error."""
        printed = "".join(line for line in self._said().splitlines(keepends=True) if line.strip() != READY)
        return printed.strip()

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ask_to_end()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if not self.errors:
            self._err.unlink()  # of no use

    def _said(self) -> str:
        return self._err.read_text(errors="replace")


def client(host: Host, words: Sequence[str], limit_s: float, files: Path) -> Process:
    """A command that starts on `tell`."""
    return Process(host, _limited(words, limit_s), [_ONCE_TOLD, "sh"], *_outputs(files))


def server(host: Host, port: int, words: Sequence[str], limit_s: float, files: Path) -> Process:
    """A command that is ready when it listens on `port`."""
    return Process(host, _limited(words, limit_s), [_UNTIL_LISTENING, "sh", f"{port:04X}"], *_outputs(files))


def fed(host: Host, words: Sequence[str], text: str, out: Path, err: Path) -> Process:
    """A command that starts at once, with `text` on its standard input, and appends its output to `out`.

    It has no time limit, so it must print regularly: that is how a dead connection is noticed.
    """
    return Process(host, words, [_FED, "sh", text], out, err)


def _limited(words: Sequence[str], limit_s: float) -> list[str]:
    return ["timeout", "--kill-after=5", f"{limit_s:.0f}", *words]


def _outputs(files: Path) -> tuple[Path, Path]:
    return files.with_name(f"{files.name}.json"), files.with_name(f"{files.name}.stderr.txt")


def until(
    condition: Callable[[], bool], limit_s: float, interrupted: Callable[[], bool], late: Callable[[], str]
) -> None:
    """Returns once `condition` holds, or after a signal.

    Raises `CannotRun` with the message `late` after `limit_s`.
    """
    deadline = time.monotonic() + limit_s
    while not condition() and not interrupted():
        if time.monotonic() > deadline:
            raise CannotRun(late(), "Check that the host responds, then measure again.")
        time.sleep(_EVERY_S)
