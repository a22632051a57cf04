"""What a lab can say: every option once, with its meaning and default. Not: starting it (`lab.up`)."""

from __future__ import annotations

from typing import Annotated, Self

from ioassay.lab import slurm, ssh
from ioassay.lab.network import MOST_HOSTS
from ioassay.lab.requirements import BASE, Requirement
from ioassay.lab.storage import Storages
from ioassay.text import units
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import Count, Identifier, Kind, Prose, Size, YesNo, parsed

LinkRate = Annotated[int, parsed(units.parse_link_rate), Kind("rate, such as `1Gbit`")]


class Lab(Part):
    """A lab: hosts, and storage systems that they share."""

    name: Identifier = Field(description="The name of the lab.")
    title: Prose = Field(description="A one-line description.")
    hosts: Count = Field(default=1, description="Client hosts: `client1`, `client2`, …")
    servers: Count = Field(default=1, description="Hosts of the storage systems: `server1`, …")
    link: LinkRate | None = Field(
        default=None, description="Rate of each host's link, in each direction. Default: no limit."
    )
    ssh: YesNo = Field(default=False, description="Whether hosts reach each other by ssh, as mpirun needs it.")
    slurm: YesNo = Field(default=False, description="Whether Slurm runs jobs on the client hosts.")
    disk: Size = Field(default=4 << 30, description="Size of each disk. Space is allocated as it is written.")
    storage: Storages = Field(description="The [storage systems](#storage), by kind.")

    @model_validator(mode="after")
    def _enough_addresses(self) -> Self:
        if (hosts := self.hosts + self.servers) > MOST_HOSTS:
            raise ValueError(f"has {hosts} hosts and servers; its network supports {MOST_HOSTS}")
        return self

    def requirements(self) -> list[Requirement]:
        needs: list[Requirement] = [*BASE]
        if self.ssh:
            needs += ssh.requirements()
        if self.slurm:
            needs += slurm.requirements()
        for storage in self.storage.wanted.values():
            needs += storage.requirements()
        return needs
