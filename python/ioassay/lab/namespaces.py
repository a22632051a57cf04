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
"""What the first process of a lab, and of each of its hosts, is called: the last but one word of its command line."""

_KINDS = {"ipc": "--ipc", "uts": "--uts", "net": "--net", "pid": "--pid", "mnt": "--mount"}
"""The namespaces that are entered, as /proc/PID/ns and nsenter call them."""

_OWN = ["--mount", "--net", "--uts", "--ipc", "--propagation", "slave"]
"""What a host has of its own. `slave`: what is mounted around it later is seen in it, and never the other way round."""

_HOLD = "sleep infinity & wait $!"
"""Holds namespaces for good; a shell that waits also collects the processes that were orphaned to it."""

_HOLD_OR_END = (
    "exec 3<&0 </dev/null 2>/dev/null; sleep infinity 3<&- & held=$!; "
    "sh -c 'read -r _ <&3 || kill $0' $held & exec 3<&-; wait $held"
)
"""The same, but ends together with who starts the lab, unless that one says first that it has done its part."""


class Space:
    """The namespaces that a process of a lab is in."""

    def __init__(self, first: ProcessHandle) -> None:
        self.first = first

    @property
    def pid(self) -> int:
        """Its number as this process sees it."""
        return self.first.pid

    def command(self, *command: str, kinds: Iterable[str] = _KINDS) -> list[str]:
        """`command` as it is started from outside, as long as this process lives."""
        spaces = [f"{_KINDS[kind]}={os.fspath(self.first)}/ns/{kind}" for kind in kinds]
        return ["nsenter", *spaces, "--", *command]

    def attempt(
        self, *command: str, environment: Mapping[str, str] | None = None, kinds: Iterable[str] = _KINDS
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside to its end, whatever that is. `environment` is added to ours."""
        return _finished(self.command(*command, kinds=kinds), environment)

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a command inside to its end and returns what it printed. Raises `CannotRun` if it failed."""
        return _printed(command, self.attempt(*command, environment=environment))

    def run_on_network(self, *command: str) -> str:
        """Runs a command of this machine, not of the inside, that only asks or changes the network inside.

        Returns what it printed. Raises `CannotRun` if it failed.
        """
        return _printed(command, self.attempt(*command, kinds=["net"]))

    def path(self, inside: str | Path) -> Path:
        """What is called `inside` in there, under a name that works out here."""
        return Path(f"{os.fspath(self.first)}/root{inside}")

    def cover_with_memory(self, directory: str) -> None:
        """Puts an empty directory in memory in the place of one that is there."""
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "ioassay-lab", directory)

    def child(self, name: str) -> Space:
        """A host inside: network, mounts, host name and IPC of its own, processes among those of this space."""
        hold = f"unshare {' '.join(_OWN)} sh -c '{_HOLD}' {HOST} {name}"
        # Orphaned at once, so that it belongs to the first process inside and not to one out here.
        command = ["sh", "-c", f"setsid {hold} </dev/null >/dev/null 2>&1 &"]
        own = self.first.memory_file(record.MEMORY_FILE)
        assert own is not None, "a lab holds its record"
        try:
            _printed(command, _finished(self.command(*command), inherited=[own]))
        finally:
            os.close(own)
        return _first_of(HOST, name, self.first.process)


class Nursery:
    """A lab that is being started: it ends with this process, however that ends, until it is released."""

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
            start_new_session=True,  # what a Ctrl-C means is decided by who starts it
        )
        try:
            self.space = _first_of(LAB, name, psutil.Process(self._process.pid))
        except (CannotRun, psutil.Error):
            self.end()
            assert self._process.stderr is not None
            said = self._process.stderr.read().decode(errors="replace").strip()
            raise CannotRun(
                f"Namespaces cannot be created: {said}.", "Use a kernel with mount, PID and network namespaces enabled."
            ) from None

    def publish(self, lab: record.Lab) -> None:
        """Says that it is ready, and what it is."""
        record.publish(self._record, lab)

    def release(self) -> None:
        """Lets it live on without this process."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.close()

    def end(self) -> None:
        """Ends it, and the kernel everything in it."""
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


def _printed(command: Sequence[str], done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode != 0:
        said = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
        raise CannotRun(f"`{' '.join(command)}` failed in the lab ({said or done.returncode}).")
    return done.stdout


def _first_of(what: str, name: str, parent: psutil.Process) -> Space:
    """The first process of a lab or host, a child of `parent`, as soon as it is there."""
    found: list[Space] = []

    def begun() -> bool:
        if parent.status() == psutil.STATUS_ZOMBIE:
            raise psutil.ZombieProcess(parent.pid)
        found.extend(space for called, space in spaces(what, parent.children()) if called == name)
        return bool(found)

    until(begun, f"the namespaces of {name}")
    return found[0]


def spaces(what: str, processes: Iterable[psutil.Process]) -> list[tuple[str, Space]]:
    """The labs or hosts of ours that begin with one of `processes`, by name, in the order of their numbers."""
    found = ((process.pid, recognized(what, process.pid)) for process in processes)
    return [named for _, named in sorted((pid, named) for pid, named in found if named)]


def recognized(what: str, pid: int) -> tuple[str, Space] | None:
    """The lab or host that a process is the first one of, with its name; `None` if it is none, or not ours.

    Anybody can call a process so. Ours has our rights, and it holds open the lab's record, a file in memory that only
    our user can have made.
    """
    try:
        first = ProcessHandle(pid)
        words = first.read("cmdline").split("\0")[:-1]
        if len(words) != 5 or words[0] != "sh" or words[-2] != what or not first.is_as_privileged_as_we():
            return None
        if (file := first.memory_file(record.MEMORY_FILE)) is None:
            return None
    except (OSError, psutil.Error):  # it has ended meanwhile, or is somebody else's
        return None
    os.close(file)
    return words[-1], Space(first)


def run_inside(space: Space, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a command with our terminal inside; returns its exit status as a shell would.

    `environment` is added to ours. Signals that end a program are passed on. Raises `CannotRun` if it does not start.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for entrance in [space.first.open(f"ns/{kind}") for kind in _KINDS]:
        if libc.setns(entrance, 0) != 0:
            raise CannotRun(f"Cannot enter the lab: {os.strerror(ctypes.get_errno())}.", "Run it as root.")
    child = os.fork()  # a process number of its own in there has only a child
    if child == 0:
        try:
            os.execvpe(command[0], list(command), {**os.environ, **environment})
        except OSError as error:
            os.write(2, f"ioassay: {command[0]}: {error.strerror}\n".encode())
            os._exit(127)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):  # it may have ended just now
            os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal gives it to the child as well
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code
