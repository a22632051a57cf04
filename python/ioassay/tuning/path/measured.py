"""The sizes that requests had between two snapshots of a host, beside those that were computed.

A block device counts requests and bytes, so its mean is exact. Lustre counts RPCs in buckets of powers of two, so their
mean is an upper bound, at most twice the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from ioassay.errors import UsageError
from ioassay.text.units import format_about_bytes, format_bytes
from ioassay.tuning.path import counters
from ioassay.tuning.path.counters import BlockCounters, OperationCounters
from ioassay.tuning.path.model import IoPath, Kind, Layer, named
from ioassay.tuning.path.requests import PAGE_BYTES
from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system import System
from ioassay.tuning.system.lustre import Histogram, Pair, histograms, matching

_Count = TypeVar("_Count")

_AGREES = 0.1
"""A mean that differs by a smaller share of the computed size agrees with it."""

_SIZES = {"pages per rpc": PAGE_BYTES, "pages per bulk r/w": PAGE_BYTES, "disk I/O size": 1}
"""Histograms of sizes, and the bytes of their unit."""


@dataclass(frozen=True)
class Sizes:
    """How large requests of one kind were."""

    count: int
    mean_bytes: float | None
    """`None` where there were none."""
    is_upper_bound: bool = False
    histogram: Mapping[int, int] = field(default_factory=dict)
    """By the most bytes of a bucket, which begins above half of that, how many requests."""

    @property
    def text(self) -> str:
        """The mean: `512 KiB`, `at most 180 KiB`."""
        if self.mean_bytes is None:
            return "none"
        return f"{'at most ' if self.is_upper_bound else ''}{_size(self.mean_bytes)}"


@dataclass(frozen=True)
class MeasuredLayer:
    """The counters of one layer of one host: of a device, a target or a mount."""

    host: str
    kind: Kind
    subject: str
    source: str
    reads: Sizes
    writes: Sizes
    others: Mapping[str, Histogram] = field(default_factory=dict)
    """Further histograms by their titles: `rpcs in flight`, `disk fragmented I/Os`."""


@dataclass(frozen=True)
class DeviceActivity:
    """The requests and times of a block device."""

    name: str
    counted: BlockCounters
    elapsed_s: float

    def mean_bytes(self, operation: int) -> float | None:
        """The mean request of reads (0) or writes (1); `None` where there were none."""
        return self.counted.bytes[operation] / self.counted.ios[operation] if self.counted.ios[operation] else None

    def merged_share(self, operation: int) -> float | None:
        """The share of arrivals at the queue that were merged with others."""
        total = self.counted.ios[operation] + self.counted.merges[operation]
        return self.counted.merges[operation] / total if total else None

    def per_s(self, amounts: Pair) -> float:
        """Reads and writes together, for each second."""
        return sum(amounts) / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def utilisation(self) -> float:
        """The share of time in which requests were in flight."""
        return min(1.0, self.counted.busy_ms / 1e3 / self.elapsed_s) if self.elapsed_s else 0.0

    @property
    def queue_depth(self) -> float:
        """The mean number of requests in flight."""
        return self.counted.queue_ms / 1e3 / self.elapsed_s if self.elapsed_s else 0.0

    def mean_wait_ns(self, operation: int) -> float | None:
        """The mean time of a request from its arrival at the queue to its end."""
        ios = self.counted.ios[operation]
        return self.counted.wait_ms[operation] * 1e6 / ios if ios else None


@dataclass(frozen=True)
class MeasuredHost:
    """The counters of a host between two snapshots."""

    host: str
    elapsed_s: float
    layers: tuple[MeasuredLayer, ...]
    devices: tuple[DeviceActivity, ...]
    """The devices that were active."""
    problems: tuple[str, ...]
    """Counters that could not be compared, in sentences."""


def between(before: Snapshot, after: Snapshot) -> MeasuredHost:
    """The counters between two snapshots of one host. Raises `UsageError` where they are not such a pair."""
    remedy = "Give two snapshots of one host, the one before the workload first."
    if before.host != after.host:
        raise UsageError(f"The snapshots are of different hosts: {before.host} and {after.host}.", remedy)
    elapsed_s = (after.taken - before.taken).total_seconds()
    if elapsed_s < 0:
        raise UsageError(f"The second snapshot of {after.host} was taken before the first.", remedy)
    if before.boot_id != after.boot_id:
        text = f"{after.host} was rebooted between the snapshots, which reset its counters; capture again."
        return MeasuredHost(after.host, elapsed_s, (), (), (text,))
    problems: list[str] = []
    pair = System(before), System(after)
    devices = list(_devices(*pair, elapsed_s, problems))
    layers = [*_calls(*pair, problems), *_rpcs(*pair, problems), *_bulks(*pair, problems), *_nfs(*pair, problems)]
    layers += [_of_device(after.host, device) for device in devices]
    return MeasuredHost(after.host, elapsed_s, tuple(layers), tuple(devices), tuple(problems))


def _devices(before: System, after: System, elapsed_s: float, problems: list[str]) -> Iterator[DeviceActivity]:
    gone = [name for name in before.devices if name not in after.devices]
    come = [name for name in after.devices if name not in before.devices]
    host = after.host
    if gone:
        problems.append(f"{named(gone)} {_was_or_were(gone)} no longer on {host} when the workload had run.")
    if come:
        problems.append(f"{named(come)} {_was_or_were(come)} not yet on {host} before the workload ran.")
    for name, device in after.devices.items():
        if name not in before.devices:
            continue
        try:
            texts = before.devices[name].text("stat"), device.text("stat")
        except Unreadable as error:
            problems.append(f"{error.what} could not be read: {error.reason}.")
            continue
        first, last = (counters.block_counters(text or "") for text in texts)
        if first is None or last is None:
            continue
        change = last.since(first)
        if change is None:
            problems.append(_reset(name, host))
        elif any(change.ios):
            yield DeviceActivity(name, change, elapsed_s)


def _was_or_were(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _reset(what: str, host: str) -> str:
    return f"The counters of {what} on {host} were reset between the snapshots; they were left out."


def _of_device(host: str, device: DeviceActivity) -> MeasuredLayer:
    reads, writes = (Sizes(device.counted.ios[index], device.mean_bytes(index)) for index in (0, 1))
    return MeasuredLayer(host, "queue", device.name, f"/sys/block/{device.name}/stat", reads, writes)


def _in_both(before: System, after: System, pattern: str) -> Iterator[tuple[str, str, str]]:
    """Parameters of Lustre that both snapshots have: name, text before, text after."""
    known = matching(before.lustre, pattern)
    for name, text in matching(after.lustre, pattern).items():
        if name in known:
            yield name, known[name], text


def _calls(before: System, after: System, problems: list[str]) -> Iterator[MeasuredLayer]:
    for name, *texts in _in_both(before, after, "llite.*.stats"):
        first, last = map(counters.lustre_calls, texts)
        if first is not None and last is not None:
            yield from _operations(last.since(first), after.host, "application", name, source=name, problems=problems)


def _operations(
    change: OperationCounters | None, host: str, kind: Kind, subject: str, *, source: str, problems: list[str]
) -> Iterator[MeasuredLayer]:
    if change is None:
        problems.append(_reset(subject, host))
    elif any(change.count):
        reads, writes = (
            Sizes(count, size / count if count else None)
            for count, size in zip(change.count, change.bytes, strict=True)
        )
        yield MeasuredLayer(host, kind, subject, source, reads, writes)


def _rpcs(before: System, after: System, problems: list[str]) -> Iterator[MeasuredLayer]:
    for name, *texts in _in_both(before, after, "osc.*.rpc_stats"):
        yield from _lustre(name, texts, "rpc", "pages per rpc", host=after.host, problems=problems)


def _bulks(before: System, after: System, problems: list[str]) -> Iterator[MeasuredLayer]:
    seen = set()
    for pattern in ("osd-*.*.brw_stats", "obdfilter.*.brw_stats"):
        for name, *texts in _in_both(before, after, pattern):
            target = name.split(".")[1]
            if target not in seen:  # the older name leads to the same
                seen.add(target)
                yield from _lustre(name, texts, "server", "pages per bulk r/w", host=after.host, problems=problems)
                yield from _lustre(name, texts, "file system", "disk I/O size", host=after.host, problems=[])


def _lustre(
    name: str, texts: Sequence[str], kind: Kind, title: str, *, host: str, problems: list[str]
) -> Iterator[MeasuredLayer]:
    """A layer from histograms, that of `title` being the one of its sizes."""
    first, last = map(histograms, texts)
    target = name.split(".")[1]
    changes = {
        name_of_histogram: counters.histogram_since(known, first.get(name_of_histogram, {}))
        for name_of_histogram, known in last.items()
    }
    change = changes.get(title, {})
    if change is None:
        problems.append(_reset(target, host))
    elif change:
        reads, writes = (
            _estimated({bucket * _SIZES[title]: pair[of] for bucket, pair in change.items()}) for of in (0, 1)
        )
        others = {
            name_of_histogram: known
            for name_of_histogram, known in changes.items()
            if name_of_histogram not in _SIZES and known
        }
        yield MeasuredLayer(host, kind, target, f"lctl get_param {name}", reads, writes, others)


def _estimated(buckets: Mapping[int, int]) -> Sizes:
    filled = {most: count for most, count in buckets.items() if count}
    total = sum(filled.values())
    mean = sum(most * count for most, count in filled.items()) / total if total else None
    return Sizes(total, mean, True, filled)


def _nfs(before: System, after: System, problems: list[str]) -> Iterator[MeasuredLayer]:
    try:
        texts = [system.snapshot.text("proc/self/mountstats") or "" for system in (before, after)]
        mounts = {mount.point: mount for mount in after.mounts if mount.is_nfs}
    except Unreadable as error:
        problems.append(f"{error.what} could not be read: {error.reason}.")
        return
    for point, mount in mounts.items():
        first, last = (counters.nfs_counters(text, point) for text in texts)
        if first is None or last is None:
            if first is not last:
                problems.append(f"{point} was not mounted in both snapshots of {after.host}.")
            continue
        change = last.operations.since(first.operations) if last.age_s >= first.age_s else None
        yield from _operations(
            change, after.host, "rpc", mount.source, source="/proc/self/mountstats", problems=problems
        )


Agreement = Literal["as computed", "smaller", "larger", "nothing"]


@dataclass(frozen=True)
class Comparison:
    """The measured requests of a layer of a path, beside the computed ones."""

    layer: Layer
    least_bytes: int
    """The computed size. Of what a file system submits, a kernel may count the pieces that its device takes."""
    computed_bytes: int
    sizes: Sizes
    subjects: tuple[str, ...]
    source: str
    others: Mapping[str, Histogram]

    @property
    def agreement(self) -> Agreement:
        """Whether the mean is what was computed, by `_AGREES`."""
        if self.sizes.mean_bytes is None:
            return "nothing"
        if self.sizes.mean_bytes < self.least_bytes * (1 - _AGREES):
            return "smaller"
        return "larger" if self.sizes.mean_bytes > self.computed_bytes * (1 + _AGREES) else "as computed"

    @property
    def computed_text(self) -> str:
        """The computed size: `1 MiB`, `512 KiB to 1 MiB`."""
        return " to ".join(map(_size, sorted({self.least_bytes, self.computed_bytes})))


def compared(path: IoPath, measured: Iterable[MeasuredHost]) -> list[Comparison]:
    """The measured layers of a path, in its order, with their computed sizes; without layers that nothing counts."""
    known = [layer for host in measured if host.host in path.hosts for layer in host.layers]
    comparisons = []
    for layer in path.layers:
        layers = [measured_layer for measured_layer in known if _is_of_layer(measured_layer, layer, path)]
        if layers:
            write = path.transfer.operation == "write"
            total = _total([layer.writes if write else layer.reads for layer in layers])
            names = tuple(dict.fromkeys(layer.subject for layer in layers))
            others = {
                title: _sum([layer.others[title] for layer in layers if title in layer.others])
                for title in _titles(layers)
            }
            least = _mean(_dispatching(path)) if layer.kind == "file system" else _mean(layer)
            comparisons.append(
                Comparison(layer, min(least, _mean(layer)), _mean(layer), total, names, layers[0].source, others)
            )
    return comparisons


def _dispatching(path: IoPath) -> Layer:
    """The last layer above the disk, whose requests its device counts."""
    return next(layer for layer in reversed(path.layers) if layer.kind not in ("raid", "disk"))


def _mean(layer: Layer) -> int:
    """The mean of the computed requests: what remains of a split counts as well."""
    return sum(request.size_bytes for request in layer.requests) // max(1, len(layer.requests))


def _titles(layers: Sequence[MeasuredLayer]) -> list[str]:
    return list(dict.fromkeys(title for layer in layers for title in layer.others))


def _is_of_layer(measured_layer: MeasuredLayer, layer: Layer, path: IoPath) -> bool:
    """Whether a measurement is of a layer of a path, or of one that is alike."""
    if layer.kind in ("application", "rpc") and measured_layer.kind == layer.kind:
        return measured_layer.host == path.hosts[0] and (layer.kind == "rpc" or _is_of_mount(measured_layer, path))
    if measured_layer.kind != "queue" or measured_layer.host != path.hosts[-1]:
        is_target = measured_layer.kind == layer.kind and measured_layer.kind in ("server", "file system")
        return is_target and measured_layer.host == layer.step.host and measured_layer.subject in path.targets
    if layer is _dispatching(path):
        return measured_layer.subject in path.disks
    return layer.kind == "volume" and measured_layer.subject in path.volumes(layer)


def _is_of_mount(measured_layer: MeasuredLayer, path: IoPath) -> bool:
    rpc = next((layer for layer in path.layers if layer.kind == "rpc"), None)
    file_system = (
        measured_layer.subject.split(".")[1].rpartition("-")[0]
        if "." in measured_layer.subject
        else measured_layer.subject
    )
    return rpc is not None and rpc.subject.startswith(file_system)


def _total(several: Sequence[Sizes]) -> Sizes:
    count = sum(sizes.count for sizes in several)
    total = sum(sizes.count * sizes.mean_bytes for sizes in several if sizes.mean_bytes is not None)
    histogram = _summed([sizes.histogram for sizes in several], lambda left, right: left + right, 0)
    return Sizes(count, total / count if count else None, any(sizes.is_upper_bound for sizes in several), histogram)


def _sum(several: Sequence[Histogram]) -> dict[int, Pair]:
    return _summed(several, lambda left, right: (left[0] + right[0], left[1] + right[1]), (0, 0))


def _summed(
    several: Sequence[Mapping[int, _Count]], add: Callable[[_Count, _Count], _Count], nothing: _Count
) -> dict[int, _Count]:
    counts: dict[int, _Count] = {}
    for counts_of_layer in several:
        for bucket, value in counts_of_layer.items():
            counts[bucket] = add(counts.get(bucket, nothing), value)
    return dict(sorted(counts.items()))


def verdicts(path: IoPath, comparisons: Sequence[Comparison]) -> list[str]:
    """Where measured and computed sizes differ, and what that means, in sentences."""
    operation = path.transfer.operation
    sentences = []
    for index, comparison in enumerate(comparisons):
        if comparison.layer.kind == "application":
            continue
        what = f"{_requests(comparison, operation)} averaged {comparison.sizes.text}"
        match comparison.agreement:
            case "nothing":
                sentences.append(f"{_requests(comparison, operation)} were not counted.")
            case "as computed":
                sentences.append(f"{what}, as computed ({comparison.computed_text}).")
            case "smaller":
                above = next((other for other in reversed(comparisons[:index]) if other.agreement == "smaller"), None)
                cause = (
                    f"they already arrive small from the {above.layer.name}"
                    if above is not None and above.layer.kind != "application"
                    else "the workload's transfers or missing merges keep them small"
                )
                sentences.append(
                    f"{what}, although the settings allow {comparison.computed_text}: "
                    f"{cause}, not this layer's settings."
                )
            case "larger":
                sentences.append(
                    f"{what}, more than the {comparison.computed_text} computed for the worst case: "
                    "memory was contiguous, or neighbouring requests were merged."
                )
        sentences += _fragments(comparison, operation)
    return sentences


def _requests(comparison: Comparison, operation: str) -> str:
    return f"{comparison.layer.title}: {operation} requests of {named(comparison.subjects)}"


def _fragments(comparison: Comparison, operation: str) -> Iterator[str]:
    """Only of a Lustre server: how many RPCs became several disk I/Os."""
    counted = comparison.others.get("disk fragmented I/Os")
    if comparison.layer.kind != "server" or not counted:
        return
    side = operation == "write"
    total = sum(pair[side] for pair in counted.values())
    split = sum(pair[side] for fragments, pair in counted.items() if fragments > 1)
    if total and split:
        rpcs = f"{total:,} {operation} RPC{'s' if total != 1 else ''}"
        yield f"{comparison.layer.title}: {100 * split / total:.0f} % of {rpcs} became several disk I/Os."


def _size(size_bytes: float) -> str:
    return format_bytes(int(size_bytes)) if size_bytes % 1024 == 0 else format_about_bytes(size_bytes)
