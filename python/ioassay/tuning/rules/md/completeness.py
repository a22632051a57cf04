"""Whether an array is whole and idle."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.md.sources import MD_GUIDE, MD_MANUAL, NO_ARRAYS
from ioassay.tuning.system import System
from ioassay.tuning.system.md import MdArray, listed_arrays, md_arrays


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), lambda array: _array(system, array), otherwise=NO_ARRAYS)


def _array(system: System, array: MdArray) -> Iterator[Judgement]:
    listed = listed_arrays(system.snapshot.text("proc/mdstat") or "").get(array.name)
    if not array.level and listed is None:
        yield missing(f"/sys/block/{array.name}/md")
        return
    if listed is None and array.has_parity and array.device.number("md/degraded") is None:
        yield missing(f"/sys/block/{array.name}/md/degraded")
        return
    absent = max(array.missing, listed.expected - listed.working if listed is not None else 0)
    action = array.sync_action if array.sync_action != "idle" or listed is None else listed.action
    percent = array.sync_percent if array.sync_percent is not None else listed.percent if listed is not None else None
    found = [f"{absent} of {array.disks or (listed.expected if listed else 0)} members missing"] if absent else []
    if action != "idle":
        found.append(action + (f" {percent:.0f} % done" if percent is not None else ""))
    if found:
        because = "what is measured now is not what the array can do"
        command = f"mdadm --detail /dev/{array.name}; wait with: mdadm --wait /dev/{array.name}"
        yield Change(array.name, ", ".join(found), "all members, idle", because, command=command)
    else:
        yield Fine(array.name, "all members, idle")


RULE = Rule(
    name="md-completeness",
    title="Measure arrays only when they are whole and idle",
    area="MD RAID",
    reason="A degraded array computes missing data from all other members at each read; a resync, a recovery or a "
    "check reads and writes all members beside the measurement.",
    risk="None: replace the member and wait. Distributions check arrays monthly by themselves (checkarray, "
    "raid-check); a check can be stopped with: echo idle > md/sync_action.",
    sources=(MD_MANUAL, MD_GUIDE),
    judge=_judge,
    parameters=("degraded", "sync_action"),
)
