"""The base of storage systems: the lab's hosts and disks, and files and processes on them.

All files are below `record.ROOT`, a tmpfs that all hosts of the lab see.
Not here: what is built.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ioassay.errors import CannotRun
from ioassay.lab.disk import disk
from ioassay.lab.namespaces import Space
from ioassay.lab.record import LOGS, ROOT, Member, Target
from ioassay.lab.waiting import until
from ioassay.text.units import format_about_bytes

FileSystem = Literal["xfs", "ext4"]

_MAKE = {"xfs": ["mkfs.xfs", "-q", "-f"], "ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard"]}
_LAST_WORDS = 3

_ASK = """\
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[2], method=sys.argv[1])
try:
    # A proxy of the machine is out of reach.
    print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10).status)
except urllib.error.HTTPError as error:
    print(error.code)
"""


@dataclass(frozen=True)
class Host:
    """A host of a lab."""

    member: Member
    space: Space
    lab: Space

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def address(self) -> str:
        return self.member.address

    def run(self, *command: str) -> str:
        """Runs a command to its end and returns its output. Raises `CannotRun` if it failed."""
        return self.space.run(*command)

    def start(self, name: str, *command: str, environment: dict[str, str] | None = None) -> Process:
        """Starts a daemon, whose output goes to the log `HOST-NAME.log`."""
        log = f"{LOGS}/{self.name}-{name}.log"
        # Command lines are world-readable, so secrets go into the environment.
        words = ["sh", "-c", f'setsid "$@" </dev/null >{log} 2>&1 & echo $!', "sh", *command]
        return Process(name, int(self.space.run(*words, environment=environment)), self.lab, log)

    def listens(self, port: int) -> bool:
        """True while a process on this host listens on TCP port `port`."""
        return bool(self.run("ss", "--no-header", "--listening", "--tcp", "--numeric", f"sport = :{port}"))

    def connections(self, port: int) -> int:
        """Connections that others have to TCP port `port` of this host."""
        listed = self.run("ss", "--no-header", "--tcp", "--numeric", "state", "established", f"sport = :{port}")
        return len(listed.splitlines())

    def http_status(self, url: str, method: str = "GET") -> int | None:
        """The status that an HTTP server returns to this host; `None` without an answer."""
        result = self.space.attempt(sys.executable, "-I", "-c", _ASK, method, url)
        return int(result.stdout) if result.returncode == 0 else None

    def private(self, directory: str) -> None:
        """Mounts a tmpfs of this host over a directory."""
        self.run("mkdir", "-p", directory)
        self.space.cover_with_memory(directory)


@dataclass(frozen=True)
class Process:
    """A daemon on a host."""

    name: str
    pid: int
    """Its process number in the lab."""
    lab: Space
    log: str

    def until(self, ready: Callable[[], object], what: str = "it to be ready") -> None:
        """Waits until `ready` holds. Raises `CannotRun` with the end of its log if it exits before that."""

        def is_ready() -> bool:
            if self._has_ended():
                raise CannotRun(f"{self.name} exited before it was ready: {self._last_words()}")
            return bool(ready())

        until(is_ready, f"{self.name}: {what}")

    def _has_ended(self) -> bool:
        try:
            stat = self.lab.path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return True
        # While a lab starts, processes that have ended are not reaped.
        return stat.rpartition(")")[2].split()[0] == "Z"

    def has_said(self, line: str) -> bool:
        """True once it has printed this line."""
        return line in self._said()

    def _said(self) -> list[str]:
        return self.lab.path(self.log).read_text(errors="replace").strip().splitlines()

    def _last_words(self) -> str:
        return " ".join(self._said()[-_LAST_WORDS:]) or "no output."


@dataclass
class Site:
    """A lab under construction."""

    lab: Space
    clients: list[Host]
    servers: list[Host]
    disk_place: Path
    disk_bytes: int
    """The default size of a disk."""
    disks: dict[str, str] = field(default_factory=dict)
    """The mount point of each device."""
    disk_servers: dict[str, str] = field(default_factory=dict)
    """The host of each device that belongs to a server."""
    disks_bytes: int = 0
    targets: list[Target] = field(default_factory=list)
    """The targets that are ready: a storage system may use an earlier one."""

    @property
    def server(self) -> Host:
        """The host for storage systems with one server."""
        return self.servers[0]

    def server_of(self, number: int) -> Host:
        """The host of part `number`, from 1: parts are assigned to the servers in turn."""
        return self.servers[(number - 1) % len(self.servers)]

    @property
    def hosts(self) -> list[Host]:
        return [*self.clients, *self.servers]

    def directory(self, name: str) -> str:
        """Creates a tmpfs directory for configuration and state that all hosts see."""
        path = f"{ROOT}/{name}"
        self.lab.path(path).mkdir(parents=True)
        return path

    def write(self, path: str, text: str, mode: int = 0o644) -> str:
        """Writes a file on the tmpfs and returns its path."""
        file = self.lab.path(path)
        file.write_text(text)
        file.chmod(mode)
        return path

    def private(self, directory: str) -> None:
        """Mounts a tmpfs of the lab over a directory of the machine, if it exists."""
        if Path(directory).is_dir():
            self.lab.cover_with_memory(directory)

    def cover(self, file: str, text: str) -> None:
        """Replaces a file of the machine in the whole lab, if it exists."""
        if Path(file).is_file() and not Path(file).is_symlink():
            replacement = self.write(f"{ROOT}/{file.strip('/').replace('/', '-')}", text)
            self.lab.run("mount", "--bind", replacement, file)

    def disk(
        self,
        name: str,
        file_system: FileSystem,
        size_bytes: int | None = None,
        options: Sequence[str] = (),
        server: Host | None = None,
    ) -> str:
        """Creates a disk with a mounted file system that all hosts see; `server` is the host that uses it, if any.

        `options` are those of mkfs. Returns the mount point.
        """
        size_bytes = size_bytes or self.disk_bytes
        self._check_room(self.disks_bytes + size_bytes)
        point = self.directory(f"disk/{name}")
        with disk(self.disk_place, size_bytes) as device:
            self.lab.run(*_MAKE[file_system], *options, device)
            self.lab.run("mount", "-t", file_system, device, point)
        self.disks[device] = point
        if server is not None:
            self.disk_servers[device] = server.name
        self.disks_bytes += size_bytes
        return point

    def _check_room(self, needed_bytes: int) -> None:
        free_bytes = shutil.disk_usage(self.disk_place).free
        if needed_bytes > free_bytes:
            needed, free = format_about_bytes(needed_bytes), format_about_bytes(free_bytes)
            raise CannotRun(
                f"The lab's disks can grow to {needed}, but {self.disk_place} has {free} free.",
                "Use another directory with --disk, or a smaller `disk:` in the lab.",
            )

    def mount_point(self, name: str) -> str:
        """Creates the mount point of a storage system, the same on each client."""
        return self.directory(f"mnt/{name}")


def until_usable(host: Host, directory: str) -> None:
    """Waits until a file can be written, synced, read back and removed in `directory` on `host`."""
    probe = f"{directory}/.ioassay-ready-{host.name}"
    script = 'echo ready >"$1" && sync "$1" && test "$(cat "$1")" = ready; code=$?; rm -f "$1"; exit $code'
    command = ["sh", "-c", script, "sh", probe]
    until(lambda: host.space.attempt(*command).returncode == 0, f"{host.name}: {directory} to take a file")
