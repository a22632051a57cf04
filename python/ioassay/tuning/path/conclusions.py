"""Conclusions from a path, in sentences: the first split and its cause, the work of the RAID, misalignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ioassay.text.prose import listed
from ioassay.text.units import format_about_bytes, format_bytes, format_count
from ioassay.tuning.path.model import IoPath, Layer, sizes
from ioassay.tuning.path.parity import StripeWrite
from ioassay.tuning.rule import Area


@dataclass(frozen=True)
class Cause:
    """A setting that a problem comes from."""

    host: str
    parameter: str
    subjects: tuple[str, ...] = ()
    """The devices that have it; empty where it is of no device."""
    areas: tuple[Area, ...] = ()
    """The areas of the rules that know it here: the same word is another setting elsewhere."""


@dataclass(frozen=True)
class Conclusion:
    """A sentence or two on a path."""

    text: str
    is_problem: bool = False
    causes: tuple[Cause, ...] = ()
    """Only of a problem: the settings to look at, the most effective first."""


def conclusions(path: IoPath) -> list[Conclusion]:
    """The conclusions, the most important first."""
    return [
        *_splits(path),
        *_short_read_aheads(path),
        *_raid(path),
        *_alignment(path),
        *_geometry(path),
        *_best(path),
        *_reads(path),
    ]


def problems(path: IoPath) -> set[tuple[str, str, int]]:
    """The problems of a path by host and setting, with the size of pieces; equal where reads suffer as writes do."""
    splits = ((cause, split.request_bytes) for split in path.splits for cause in _causes(path, split))
    others = (
        (cause, 0) for conclusion in (*_short_read_aheads(path), *_alignment(path)) for cause in conclusion.causes
    )
    return {(cause.host, _SAME.get(cause.parameter, cause.parameter), pieces) for cause, pieces in (*splits, *others)}


_SAME = {"rsize": "wsize"}
"""Settings of reads that are for them what others are for writes."""


def _splits(path: IoPath) -> Iterator[Conclusion]:
    if not path.layers:
        return
    if path.first_split is None:
        size = format_bytes(max(layer.request_bytes for layer in path.layers))
        spread = next((layer for layer in path.layers if layer.is_spread and layer.kind != "raid"), None)
        if spread is not None and spread.step.striping is not None:
            chunk = format_bytes(spread.step.striping.segment_bytes)
            yield Conclusion(
                f"No limit splits requests of {size}; {_layer_text(spread)} spreads them in chunks of {chunk}."
            )
        else:
            yield Conclusion(f"Requests of {size} reach {_destination(path)} whole.")
        return
    for split in path.splits:
        causes = path.causes(split) or split.limits
        because = listed(list(dict.fromkeys(limit.reason for limit in causes)))
        beyond = path.next_limit(split)
        more = f" Beyond that, the next limit is {beyond.text} ({format_bytes(beyond.size_bytes)})." if beyond else ""
        # Where two layers would split it, it leaves both as the first one leaves it.
        layer = _layer_text(_splitting_layer(path, split))
        yield Conclusion(
            f"{_request_text(path, split)} leaves {layer} as {_pieces(split)}, because {because}.{more}",
            True,
            _causes(path, split),
        )


def _causes(path: IoPath, split: Layer) -> tuple[Cause, ...]:
    limits = path.causes(split) or split.limits
    causes = [
        _cause(path, layer, limit.parameter)
        for limit in limits
        for layer in path.layers
        if limit in layer.step.all_limits
    ]
    return tuple(dict.fromkeys(causes))


def _cause(path: IoPath, layer: Layer, parameter: str) -> Cause:
    """A parameter of a layer, with the devices that it belongs to there."""
    subjects: tuple[str, ...] = ()
    if layer.kind in ("queue", "adapter", "disk"):
        subjects = path.disks
    elif layer.kind == "volume":
        subjects = path.volumes(layer)
    elif layer.kind == "cache":
        subjects = (*path.targets, *path.devices)
    return Cause(layer.step.host, parameter, subjects, _AREAS.get(layer.kind, ()))


_AREAS: dict[str, tuple[Area, ...]] = {
    "cache": ("NFS", "Lustre", "block queue"),
    "rpc": ("NFS", "Lustre", "GPFS"),
    "server": ("NFS", "Lustre"),
    "volume": ("block queue", "MD RAID"),
    "queue": ("block queue",),
    "adapter": ("block queue", "adapter"),
    "raid": ("RAID controller",),
}
"""By the kind of a layer."""


def _short_read_aheads(path: IoPath) -> Iterator[Conclusion]:
    """Read-ahead that is shorter than what the layer below takes at once."""
    for layer in path.layers:
        limit = layer.step.joins_less
        if limit is not None:
            yield Conclusion(
                f"Reads of {format_bytes(path.transfer_bytes)} that follow one another are joined to "
                f"{format_bytes(layer.request_bytes)}, because {limit.reason}, although the layers below take more.",
                True,
                (_cause(path, layer, limit.parameter),),
            )


def _reads(path: IoPath) -> Iterator[Conclusion]:
    if path.reads_alike:
        wrong = any(
            conclusion.is_problem for conclusion in (*_splits(path), *_short_read_aheads(path), *_alignment(path))
        )
        yield Conclusion("Reads meet the same limits." if wrong else "Reads of this size arrive whole, too.")


def _splitting_layer(path: IoPath, split: Layer) -> Layer:
    """The last layer that would split what arrives at `split`, where those between leave its pieces as they are."""
    causes = set(path.causes(split))
    holding = [layer for layer in path.layers if set(layer.step.limits) & causes and layer.arriving == split.requests]
    return holding[-1] if holding else split


def _request_text(path: IoPath, split: Layer) -> str:
    size = format_bytes(split.arriving_bytes)
    if split.kind in ("cache", "layout", "rpc"):
        return f"A {'transfer' if path.transfer.operation == 'write' else 'read'} of {size}"
    return f"An RPC of {size}" if split.kind == "server" else f"A request of {size}"


def _pieces(layer: Layer) -> str:
    """The pieces that the largest arriving request is split into, as text."""
    largest = max(layer.arriving, key=lambda request: request.size_bytes)
    return sizes(
        [request for request in layer.requests if largest.offset_bytes <= request.offset_bytes < largest.end_bytes]
    )


def _layer_text(layer: Layer) -> str:
    match layer.kind:
        case "queue" | "volume":
            return f"the {layer.name} of {layer.subject}" if layer.kind == "queue" else f"{layer.name} {layer.subject}"
        case "adapter":
            return f"the {layer.name} ({layer.subject})" if layer.subject else f"the {layer.name}"
        case "rpc":
            return f"the client ({layer.name})"
        case "server":
            return f"the server ({layer.name})"
        case "file system":
            return layer.name
    return f"the {layer.name}"


def _destination(path: IoPath) -> str:
    last = path.layers[-1]
    return {"raid": "the RAID", "disk": f"the {last.name}"}.get(last.kind, "the network")


def _raid(path: IoPath) -> Iterator[Conclusion]:
    work, array = path.work, path.array
    if work is None or array is None or not array.parity_disks or not path.stripe_writes:
        return
    stripe = f"the {format_bytes(array.stripe_bytes)} stripe ({array.text})"
    # Requests that arrive whole may fill a stripe, so what splits them comes first.
    causes = (*(cause for split in path.splits for cause in _causes(path, split)), *_of_array(path))
    if work.full_stripes == work.stripe_writes:
        yield Conclusion(
            f"Each write covers {stripe}: {format_count(array.data_disks, 'data segment')} and "
            f"{array.parity_disks} of parity are written, and nothing is read first."
        )
        return
    partial = next((stripe_write for stripe_write in path.stripe_writes if stripe_write.method != "full stripe"), None)
    if partial is not None:
        yield Conclusion(f"{_partial(partial, stripe)} {_write_back_note(path)}", True, causes)
    share = (
        f"{work.full_stripe_share:.0%} of the writes cover".replace("%", " %")
        if work.full_stripes
        else "No write covers"
    )
    amount = format_bytes(array.stripe_bytes)
    yield Conclusion(
        f"{share} a full stripe: for each {amount} of data the disks serve "
        f"{_number(work.disk_ios * array.stripe_bytes / work.data_bytes)} requests instead of "
        f"{array.data_disks + array.parity_disks}, and move {work.amplification:.2f} bytes for each byte written "
        f"instead of {work.least_amplification:.2f}.",
        True,
        causes,
    )


def _of_array(path: IoPath) -> tuple[Cause, ...]:
    """The settings that say how large a stripe is."""
    layer = next((layer for layer in path.layers if layer.step.striping is path.array), None)
    if layer is None:
        return ()
    return (_cause(path, layer, "chunk_size" if layer.kind == "volume" else "segment size"),)


def _partial(write: StripeWrite, stripe: str) -> str:
    array = write.array
    size = format_bytes(write.end_bytes - write.start_bytes)
    covered = len(write.written_segments)
    whole = write.end_bytes - write.start_bytes == covered * array.segment_bytes
    cover = "covers" if whole else "touches"
    begun = f"A write of {size} {cover} {covered} of {array.data_disks} data segments of {stripe}"
    if write.method == "read-modify-write":
        parity = format_count(array.parity_disks, "parity segment")
        first = f"the old data of {format_count(covered, 'segment')} and {parity}"
    else:
        first = format_count(write.reads, "other data segment" if whole else "data segment")
    return f"{begun}, so the RAID reads {first} before it writes {write.writes} ({write.method})."


def _write_back_note(path: IoPath) -> str:
    if any(layer.kind == "volume" and layer.step.striping is path.array for layer in path.layers):
        return "MD's stripe cache avoids this where it can join writes to full stripes."
    return "A write-back cache avoids this where it can join requests to full stripes."


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def _alignment(path: IoPath) -> Iterator[Conclusion]:
    for layer in path.layers:
        if not layer.is_misaligned or layer.alignment_bytes is None:
            continue
        what = {"raid": "RAID stripe", "disk": "sector of the disk", "queue": "sector of the disk"}
        unit = "stripe" if layer.kind == "volume" else what.get(layer.kind, "boundary")
        if layer.kind == "disk" and any(layer.is_misaligned and layer.kind == "queue" for layer in path.layers):
            continue
        begin, boundary = format_bytes(layer.offset_bytes), format_bytes(layer.alignment_bytes)
        device = path.devices[0] if path.devices else "the file system"
        yield Conclusion(
            f"Files begin {begin} past a multiple of the {boundary} {unit}, because of where {device} begins: requests "
            "that are aligned in the file straddle two.",
            True,
            (Cause(layer.step.host, "start", areas=("file system",)),),
        )


def _geometry(path: IoPath) -> Iterator[Conclusion]:
    array = path.array
    if array is None or array.data_disks < 2:
        return
    known = path.file_system_stripe_bytes
    if known is not None and known != array.stripe_bytes:
        yield Conclusion(
            f"The file system lays files out for a stripe of {format_bytes(known)}, but the RAID has "
            f"{format_bytes(array.stripe_bytes)}.",
            True,
            tuple(
                Cause(cause.host, parameter, areas=("file system",))
                for cause in _of_array(path)
                for parameter in ("sunit", "stripe")
            ),
        )
    arrives = next((layer.arriving_bytes for layer in path.layers if layer.step.striping is array), 0)
    is_odd = arrives > array.stripe_bytes and arrives % array.stripe_bytes
    if path.first_split is None and array.parity_disks and is_odd:
        stripe = format_bytes(array.stripe_bytes)
        yield Conclusion(
            f"Requests of {format_bytes(arrives)} are no multiple of the {stripe} stripe.", True, _of_array(path)
        )


def _best(path: IoPath) -> Iterator[Conclusion]:
    for layer in path.layers:
        capacity, best = layer.step.capacity_bytes, layer.step.best_bytes
        if layer.kind != "adapter" or capacity is None or best is None or best <= capacity:
            continue
        if any(set(layer.step.limits) & set(path.causes(split)) for split in path.splits):
            yield Conclusion(
                f"Segments are counted as single pages, the worst case. Where memory is contiguous (huge pages, large "
                f"folios), {_layer_text(layer)} takes up to {format_about_bytes(best)}."
            )


def _kind(path: IoPath) -> str:
    return "reads" if path.transfer.operation == "read" else "requests"


_OF_STRIPES = ("chunk_size", "segment size")
"""Parameters of MD's and of controllers' arrays that decide which writes fill a stripe."""


def evidence(path: IoPath) -> dict[tuple[str, str], str]:
    """By host and parameter, in a sentence, what requests on the path suffer from the parameter's value."""
    causes = {limit for split in path.splits for limit in path.causes(split) or split.limits}
    limits = {
        (layer.step.host, limit.parameter): f"{limit.text} splits {_kind(path)} on the I/O path to {path.title}."
        for layer in path.layers
        for limit in layer.step.all_limits
        if limit in causes
    }
    limits |= {
        (layer.step.host, less.parameter): f"{less.text} keeps reads small on the I/O path to {path.title}."
        for layer in path.layers
        if (less := layer.step.joins_less) is not None
    }
    work = path.work
    if work is not None and work.array.parity_disks and work.full_stripes < work.stripe_writes:
        text = f"Writes on the I/O path to {path.title} cover parts of stripes, so the RAID reads before it writes."
        host = next(layer.step.host for layer in path.layers if layer.step.striping is path.array)
        limits |= {(host, parameter): text for parameter in _OF_STRIPES}
    for (host, parameter), text in list(limits.items()):
        if host == path.representative:
            limits |= {(alike, parameter): text for alike in path.alike_hosts}
    return limits
