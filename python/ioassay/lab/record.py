"""The record of a ready lab, and the paths of its files.

The record is a sealed memfd that the first processes of the lab and of its hosts hold open: only its owner can have
created it, no process can change it, and it ends with the lab.
Not here: what it costs at the moment (`lab.status`), which labs there are (`lab.running`).
"""

from __future__ import annotations

import fcntl
import os
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RECORD_VERSION = 2

ROOT = "/run/ioassay"
"""The directory of all files of a lab, as seen inside: a tmpfs that ends with the lab."""

MEMORY_FILE = "ioassay-lab"
"""The name of the memfd."""

LOGS = f"{ROOT}/logs"
HOSTS_FILE = f"{ROOT}/hosts"
"""The names of the client hosts, one in a line, as mpirun's `--hostfile` takes them."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Target(_Document):
    """What a storage system of a lab offers: what `--target lab:NAME` or `lab:NAME/STORAGE` stands for."""

    storage: str = Field(description="The kind of storage system, for example `gluster`.")
    about: str = Field(description="A one-line description.")
    kind: Literal["directory", "url"]
    place: str = Field(description="A directory, the same on every client host, or a URL.")
    api: str = Field(description="The storage API to measure it with, for example `posix`.")
    environment: dict[str, str] = Field(
        default={}, description="Credentials of this lab, as environment variables of the storage API."
    )


class Member(_Document):
    """A host of a lab."""

    name: str
    role: Literal["client", "server"]
    address: str


class Lab(_Document):
    """A lab that is ready."""

    version: int = RECORD_VERSION
    name: str
    title: str
    yaml: str = Field(description="The lab's YAML, as read.")
    started: str = Field(description="ISO 8601, UTC.")
    hosts: list[Member]
    link_bits_per_s: int | None = Field(description="Rate of each host's link in each direction; `None`: not limited.")
    ssh: bool
    slurm: bool
    targets: list[Target]
    disks: dict[str, str] = Field(description="Loop devices, such as `/dev/loop0`, and where each is mounted.")
    disk_servers: dict[str, str] = Field(description="Of loop devices that are a server's the name of that host.")
    disk_bytes: int = Field(description="Capacity of all disks.")
    disk_place: str = Field(description="The directory of the machine that holds them.")

    @property
    def clients(self) -> list[Member]:
        """The hosts that run measurements."""
        return [host for host in self.hosts if host.role == "client"]


_BEYOND_SHELLS = 10
"""The lowest descriptor that none of our scripts uses."""

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


def create() -> int:
    """An empty record: its file descriptor."""
    file = os.memfd_create(MEMORY_FILE, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(file, 0o600)  # it will contain credentials
        return fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _BEYOND_SHELLS)
    finally:
        os.close(file)


def publish(file: int, lab: Lab) -> None:
    """Writes and seals the record of a lab."""
    with open(file, "w", closefd=False) as out:
        out.write(lab.model_dump_json(indent=2))
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)


def published(file: int) -> str | None:
    """The text of a record; `None` until it is sealed."""
    if fcntl.fcntl(file, fcntl.F_GET_SEALS) != _SEALS:
        return None
    with open(file, closefd=False) as text:
        return text.read()
