"""What a lab says of itself, once it is ready, and where its files are.

It says so in a file in memory without a name (memfd), which the first processes of the lab and of its hosts hold open:
nobody but its owner can have made it, nobody can change it, and it ends with the lab.
Not here: what it costs at the moment (`lab.status`), which labs there are (`lab.running`).
"""

from __future__ import annotations

import fcntl
import os
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RECORD_VERSION = 2

ROOT = "/run/ioassay"
"""Everything of a lab that has a name, as seen inside: on a file system in memory that ends with the lab."""

MEMORY_FILE = "ioassay-lab"
"""What the file in memory is called."""

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
        """The hosts that measure."""
        return [host for host in self.hosts if host.role == "client"]


_BEYOND_SHELLS = 10
"""The least descriptor that no script of ours takes for itself."""

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


def create() -> int:
    """A record in which nothing stands yet."""
    file = os.memfd_create(MEMORY_FILE, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(file, 0o600)  # it will have the credentials
        return fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _BEYOND_SHELLS)
    finally:
        os.close(file)


def publish(file: int, lab: Lab) -> None:
    """Writes what a lab says of itself, for good."""
    with open(file, "w", closefd=False) as out:
        out.write(lab.model_dump_json(indent=2))
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)


def published(file: int) -> str | None:
    """What stands in a record; `None` as long as that is not for good."""
    if fcntl.fcntl(file, fcntl.F_GET_SEALS) != _SEALS:
        return None
    with open(file, closefd=False) as text:
        return text.read()
