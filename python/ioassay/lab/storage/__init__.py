"""The storage systems of labs: well-kept engines that exist, started and configured here, never an imitation.

One file per kind, with its options (a `Part`), what it needs of the machine (`requirements`) and how it is started
(`start`, which returns when every client can use it). How to add one: docs/development/labs-and-doctor.md.
Not: stopping them. A lab ends as a whole.
"""

from __future__ import annotations

from typing import Protocol, Self

from ioassay.lab.record import Target
from ioassay.lab.requirements import Requirement
from ioassay.lab.site import Site
from ioassay.lab.storage.gluster import Gluster
from ioassay.lab.storage.hdfs import Hdfs
from ioassay.lab.storage.local import Ext4, Xfs
from ioassay.lab.storage.moosefs import MooseFs
from ioassay.lab.storage.nfs import Nfs
from ioassay.lab.storage.s3 import S3
from ioassay.yaml_models.model import Field, Part, model_validator


class Storage(Protocol):
    """A kind of storage system, with its options."""

    def requirements(self) -> list[Requirement]:
        """The requirements that the machine must meet."""
        ...

    def start(self, site: Site) -> Target:
        """Starts it, and returns when every client can use it. Raises `CannotRun`."""
        ...


class Storages(Part):
    """The storage systems of a lab, in the order in which they are started."""

    xfs: Xfs | None = Field(default=None, description="xfs on its own disk, shared by all clients.")
    ext4: Ext4 | None = Field(default=None, description="ext4 on its own disk, shared by all clients.")
    gluster: Gluster | None = Field(default=None, description="GlusterFS, mounted on every client.")
    moosefs: MooseFs | None = Field(default=None, description="MooseFS, mounted on every client.")
    s3: S3 | None = Field(default=None, description="An S3 gateway over a directory.")
    hdfs: Hdfs | None = Field(default=None, description="HDFS with WebHDFS.")
    nfs: Nfs | None = Field(
        default=None, description="NFS version 3, mounted on every client if the kernel supports it."
    )

    @model_validator(mode="after")
    def _base_of_s3(self) -> Self:
        if self.s3 and self.s3.over == "gluster" and not self.gluster:
            raise ValueError("has `s3` over gluster but no gluster; add `gluster: {}`, or use `over: disk`")
        return self

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.wanted:
            raise ValueError("is empty; add a storage system, for example xfs: {}")
        return self

    @property
    def wanted(self) -> dict[str, Storage]:
        """Those that the lab has, by kind."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: storage for name, storage in fields.items() if storage is not None}
