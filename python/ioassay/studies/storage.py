"""What a study can say of how I/O is done: the storage API and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.studies.values import ApiName, Batch, Depth, PageCache, PlugInOptions, Retries, Vectors
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import YesNo

if TYPE_CHECKING:
    from ioassay.protocol.plan import Storage as StoragePlan
    from ioassay.protocol.plan import Uring as UringPlan


class Uring(Part):
    """How io_uring is used."""

    batch: Batch = Field(
        default=0,
        description="Transfers submitted to the kernel, and awaited, together. 0: as many as fit in the queue.",
    )
    registered_buffers: YesNo = Field(
        default=False, description="The kernel maps the buffers once instead of for every transfer."
    )
    registered_files: YesNo = Field(
        default=False, description="The kernel looks the files up once instead of for every transfer."
    )
    sqpoll: YesNo = Field(
        default=False,
        description="A kernel thread polls for submitted transfers, so that submitting needs no system call; it "
        "occupies a processor.",
    )
    iopoll: YesNo = Field(
        default=False,
        description="The kernel polls the device for completions; needs `direct` and a device that supports it.",
    )

    def plan(self) -> UringPlan:
        """As the plan has it."""
        return {
            "batch": self.batch,
            "registered_buffers": self.registered_buffers,
            "registered_files": self.registered_files,
            "sqpoll": self.sqpoll,
            "iopoll": self.iopoll,
        }


class Storage(Part):
    """The storage API and its options. `storage: posix` stands for one without options."""

    api: ApiName = Field(
        default="posix",
        description="The storage API that does the I/O. Default: `posix` for directories and devices, `nfs` for "
        "`nfs://`, and `object` for other URLs. Plug-ins (`ioassay api list`): `mpiio`, `hdf5`, `pnetcdf`, those of "
        "the site, or the path of a library.",
    )
    options: PlugInOptions = Field(
        default={},
        description="Options of a plug-in, such as `{collective: yes, hints: {cb_nodes: 4}}`; `ioassay api list` "
        "describes them.",
    )
    direct: YesNo = Field(default=False, description="Bypass the page cache (`O_DIRECT`).")
    cache: PageCache = Field(
        default="buffered",
        description="`buffered`: as the kernel sees fit. `uncached`: pages are dropped from the page cache as soon as "
        "they were moved (`RWF_DONTCACHE`, Linux 6.14), refused before any I/O where kernel or file system lack it.",
    )
    depth: Depth = Field(default=1, description="Transfers that each rank keeps in flight.")
    vectors: Vectors = Field(
        default=1, description="Pieces of memory that one call moves (`preadv`, `pwritev`). 1: `pread`, `pwrite`."
    )
    retries: Retries = Field(
        default=0,
        description="How often a request to S3 is repeated that failed temporarily: 503, a timeout, a lost "
        "connection. Repeated requests raise the doubt `retried`.",
    )
    uring: Uring | None = Field(default=None, description="Options of io_uring, for the APIs that use it.")

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: object) -> object:
        return {"api": value} if isinstance(value, str) else value

    def plan(self) -> StoragePlan:
        """As the plan has it."""
        made: StoragePlan = {"api": self.api}
        if self.options:
            made["options"] = dict(self.options)
        if self.direct:
            made["direct"] = True
        if self.cache == "uncached":
            made["uncached"] = True
        if self.depth != 1:
            made["depth"] = self.depth
        if self.vectors != 1:
            made["vectors"] = self.vectors
        if self.retries:
            made["retries"] = self.retries
        if self.uring:
            made["uring"] = self.uring.plan()
        return made
