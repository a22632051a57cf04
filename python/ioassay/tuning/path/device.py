"""The way through the block layer: from a device that a file system lies on down to the disks.

Sources: Documentation/ABI/stable/sysfs-block, Documentation/admin-guide/md.rst and dm-linear.rst, dm-striped.rst of
Linux; `__blk_rq_map_sg` and `bio_split_rw` for how requests are counted in segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from ioassay.text.units import format_bytes
from ioassay.tuning.path.model import Limit, Operation, Step
from ioassay.tuning.path.requests import PAGE_BYTES
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import Array, System
from ioassay.tuning.system.array import EXAMPLE
from ioassay.tuning.system.block import SECTOR_BYTES, BlockDevice
from ioassay.tuning.system.md import PARITY_DISKS, MdArray
from ioassay.tuning.system.numbers import is_whole

_MOST = 1 << 62
_NUMBERS = {"linear": (4,), "striped": (3, 4, 6)}
"""The fields of a line of `dmsetup table` that are numbers, by its target; each target has more fields than these."""
_VOLUMES = {"multipath": "multipath", "lvm": "LVM", "dm": "device mapper"}
_MEDIA = {"hdd": "disk", "ssd": "SSD", "memory": "memory", "array": "virtual disk"}
_CONTROLLERS = {"nvme": "NVMe controller", "virtio": "virtio"}


@dataclass(frozen=True)
class Chain:
    """One way down from a device."""

    steps: tuple[Step, ...]
    disk: str
    """The device at its end."""
    volumes: tuple[str, ...] = ()
    """The stacked devices on the way."""
    array: Array | None = None
    array_source: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def has_stripe_cache(self) -> bool:
        """Whether the array is an MD RAID with parity, which joins requests to stripes."""
        return self.array is not None and self.array.parity_disks > 0 and self.array_source.endswith("/md")


def chains(system: System, device: BlockDevice, start_bytes: int, operation: Operation) -> list[Chain]:
    """Every way down from a device on which something begins at `start_bytes`, in the order of its members."""
    return list(_down(system, device, start_bytes, operation))


def _down(system: System, device: BlockDevice, start_bytes: int, operation: Operation) -> Iterator[Chain]:
    if not device.below:
        yield _lowest(system, device, start_bytes)
        return
    for name in system.snapshot.names(f"sys/block/{device.name}/slaves"):
        below = next((member for member in device.below if member.name == name or _has_part(member, name)), None)
        if below is None:
            continue
        step, shift, array, unknown = _volume(system, device, name, start_bytes, operation)
        for chain in _down(system, below, shift + _part_start(below, name), operation):
            has_parity = array is not None and array.parity_disks > 0
            yield Chain(
                (step, *chain.steps),
                chain.disk,
                (device.name, *chain.volumes),
                array if has_parity or chain.array is None else chain.array,
                f"/sys/block/{device.name}/md" if has_parity or chain.array is None else chain.array_source,
                (*unknown, *chain.unknown),
            )


def _has_part(device: BlockDevice, name: str) -> bool:
    return any(part.name == name for part in device.partitions)


def _part_start(device: BlockDevice, name: str) -> int:
    return next((part.start_bytes for part in device.partitions if part.name == name), 0)


def _volume(
    system: System, device: BlockDevice, member: str, start_bytes: int, operation: Operation
) -> tuple[Step, int, Array | None, list[str]]:
    """The step of a stacked device, where its data begins on the member, its geometry, and what is not known of it."""
    unknown: list[str] = []
    limits = _size_limits(device, unknown)
    if device.kind == "md":
        level = _text(device, "md/level", unknown) or "RAID"
        array = _md_array(MdArray(device), unknown)
        shift = (_number(device, f"md/dev-{member}/offset", unknown) or 0) * SECTOR_BYTES
        name = f"MD {level.upper()}"
        notes = []
        if level in PARITY_DISKS:
            limits = []  # of what arrives, writes are cut into pages, reads at chunks
            if operation == "write":
                notes = ["MD writes pages and joins them to stripes in its stripe cache."]
    else:
        array, shift, notes = None, 0, []
        name = _VOLUMES.get(device.kind, "device mapper")
        if device.kind != "multipath":
            try:
                shift, array, known = _mapping(system, device, member)
                why = "" if known else "; capture `dmsetup table` as root"
            except Unreadable as error:
                why = f": {error}"
            if why:
                unknown.append(f"Where {device.name} begins on {member} is unknown{why}.")
    shown = device.text("dm/name") or device.name
    step = Step(
        "volume",
        name,
        shown,
        system.host,
        limits=tuple(limits),
        shift_bytes=start_bytes,
        striping=array,
        alignment_bytes=array.stripe_bytes if array is not None else None,
        alignment_source=f"/sys/block/{device.name}/md/chunk_size" if device.kind == "md" else "dmsetup table",
        notes=tuple(notes),
    )
    return step, shift, array, unknown


def _md_array(array: MdArray, unknown: list[str]) -> Array | None:
    try:
        if array.is_striped and array.chunk_bytes >= SECTOR_BYTES and array.data_disks > 0:
            return Array(array.data_disks, array.chunk_bytes, array.parity_disks)
    except Unreadable as error:
        unknown.append(f"{error.what} could not be read: {error.reason}.")
    return None


def _mapping(system: System, device: BlockDevice, member: str) -> tuple[int, Array | None, bool]:
    """Where the first extent begins on its device, its striping, and whether that is known, from `dmsetup table`."""
    name = device.text("dm/name") or device.name
    number = system.snapshot.text(f"sys/class/block/{member}/dev") or ""
    for line in (system.snapshot.printed("dmsetup", "table") or "").splitlines():
        mapped, _, rest = line.partition(": ")
        fields = rest.split()
        if mapped != name or len(fields) < 5 or not _has_numbers(fields):
            continue
        if fields[2] == "linear" and (not number or fields[3] in (number, f"/dev/{member}")):
            return int(fields[4]) * SECTOR_BYTES, None, True
        if fields[2] == "striped" and min(int(fields[3]), int(fields[4])) > 0:
            return int(fields[6]) * SECTOR_BYTES, Array(int(fields[3]), int(fields[4]) * SECTOR_BYTES), True
    return 0, None, False


def _has_numbers(fields: list[str]) -> bool:
    return all(index < len(fields) and is_whole(fields[index]) for index in _NUMBERS.get(fields[2], ()))


def _lowest(system: System, device: BlockDevice, start_bytes: int) -> Chain:
    """The queue of a device, what it hangs on, and what its data lies on."""
    unknown: list[str] = []
    queue, controller = _queue(system, device, start_bytes, unknown), _controller(system, device, unknown)
    if controller is not None:
        # The kernel applies both at once, so the smaller one cuts, once.
        most = controller.capacity_bytes or 0
        smaller = tuple(limit for limit in queue.limits if limit.is_boundary or limit.size_bytes <= most)
        larger = tuple(limit for limit in queue.limits if limit not in smaller)
        if controller.best_bytes is not None:
            # Contiguous memory makes segments larger; what the queue takes stays as it is.
            takes = [limit.size_bytes for limit in queue.limits]
            best = min([controller.best_bytes, *takes]) if takes else None
            controller = replace(controller, best_bytes=best)
        queue = replace(queue, limits=smaller, ineffective_limits=larger)
    steps = [queue, *([controller] if controller is not None else [])]
    array, source = _array(system, device, unknown)
    if array is not None:
        steps.append(
            Step(
                "raid",
                f"RAID {array.text}",
                "",
                system.host,
                striping=array,
                alignment_bytes=array.stripe_bytes,
                alignment_source=source,
            )
        )
    else:
        steps[0] = replace(queue, alignment_bytes=None)  # said once, of the disk
        if device.medium == "array":
            unknown.append(
                f"The geometry of the RAID behind {device.name} is unknown to the host; give it with --raid, for "
                f"example --raid {EXAMPLE}."
            )
        physical = _number(device, "queue/physical_block_size", unknown)
        steps.append(
            Step(
                "disk",
                _MEDIA[device.medium],
                device.model,
                system.host,
                alignment_bytes=physical or None,
                alignment_source=f"/sys/block/{device.name}/queue/physical_block_size",
            )
        )
    return Chain(tuple(steps), device.name, (), array, source, tuple(unknown))


def _queue(system: System, device: BlockDevice, start_bytes: int, unknown: list[str]) -> Step:
    limits = _size_limits(device, unknown)
    chunk = _number(device, "queue/chunk_sectors", unknown)
    if chunk:
        size = chunk * SECTOR_BYTES
        path = f"/sys/block/{device.name}/queue/chunk_sectors"
        reason = f"{device.name} does not take requests across multiples of {format_bytes(size)} (chunk_sectors)"
        limits.append(Limit(size, "chunk_sectors", str(chunk), reason, path, is_boundary=True))
    return Step(
        "queue",
        "block queue",
        device.name,
        system.host,
        limits=tuple(limits),
        shift_bytes=start_bytes,
        alignment_bytes=_number(device, "queue/physical_block_size", unknown) or None,
        alignment_source=f"/sys/block/{device.name}/queue/physical_block_size",
    )


def _size_limits(device: BlockDevice, unknown: list[str]) -> list[Limit]:
    limits = []
    kibibytes = _number(device, "queue/max_sectors_kb", unknown)
    if kibibytes is None:
        unknown += _missing_limit(device, "max_sectors_kb", "How large the requests of {} may be")
    if kibibytes:
        path = f"/sys/block/{device.name}/queue/max_sectors_kb"
        reason = f"max_sectors_kb of {device.name} is {kibibytes}"
        limits.append(Limit(kibibytes << 10, "max_sectors_kb", str(kibibytes), reason, path))
    return limits


def _controller(system: System, device: BlockDevice, unknown: list[str]) -> Step | None:
    """The adapter or controller of a disk, with the most segments and bytes that it takes."""
    try:
        adapter = device.adapter
    except Unreadable as error:
        unknown.append(f"{error.what} could not be read: {error.reason}.")
        adapter = None
    segments = _number(device, "queue/max_segments", unknown)
    segment = _number(device, "queue/max_segment_size", unknown) or PAGE_BYTES
    most = _number(device, "queue/max_hw_sectors_kb", unknown)
    who, path = device.name, f"/sys/block/{device.name}/queue/max_segments"
    parameter = "max_segments"
    if adapter is not None:
        who = adapter.driver or adapter.name
        if adapter.sg_tablesize and (not segments or adapter.sg_tablesize <= segments):
            segments, path = adapter.sg_tablesize, f"/sys/class/scsi_host/{adapter.name}/sg_tablesize"
            parameter = "sg_tablesize"
    if segments is None:
        unknown += _missing_limit(device, "max_segments", "How many segments {} takes")
    limits = []
    if segments:
        size = segments * PAGE_BYTES
        reason = f"{who} takes {segments} segments of {format_bytes(PAGE_BYTES)}"
        limits.append(Limit(size, parameter, f"{segments} × {format_bytes(PAGE_BYTES)}", reason, path))
    if most:
        path = f"/sys/block/{device.name}/queue/max_hw_sectors_kb"
        reason = f"{who} takes at most {format_bytes(most << 10)} (max_hw_sectors_kb)"
        limits.append(Limit(most << 10, "max_hw_sectors_kb", str(most), reason, path))
    if not limits:
        return None
    best = [segments * max(segment, PAGE_BYTES)] if segments else []
    return Step(
        "adapter",
        "adapter" if adapter is not None else _CONTROLLERS.get(device.kind, "driver"),
        who if adapter is not None or device.kind != "nvme" else device.name,
        system.host,
        limits=tuple(limits),
        best_bytes=min([*best, *([most << 10] if most else [])]),
    )


def _array(system: System, device: BlockDevice, unknown: list[str]) -> tuple[Array | None, str]:
    """The RAID behind a disk: as the user gave it, or as the controller reports it."""
    if system.array is not None and device.kind in ("scsi", "virtio"):
        return system.array, "given by --raid"
    if device.medium != "array":
        return None, ""
    segment = _number(device, "queue/minimum_io_size", unknown) or 0
    stripe = _number(device, "queue/optimal_io_size", unknown) or 0
    if segment > PAGE_BYTES and stripe >= 2 * segment and stripe % segment == 0:
        unknown.append(
            f"How many parity disks the RAID behind {device.name} has is unknown to the host; give the geometry with "
            f"--raid, for example --raid {EXAMPLE}."
        )
        return Array(stripe // segment, segment), f"/sys/block/{device.name}/queue/optimal_io_size"
    return None, ""


def _number(device: BlockDevice, attribute: str, unknown: list[str]) -> int | None:
    """An attribute that no value below 0 makes sense of."""
    try:
        number = device.number(attribute)
    except Unreadable as error:
        unknown.append(f"{error.what} could not be read: {error.reason}.")
        return None
    if number is None or 0 <= number < _MOST:
        return number
    unknown.append(f"/sys/block/{device.name}/{attribute} is {number}, which makes no sense; it was left out.")
    return None


def _missing_limit(device: BlockDevice, attribute: str, what: str) -> Iterator[str]:
    """Says that a limit which every queue has was not captured: what it splits is not in the picture."""
    with suppress(Unreadable):  # which is reported already
        if device.has_queue and device.text(f"queue/{attribute}") is None:
            path = f"/sys/block/{device.name}/queue/{attribute}"
            yield f"{what.format(device.name)} is unknown: the snapshot lacks {path}."


def _text(device: BlockDevice, attribute: str, unknown: list[str]) -> str | None:
    try:
        return device.text(attribute)
    except Unreadable as error:
        unknown.append(f"{error.what} could not be read: {error.reason}.")
        return None


_OF_LIMIT = attrgetter(*(field.name for field in fields(Limit) if field.name not in ("reason", "source")))
_NAMES = ("host", "subject", "limits", "ineffective_limits", "joins_less", "alignment_source", "notes")
_OF_STEP = attrgetter(*(field.name for field in fields(Step) if field.name not in _NAMES))


def without_names(step: Step, host: str = "") -> object:
    """A value that is equal for steps of two devices that are alike, and for those of `host` and another alike."""
    limits, others = (tuple(map(_OF_LIMIT, of)) for of in (step.limits, step.ineffective_limits))
    less = _OF_LIMIT(step.joins_less) if step.joins_less is not None else None
    return _OF_STEP(step), step.host if step.host != host else "", limits, others, less
