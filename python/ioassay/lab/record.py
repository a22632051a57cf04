"""What a lab says of itself, once it is ready: `lab.json`, in the lab's own memory, and the files beside it.

Not here: what it costs at the moment (`lab.status`), which labs there are (`lab.running`).
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

RECORD_VERSION = 1

ROOT = "/run/ioassay"
"""Everything of a lab that has a name, as seen inside: on a file system in memory that ends with the lab."""

RECORD = f"{ROOT}/lab.json"
LOGS = f"{ROOT}/logs"
HOSTS_FILE = f"{ROOT}/hosts"
"""The names of the client hosts, one in a line, as mpirun's `--hostfile` takes them."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Target(_Document):
    """What a storage system of a lab offers: what `--target lab:NAME` or `lab:NAME/STORAGE` stands for."""

    storage: str = Field(description="The kind of storage system, for example `gluster`.")
    about: str = Field(description="What it is made of, in a line.")
    kind: Literal["directory", "url"]
    place: str = Field(description="A directory, the same on every client host, or a URL.")
    api: str = Field(description="The storage API that measures it, for example `posix`.")
    environment: dict[str, str] = Field(
        default={}, description="Credentials of this lab, as the storage API reads them."
    )


class Member(_Document):
    """A host of a lab."""

    name: str
    role: Literal["client", "server"]
    address: str


class Lab(_Document):
    """`lab.json`."""

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
    disk_bytes: int = Field(description="What the disks can take in all.")
    disk_place: str = Field(description="The directory of the machine whose room they take.")

    @property
    def clients(self) -> list[Member]:
        """The hosts that measure."""
        return [host for host in self.hosts if host.role == "client"]
