"""How many commands a LUN holds."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.block import queues
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice

_FULL_NCQ = 32
"""What one SATA disk takes by native command queueing; SAS disks and arrays take more."""

_LIBATA = Source("Linux, libata: NCQ", "https://docs.kernel.org/driver-api/libata.html")
_BOUNDS = Bounds(_LIBATA, least=2, below="its command queueing is switched off, and it works on one command at a time")


def _judge(system: System) -> Iterator[Judgement]:
    return queues.each_device(system, _device)


def _device(device: BlockDevice) -> Iterator[Judgement]:
    now = device.number("device/queue_depth") if device.kind == "scsi" else None
    if now is None:
        yield NotApplicable(f"{device.name} is no SCSI disk with a queue depth")
        return
    wanted, because = max(now, _deepest_sibling(device)), "the other paths of its multipath device take more"
    adapter = device.adapter
    breach = _BOUNDS.breach(now)
    if breach and adapter is not None and adapter.can_queue == now:
        yield Fine(device.name, f"{now} command, all that {adapter.name} takes")
        return
    if breach:
        wanted, because = max(wanted, _FULL_NCQ), breach
    if wanted == now:
        yield Fine(device.name, f"{now} commands")
    else:
        assignment = Assignment(f"block:{device.name}/device/queue_depth", str(wanted))
        yield Change(
            device.name, f"{now} commands", f"{wanted} commands", because, (assignment,), is_harmful=bool(breach)
        )


def _deepest_sibling(device: BlockDevice) -> int:
    """The largest depth among the paths of the same multipath device."""
    upper = queues.multipath_above(device)
    depths = [path.number("device/queue_depth") or 0 for path in upper.below] if upper else []
    return max(depths, default=0)


RULE = Rule(
    name="queue-depth",
    title="Give all paths of a LUN the same queue depth, with command queueing on",
    area="adapter",
    reason="A LUN stands for many disks, which work at once only on several commands. The kernel lowers a path's depth "
    "when the array reports a full queue, and drivers set 1 after errors; the path then carries less than its share.",
    risk="An array whose queue is full rejects commands; where the log shows that, lower the depth of all paths "
    "instead. SATA disks behind the adapter take at most 32.",
    sources=(
        Source("Linux, SCSI mid_low_api: scsi_track_queue_full", "https://docs.kernel.org/scsi/scsi_mid_low_api.html"),
        _LIBATA,
    ),
    judge=_judge,
    parameters=("queue_depth",),
    bounds={"queue_depth": _BOUNDS},
)
