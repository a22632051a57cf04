"""Processes in namespaces of their own, and commands inside the namespaces of a process.

Not here: what is started in them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType

import psutil

from ioassay.errors import CannotRun
from ioassay.lab import record
from ioassay.lab.process_handle import ProcessHandle
from ioassay.lab.requirements import search_path
from ioassay.lab.waiting import until

LAB, HOST = "ioassay-lab", "ioassay-host"
"""Markers of the first process of a lab and of each host: the last but one word of its command line."""

_KINDS = {"ipc": "--ipc", "uts": "--uts", "net": "--net", "pid": "--pid", "mnt": "--mount"}
"""The namespaces that are entered, as /proc/PID/ns and nsenter call them."""

_OWN = ["--mount", "--net", "--uts", "--ipc", "--propagation", "slave"]
"""Namespaces of each host. `slave`: a host sees later mounts of the lab, but the lab does not see those of a host."""

_HOLD = "sleep infinity & wait $!"
"""Holds namespaces until it is killed; the waiting shell also reaps orphaned processes."""

_HOLD_OR_END = (
    "exec 3<&0 </dev/null 2>/dev/null; sleep infinity 3<&- & held=$!; "
    "sh -c 'read -r _ <&3 || kill $0' $held & exec 3<&-; wait $held"
)
"""As `_HOLD`, but ends with the process that starts the lab, unless that process releases it first."""


class Space:
    """The namespaces that a process of a lab is in."""

    def __init__(self, first: ProcessHandle) -> None:
        self.first = first

    @property
    def pid(self) -> int:
        """Its process number as this process sees it."""
        return self.first.pid

    def command(self, *command: str, kinds: Iterable[str] = _KINDS) -> list[str]:
        """The command line that runs `command` inside, valid as long as this process lives."""
        spaces = [f"{_KINDS[kind]}={os.fspath(self.first)}/ns/{kind}" for kind in kinds]
        return ["nsenter", *spaces, "--", *command]

    def attempt(
        self, *command: str, environment: Mapping[str, str] | None = None, kinds: Iterable[str] = _KINDS
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside to its end, successful or not. `environment` is added to ours."""
        return _finished(self.command(*command, kinds=kinds), environment)

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a command inside to its end and returns what it printed. Raises `CannotRun` if it failed."""
        return _printed(command, self.attempt(*command, environment=environment))

    def run_on_network(self, *command: str) -> str:
        """Runs a command of this machine, in the network namespace of the inside.

        Returns what it printed. Raises `CannotRun` if it failed.
        """
        return _printed(command, self.attempt(*command, kinds=["net"]))

    def path(self, inside: str | Path) -> Path:
        """The path by which this process reaches `inside`."""
        return Path(f"{os.fspath(self.first)}/root{inside}")

    def cover_with_memory(self, directory: str) -> None:
        """Mounts an empty tmpfs over an existing directory."""
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "ioassay-lab", directory)

    def child(self, name: str) -> Space:
        """Starts a host inside, with its own network, mounts, host name and IPC, and the lab's PID namespace."""
        hold = f"unshare {' '.join(_OWN)} sh -c '{_HOLD}' {HOST} {name}"
        # The shell exits at once, so that the first process inside adopts the child.
        command = ["sh", "-c", f"setsid {hold} </dev/null >/dev/null 2>&1 &"]
        record_fd = self.first.memory_file(record.MEMORY_FILE)
        assert record_fd is not None, "a lab holds its record"
        try:
            _printed(command, _finished(self.command(*command), inherited=[record_fd]))
        finally:
            os.close(record_fd)
        return _first_of(HOST, name, self.first.process)


class Nursery:
    """A lab that is being started: it ends with this process unless it is released."""

    def __init__(self, name: str) -> None:
        """Raises `CannotRun` where the kernel gives no namespaces."""
        self._record = record.create()
        self._process = subprocess.Popen(
            [
                "unshare",
                "--fork",
                "--kill-child",
                "--pid",
                "--mount-proc",
                *_OWN,
                "sh",
                "-c",
                _HOLD_OR_END,
                LAB,
                name,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[self._record],
            start_new_session=True,  # the caller decides what Ctrl-C does
        )
        try:
            self.space = _first_of(LAB, name, psutil.Process(self._process.pid))
        except (CannotRun, psutil.Error):
            self.end()
            assert self._process.stderr is not None
            stderr = self._process.stderr.read().decode(errors="replace").strip()
            raise CannotRun(
                f"Namespaces cannot be created: {stderr}.",
                "Use a kernel with mount, PID and network namespaces enabled.",
            ) from None

    def publish(self, lab: record.Lab) -> None:
        """Publishes the record of the lab, which is then ready."""
        record.publish(self._record, lab)

    def release(self) -> None:
        """Lets the lab outlive this process."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.close()

    def end(self) -> None:
        """Kills the lab's first process; the kernel ends the rest."""
        self._process.kill()
        self._process.wait()


def _finished(
    command: Sequence[str], environment: Mapping[str, str] | None = None, inherited: Sequence[int] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "PATH": search_path(), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=inherited,
        check=False,
    )


def _printed(command: Sequence[str], result: subprocess.CompletedProcess[str]) -> str:
    if result.returncode != 0:
        message = " ".join((result.stderr.strip() or result.stdout.strip()).splitlines()[-3:])
        raise CannotRun(f"`{' '.join(command)}` failed in the lab ({message or result.returncode}).")
    return result.stdout


def _first_of(what: str, name: str, parent: psutil.Process) -> Space:
    """Waits for the first process of a lab or host, a child of `parent`."""
    matches: list[Space] = []

    def begun() -> bool:
        if parent.status() == psutil.STATUS_ZOMBIE:
            raise psutil.ZombieProcess(parent.pid)
        matches.extend(space for called, space in spaces(what, parent.children()) if called == name)
        return bool(matches)

    until(begun, f"the namespaces of {name}")
    return matches[0]


def spaces(what: str, processes: Iterable[psutil.Process]) -> list[tuple[str, Space]]:
    """Our labs or hosts whose first process is in `processes`: name and namespaces, by process number."""
    candidates = ((process.pid, recognized(what, process.pid)) for process in processes)
    return [entry for _, entry in sorted((pid, entry) for pid, entry in candidates if entry)]


def recognized(what: str, pid: int) -> tuple[str, Space] | None:
    """The name and namespaces of the lab or host whose first process this is; `None` if there is none, or not ours.

    Any user can start a process with such a command line. Ours has our privileges, and it holds open the lab's record,
    a memfd that only our user can have made.
    """
    try:
        first = ProcessHandle(pid)
        words = first.read("cmdline").split("\0")[:-1]
        if len(words) != 5 or words[0] != "sh" or words[-2] != what or not first.is_as_privileged_as_we():
            return None
        if (file := first.memory_file(record.MEMORY_FILE)) is None:
            return None
    except (OSError, psutil.Error):  # it has ended, or belongs to another user
        return None
    os.close(file)
    return words[-1], Space(first)


def run_inside(space: Space, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a command inside on our terminal; returns its exit status as a shell would.

    `environment` is added to ours. Terminating signals are passed on. Raises `CannotRun` if it does not start.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for entrance in [space.first.open(f"ns/{kind}") for kind in _KINDS]:
        if libc.setns(entrance, 0) != 0:
            raise CannotRun(f"Cannot enter the lab: {os.strerror(ctypes.get_errno())}.", "Run it as root.")
    child = os.fork()  # only a child enters the PID namespace
    if child == 0:
        try:
            os.execvpe(command[0], list(command), {**os.environ, **environment})
        except OSError as error:
            os.write(2, f"ioassay: {command[0]}: {error.strerror}\n".encode())
            os._exit(127)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may have ended just now
            os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code
