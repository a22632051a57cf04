"""How many threads compute parity."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.md.sources import NO_ARRAYS
from ioassay.tuning.system import System
from ioassay.tuning.system.md import MdArray, md_arrays

_WANTED = 8


def _judge(system: System) -> Iterator[Judgement]:
    return each(md_arrays(system.concerned()), lambda array: _array(array, system.processors), otherwise=NO_ARRAYS)


def _array(array: MdArray, processors: int) -> Iterator[Judgement]:
    wanted = min(_WANTED, processors // 2)
    if not array.has_parity:
        yield NotApplicable(f"{array.name} is {array.level or 'not assembled'}, which has no parity to compute")
    elif array.device.medium == "hdd":
        yield NotApplicable(f"{array.name} lies on hard disks, which one thread keeps busy")
    elif wanted < 2:
        yield NotApplicable("the node has too few processors for more threads")
    elif (now := array.device.number("md/group_thread_cnt")) is None:
        yield missing(f"/sys/block/{array.name}/md/group_thread_cnt")
    elif now:
        yield Fine(array.name, f"{now} threads for each NUMA node")
    elif array.sync_action != "idle":
        because = f"wait until its {array.sync_action} has ended: changing it meanwhile has hung arrays"
        command = f"echo {wanted} > /sys/block/{array.name}/md/group_thread_cnt, once {array.name} is idle"
        yield Change(array.name, "1 thread", f"{wanted} threads for each NUMA node", because, command=command)
    else:
        assignment = Assignment(f"block:{array.name}/md/group_thread_cnt", str(wanted))
        yield Change(array.name, "1 thread", f"{wanted} threads for each NUMA node", "", (assignment,))


RULE = Rule(
    name="md-worker-threads",
    title="Let several threads compute parity of md arrays on flash",
    area="MD RAID",
    reason="One thread, md0_raid6, handles all stripes of an array and is the limit on fast devices; group_thread_cnt "
    "adds workers for each NUMA node.",
    risk="More threads contend for locks: the author warns that more are not always faster, so sweep 2 to 8. Kernels "
    "before 6.13 without the fix can hang when it is changed while the array resynchronises. It is documented in "
    "commits only.",
    sources=(
        Source(
            "Linux, commit 851c30c9badf: raid5: offload stripe handle to workqueue",
            "https://git.kernel.org/torvalds/c/851c30c9badfc6b294c98e887624bff53644ad21",
        ),
        Source(
            "Xiao Ni, md/raid5: fix of a hang when changing the thread count",
            "https://lore.kernel.org/r/20241106095124.74577-1-xni@redhat.com",
        ),
    ),
    judge=_judge,
    parameters=("group_thread_cnt",),
)
