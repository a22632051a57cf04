"""Processes in namespaces of their own, and commands inside the namespaces of a process.

Not here: what is started in them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

import psutil

from ioassay.errors import CannotRun
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
    """The namespaces that a process is in. `pid` is its number as this process sees it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def command(self, *command: str) -> list[str]:
        """`command` as it is started from outside."""
        return ["nsenter", "--target", str(self.pid), *_KINDS.values(), "--", *command]

    def attempt(self, *command: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command inside to its end, whatever that is. `environment` is added to ours."""
        return subprocess.run(
            self.command(*command),
            env={**os.environ, "PATH": search_path(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a command inside to its end and returns what it printed. Raises `CannotRun` if it failed."""
        done = self.attempt(*command, environment=environment)
        if done.returncode != 0:
            said = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-3:])
            raise CannotRun(f"`{' '.join(command)}` failed in the lab ({said or done.returncode}).")
        return done.stdout

    def path(self, inside: str | Path) -> Path:
        """What is called `inside` in there, under a name that works out here."""
        return Path(f"/proc/{self.pid}/root{inside}")

    def cover_with_memory(self, directory: str) -> None:
        """Puts an empty directory in memory in the place of one that is there."""
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "ioassay-lab", directory)

    def child(self, name: str) -> Space:
        """A host inside: network, mounts, host name and IPC of its own, processes among those of this space."""
        hold = f"unshare {' '.join(_OWN)} sh -c '{_HOLD}' {HOST} {name}"
        # Orphaned at once, so that it belongs to the first process inside and not to one out here.
        self.run("sh", "-c", f"setsid {hold} </dev/null >/dev/null 2>&1 &")
        return Space(_first_of(HOST, name, self.pid))


class Nursery:
    """A lab that is being started: it ends with this process, however that ends, until it is released."""

    def __init__(self, name: str) -> None:
        """Raises `CannotRun` where the kernel gives no namespaces."""
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
            start_new_session=True,  # what a Ctrl-C means is decided by who starts it
        )
        try:
            self.space = Space(_first_of(LAB, name, self._process.pid))
        except (CannotRun, psutil.Error):
            self.end()
            assert self._process.stderr is not None
            said = self._process.stderr.read().decode(errors="replace").strip()
            raise CannotRun(
                f"The kernel gives no namespaces: {said}.", "A lab needs a kernel with all of them."
            ) from None

    def release(self) -> None:
        """Lets it live on without this process."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.close()

    def end(self) -> None:
        """Ends it, and the kernel everything in it."""
        self._process.kill()
        self._process.wait()


def _first_of(what: str, name: str, parent: int) -> int:
    """The first process of a lab or host, a child of `parent`, as soon as it is there."""
    found: list[int] = []

    def begun() -> bool:
        if psutil.Process(parent).status() == psutil.STATUS_ZOMBIE:
            raise psutil.ZombieProcess(parent)
        found.extend(pids_called(what, name, psutil.Process(parent).children()))
        return bool(found)

    until(begun, f"the namespaces of {name}")
    return found[0]


def pids_called(what: str, name: str | None, processes: Sequence[psutil.Process]) -> list[int]:
    """Those of `processes` that are the first ones of a lab or host of this name, or of any."""
    return [process.pid for process in processes if (called := name_of(what, process)) and name in (None, called)]


def name_of(what: str, process: psutil.Process) -> str | None:
    """The name of the lab or host that `process` is the first one of; `None` if it is none."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return None
    return words[-1] if len(words) == 5 and words[0] == "sh" and words[-2] == what else None


def run_inside(pid: int, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs a command with our terminal in the namespaces of process `pid`; returns its exit status as a shell would.

    `environment` is added to ours. Signals that end a program are passed on. Raises `CannotRun` if it does not start.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    spaces = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in _KINDS]
    for space in spaces:
        if libc.setns(space, 0) != 0:
            raise CannotRun(f"Cannot enter the lab: {os.strerror(ctypes.get_errno())}.", "Do it as root.")
    child = os.fork()  # a process number of its own in there has only a child
    if child == 0:
        try:
            os.execvpe(command[0], list(command), {**os.environ, **environment})
        except OSError as error:
            os.write(2, f"ioassay: {command[0]}: {error.strerror}\n".encode())
            os._exit(127)

    def pass_on(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal gives it to the child as well
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code
