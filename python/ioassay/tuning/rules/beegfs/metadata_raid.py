"""Which RAID a metadata server stores on."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.beegfs.sources import META_TUNING, NO_DAEMON
from ioassay.tuning.system import System, block, mounts
from ioassay.tuning.system.beegfs import Service, daemons
from ioassay.tuning.system.md import MdArray


def _judge(system: System) -> Iterator[Judgement]:
    return each(daemons(system, "meta"), lambda one: _meta(one, system), otherwise=NO_DAEMON)


def _meta(one: Service, system: System) -> Iterator[Judgement]:
    for directory in one.directories:
        mount = mounts.covering(system.mounts, directory)
        device = block.by_number(system.devices, mount.device) if mount is not None else None
        arrays = [MdArray(below) for below in device.with_all_below() if below.kind == "md"] if device else []
        parity = next((array for array in arrays if array.has_parity), None)
        if parity is not None:
            because = "small random writes read data and parity first"
            command = "make the metadata target anew on RAID1 or RAID10"
            yield Change(directory, f"{parity.level} {parity.name}", "RAID1 or RAID10", because, command=command)
        elif arrays:
            yield Fine(directory, f"{arrays[0].level} {arrays[0].name}")
        else:
            yield NotApplicable(
                f"{directory} lies on no array of the kernel (md); see the controller or the pool for others"
            )


RULE = Rule(
    name="beegfs-metadata-raid",
    title="Store BeeGFS metadata on RAID1 or RAID10",
    area="BeeGFS",
    reason="Metadata is small random reads and writes, for which RAID5 and RAID6 read data and parity before they "
    "write.",
    risk="Half of the capacity; the target has to be made anew.",
    sources=(META_TUNING,),
    judge=_judge,
    parameters=("storeMetaDirectory",),
)
