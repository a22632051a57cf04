"""What the rules about queues share: which device a request passes through, and which setting is named how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ioassay.tuning.rule import Assignment, Judgement, NotApplicable, NotReadable, each, missing
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System
from ioassay.tuning.system.block import BlockDevice, Medium


def each_device(system: System, judge: Callable[[BlockDevice], Iterable[Judgement]]) -> Iterator[Judgement]:
    """What `judge` says of each device that the system is judged for; where there is none, why."""
    if system.snapshot.target:
        otherwise = "no block device of this node lies below the target; look at its servers"
    else:
        otherwise = "the node has no block devices with data"
    return each(system.concerned(), lambda device: _named(device, judge(device)), otherwise=otherwise)


def _named(device: BlockDevice, judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """With the device's name on what does not apply to it: a picture that shows it asks for the reason."""
    for one in judgements:
        yield NotApplicable(one.why, device.name) if isinstance(one, NotApplicable) and not one.subject else one


def assign(device: BlockDevice, attribute: str, value: int | str) -> Assignment:
    """The setting of a device's queue."""
    return Assignment(f"block:{device.name}/{attribute}", str(value))


def lacks(device: BlockDevice, attribute: str) -> NotReadable:
    """The judgement where the snapshot has the queue of a device without a file that every kernel has there."""
    return missing(f"/sys/block/{device.name}/queue/{attribute}")


def multipath_above(device: BlockDevice) -> BlockDevice | None:
    """The multipath device that it is a path of."""
    return next((upper for upper in device.above if upper.kind == "multipath"), None)


def schedules(device: BlockDevice) -> bool:
    """Whether its queue orders requests: stacked devices that only pass them on have no choice of schedulers."""
    return len(device.schedulers) > 1 or device.kind in ("nvme", "scsi", "virtio")


def unsuited(device: BlockDevice) -> str:
    """Why no rule about request queues applies to it; empty where they do."""
    if not device.has_queue:
        return f"{device.name} has no request queue"
    if device.medium == "memory":
        return f"{device.name} lies in memory, without a disk that requests could be ordered or merged for"
    if device.kind == "loop":
        return f"{device.name} lies on a file; the device below that file system is the one to tune"
    return ""


def passes_on(device: BlockDevice) -> str:
    """Why a rule about ordering requests does not apply to it; empty where it does."""
    if reason := unsuited(device):
        return reason
    if not schedules(device):
        return f"{device.name} passes requests on to the devices below it without queueing them"
    return ""


def spins(device: BlockDevice) -> bool:
    """Whether its data lies on rotating disks: one, or those of a RAID controller. Raises `Unreadable`."""
    return medium(device) in ("hdd", "array")


def medium(device: BlockDevice) -> Medium:
    """What its data lies on. Raises `Unreadable` where the snapshot lacks whether a disk below it rotates."""
    for one in device.with_all_below():
        is_disk = not one.below and one.kind in ("scsi", "virtio") and not one.is_virtual_disk
        if is_disk and one.queue("rotational") is None:
            raise Unreadable(f"/sys/block/{one.name}/queue/rotational", "the snapshot lacks it")
    return device.medium
