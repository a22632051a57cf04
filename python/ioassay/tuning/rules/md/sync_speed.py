"""How fast a resync may be beside other I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, each, missing
from ioassay.tuning.rules.md.sources import MD_GUIDE, MD_MANUAL, NO_ARRAYS
from ioassay.tuning.system import System
from ioassay.tuning.system.md import MdArray, md_arrays

_CALM_KB = 1000
"""The kernel's usual minimum, KiB/s."""


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), _array, otherwise=NO_ARRAYS)


def _array(array: MdArray) -> Iterator[Judgement]:
    if array.sync_action in ("idle", "frozen"):
        yield NotApplicable(f"{array.name} is not being synchronised")
        return
    found = re.match(r"\d+", array.device.text("md/sync_speed_min") or "")
    if found is None:
        yield missing(f"/sys/block/{array.name}/md/sync_speed_min")
    elif int(found[0]) <= _CALM_KB:
        yield Fine(array.name, f"{found[0]} KiB/s guaranteed to the {array.sync_action}")
    else:
        because = f"a {array.sync_action} is under way and takes this much from other I/O on each member"
        assignment = Assignment(f"block:{array.name}/md/sync_speed_min", str(_CALM_KB))
        yield Change(array.name, f"{found[0]} KiB/s", f"{_CALM_KB} KiB/s", because, (assignment,))


RULE = Rule(
    name="md-sync-speed",
    title="Let a running resync give way to other I/O",
    area="MD RAID",
    reason="Below its minimum speed a resync does not give way, so a raised minimum takes bandwidth and seeks from "
    "applications until it has ended.",
    risk="The resync takes longer, and the array is without redundancy meanwhile: raise the minimum instead where "
    "safety counts more than speed. Rates measured during a resync say little in either case.",
    sources=(MD_MANUAL, MD_GUIDE),
    judge=_judge,
    parameters=("sync_speed_min", "sync_speed_max", "speed_limit_min", "speed_limit_max"),
)
