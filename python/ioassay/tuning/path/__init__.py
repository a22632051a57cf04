"""The way of an I/O from the application to the disk: the size of its requests on each layer, computed and measured.

    requests      requests, and how a layer cuts them
    parity        what a RAID with parity does for a write
    model         steps, layers, paths
    trace         requests on their way through steps
    client        the steps of a client: page cache, striping over servers, RPCs
    server        the steps of a server down to its devices, and which these are
    device        the steps of the block layer: volumes, queues, adapters, disks
    build         the paths of a system, or of a client and its servers
    conclusions   what follows from a path, in sentences
    counters      what the kernel, Lustre and NFS counted, from the text of their files
    measured      two snapshots of a host → the sizes that requests had between them, beside those that were computed

Not: whether a setting is good (`tuning.rules`), what a path looks like (`figures.io_path`, `reports.tuning.path`).
"""

from __future__ import annotations

from ioassay.tuning.path.build import both_ways, io_paths
from ioassay.tuning.path.model import IoPath, Layer, Limit, Operation, Transfer

__all__ = ["IoPath", "Layer", "Limit", "Operation", "Transfer", "both_ways", "io_paths"]
