"""What a lab can say: every option once, with its meaning and default. Not: starting it (`lab.up`)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from ioassay import units
from ioassay.lab import slurm, ssh
from ioassay.lab.network import MOST_HOSTS
from ioassay.lab.requirements import BASE, Requirement
from ioassay.lab.storage import Storages
from ioassay.yaml_models.values import Count, Identifier, Kind, Part, Prose, Size, YesNo, parsed

LinkRate = Annotated[int, parsed(units.parse_link_rate), Kind("rate, such as `1Gbit`")]


class Lab(Part):
    """A lab: hosts, and storage systems that they share."""

    name: Identifier = Field(description="What it is called.")
    title: Prose = Field(description="What it is, in a line.")
    hosts: Count = Field(default=1, description="Hosts that measure: `client1`, `client2`, …")
    servers: Count = Field(default=1, description="Hosts that the storage systems run on: `server1`, …")
    link: LinkRate | None = Field(
        default=None, description="Rate of each host's link, in each direction. Left out: as fast as the machine."
    )
    ssh: YesNo = Field(default=False, description="Whether hosts reach each other by ssh, as mpirun wants it.")
    slurm: YesNo = Field(default=False, description="Whether Slurm runs jobs on the hosts that measure.")
    disk: Size = Field(default=4 << 30, description="Size of each disk. Room is taken as it is written.")
    storage: Storages = Field(description="The [storage systems](#storage), by kind.")

    @model_validator(mode="after")
    def _enough_addresses(self) -> Self:
        if (hosts := self.hosts + self.servers) > MOST_HOSTS:
            raise ValueError(f"has {hosts} hosts and servers; its network has room for {MOST_HOSTS}")
        return self

    def requirements(self) -> list[Requirement]:
        """All that it needs of the machine."""
        needs: list[Requirement] = [*BASE]
        if self.ssh:
            needs += ssh.requirements()
        if self.slurm:
            needs += slurm.requirements()
        for storage in self.storage.wanted.values():
            needs += storage.requirements()
        return needs
