"""What a study can say of file sets and trees: what is written, read, created and queried.

Not here: what is done to them (`studies.steps`), how they divide among ranks (`studies.sweep`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

from ioassay.studies import spelling
from ioassay.studies.values import (
    Interleave,
    ItemPayload,
    Items,
    Layout,
    Levels,
    Order,
    Ordinal,
    Payload,
    Share,
    Sharing,
    SizeOrNone,
    Swept,
    Transfer,
)
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.values import Count, Size, YesNo

if TYPE_CHECKING:
    from ioassay.protocol.plan import Tree as TreePlan

SIZES = ("total", "per_client", "per_rank", "per_file")
"""The keys of a file set's size, of which it has one."""


class FileSet(Part):
    """A file set, in IOR's terms. A workload with one file set has these keys itself; its file set is called `data`."""

    layout: Layout = Field(
        description="`N-N`: every rank has files of its own. `N-1`: all ranks share files, each its own part of them. "
        "`N-M`: groups of ranks share files."
    )
    groups: Swept | None = Field(
        default=None,
        description="With `N-M`: how many groups of ranks share files; with one file per rank, the number of "
        "objects. A list is swept like `clients`, without the points whose ranks cannot be split into equal groups.",
    )
    order: Order = Field(
        description=f"Order of a rank's transfers, unless a phase sets another. {spelling.ORDER.described()}"
    )
    transfer: Transfer = Field(description="Bytes of one read or write call (IOR's `-t`).")
    total: Size | None = Field(
        default=None, description="Size of all files of a case together, divided evenly among the ranks."
    )
    per_client: Size | None = Field(
        default=None, description="Size of what each client writes, divided evenly among its ranks."
    )
    per_rank: Size | None = Field(default=None, description="Size of what each rank writes in all its files.")
    per_file: Size | None = Field(
        default=None, description="Size of each file, divided evenly among the ranks that share it."
    )
    files_per_rank: Count = Field(
        default=1,
        description="Files in which each rank has blocks, one after the other. Shared ones are shared with its group.",
    )
    segments: Count = Field(
        default=1, description="The number of segments of a file; each holds one block per rank (IOR's `-s`)."
    )
    interleave: Interleave = Field(
        default="segmented",
        description="`segmented`: `segments` sets the length of a rank's block. `strided`: a block is one transfer, "
        "so that the transfers of all ranks alternate in a shared file; the number of segments follows from the size.",
    )
    offset: SizeOrNone = Field(
        default=0,
        description="Where the first block begins in each file; use it to measure unaligned I/O.",
    )
    payload: Payload = Field(
        default="repeated",
        description=f"What is written. {spelling.PAYLOAD.described()} Default: `unique` where a step of the workload "
        "has `verify` or is `kv-cache`, otherwise `repeated`.",
    )
    ranks: Share | None = Field(
        default=None,
        description="The share of the ranks that write and read this file set. Shares follow one another in the "
        "order of `files` and then `trees`. Default: all ranks.",
    )

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        given = [key for key in SIZES if getattr(self, key) is not None]
        if len(given) != 1:
            has = ("has no size", "", "has two sizes")[min(2, len(given))]
            raise ValueError(f"{has}; set one of `total`, `per_client`, `per_rank` and `per_file`")
        if (self.layout == "N-M") != (self.groups is not None):
            has = "has `groups` but not the layout N-M" if self.groups else "has the layout N-M but no `groups`"
            raise ValueError(f"{has}; set both or neither")
        if self.interleave == "strided" and self.segments != 1:
            raise ValueError("is strided and has `segments`; leave `segments` out: it follows from the size")
        return self

    @cached_property
    def size_key(self) -> str:
        """Which of `SIZES` it has."""
        return next(key for key in SIZES if getattr(self, key) is not None)

    @property
    def size(self) -> int:
        """The value of that key in bytes."""
        return int(getattr(self, self.size_key))


class Tree(Part):
    """A tree as mdtest builds it: directories in directories, with items of each rank in them."""

    items: Count = Field(description="Items of each rank in each directory that has any (mdtest's `-I`).")
    of: Items = Field(default="files", description="Kind of the items (mdtest's `-F` and `-D`).")
    depth: Levels = Field(default=0, description="Levels of directories below the root (mdtest's `-z`).")
    branch: Count = Field(default=1, description="Directories in each directory that is not a leaf (mdtest's `-b`).")
    leaves_only: YesNo = Field(default=False, description="Only the deepest directories have items (mdtest's `-L`).")
    sharing: Sharing = Field(
        default="unique",
        description="`unique`: every rank has a tree of its own (mdtest's `-u`). `shared`: one tree for all, each with "
        "items of its own in it. `shared-items`: one tree with the items of one rank, which all use (mdtest's `-S`).",
    )
    displaced: Ordinal = Field(
        default=0,
        description="With `unique`: each rank has its items in the tree of the rank this many further on (mdtest's "
        "`-u` with `-N`).",
    )
    names: Literal["mdtest", "md-workbench"] = Field(
        default="mdtest",
        description="Names of directories and items: `file.mdtest.3.17` or, only with `unique`, `file-17`. Longer "
        "names make larger directories.",
    )
    payload: ItemPayload | None = Field(
        default=None,
        description="Content of the items, so that it can be verified: one of IOR's payloads, as mdtest writes them. "
        "Default: random bytes, different in each item.",
    )
    ranks: Share | None = Field(
        default=None, description="The share of the ranks that use this tree, as for a file set. Default: all ranks."
    )

    def plan(self) -> TreePlan:
        """As the plan has it, made for all ranks."""
        made: TreePlan = {
            "sharing": self.sharing,
            "depth": self.depth,
            "branch": self.branch,
            "items_per_directory": self.items,
            "leaves_only": self.leaves_only,
            "items": self.of,
        }
        if self.displaced:
            made["displaced"] = self.displaced
        if self.names != "mdtest":
            made["names"] = self.names
        if self.payload:
            made["payload"] = spelling.payload_plan(self.payload)
        return made
