"""`xfs` and `ext4`: a local file system on a disk of the lab, the same on all clients.

All hosts of a lab have one kernel, so they can share a local file system as the processes of one node do.
"""

from __future__ import annotations

from ioassay.lab.record import Target
from ioassay.lab.requirements import Command, Requirement
from ioassay.lab.site import FileSystem, Site
from ioassay.text.units import format_bytes
from ioassay.yaml_models.model import Field, Part
from ioassay.yaml_models.values import Count, Size


class Stripe(Part):
    """What a RAID set would tell the file system of itself."""

    chunk: Size = Field(description="Bytes per disk before the next disk follows (mdadm's chunk).")
    disks: Count = Field(description="Data disks, without parity disks.")


class _Local(Part):
    size: Size | None = Field(default=None, description="Size of its disk. Default: the lab's `disk`.")
    stripe: Stripe | None = Field(default=None, description="The RAID geometry that the file system is created for.")

    def _start(self, site: Site, file_system: FileSystem, options: list[str]) -> Target:
        point = site.disk(file_system, file_system, self.size, options)
        about = f"{file_system} on a loop device with direct I/O"
        if self.stripe:
            about += f", made for {self.stripe.disks} disks with chunks of {format_bytes(self.stripe.chunk)}"
        return Target(storage=file_system, about=about, kind="directory", place=point, api="posix")


class Xfs(_Local):
    """xfs on a disk of its own."""

    def requirements(self) -> list[Requirement]:
        return []

    def start(self, site: Site) -> Target:
        options = ["-d", f"su={self.stripe.chunk},sw={self.stripe.disks}"] if self.stripe else []
        return self._start(site, "xfs", options)


class Ext4(_Local):
    """ext4 on a disk of its own."""

    def requirements(self) -> list[Requirement]:
        return [Command("mkfs.ext4", "e2fsprogs")]

    def start(self, site: Site) -> Target:
        options = []
        if self.stripe:
            blocks = self.stripe.chunk // 4096
            options = ["-b", "4096", "-E", f"stride={blocks},stripe_width={blocks * self.stripe.disks}"]
        return self._start(site, "ext4", options)
