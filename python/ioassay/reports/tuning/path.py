"""The path of an I/O as sections of a document: a picture, a table of layers, conclusions, measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Figure,
    Notes,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    numbers,
)
from ioassay.reports.tuning import path_text
from ioassay.text import format as shown
from ioassay.text.slugs import slug, unique
from ioassay.text.units import format_bytes
from ioassay.tuning.outcomes import Outcome
from ioassay.tuning.path.conclusions import Conclusion, conclusions
from ioassay.tuning.path.measured import Comparison, DeviceActivity, MeasuredHost, compared, verdicts
from ioassay.tuning.path.model import IoPath, Layer, sizes
from ioassay.tuning.path.rows import rows

_MOST = 16 << 20
"""Limits above this hold nothing back and are left out of the table."""
_WIDE = 140
"""Columns of a terminal on which the table breaks no path."""
_SOURCE = re.compile(
    r"/sys/(?:block|class/scsi_host)/([^/]+)/(?:\w+/)?(\w+)|lctl get_param [\w-]+\.(.+-OST[0-9a-f]{4})[^.]*\.(\w+)"
)
"""Files and parameters that belong to a device, an adapter or a target."""


def sections(
    paths: Sequence[IoPath],
    measured: Sequence[MeasuredHost] = (),
    outcome: Callable[[Conclusion], Outcome] | None = None,
    *,
    with_figures: bool,
    columns: int | None = None,
) -> list[Section]:
    """A section for each path, and one for what the hosts' devices did between the snapshots, if that was measured.

    `outcome`: the resolution of a problem. `with_figures`: for a page; a terminal and Markdown show lines of text
    instead. `columns`: those of the terminal.
    """
    taken: set[str] = set()
    path_sections = [
        _path(
            path,
            measured,
            name,
            unique(f"io-path-{slug(name, 'device')}", taken),
            columns=columns,
            outcome=outcome,
            with_figures=with_figures,
        )
        for path, name in zip(paths, _names(paths), strict=True)
    ]
    return [*path_sections, *(_devices(host) for host in measured)]


def _names(paths: Sequence[IoPath]) -> list[str]:
    """The device at the end of each path; its disks where several paths lead to the same device."""
    has_both = len({path.transfer.operation for path in paths}) > 1
    titles = [f"{path.title}, {path.transfer.operation}s" if has_both else path.title for path in paths]
    return [
        f"{title} through {', '.join(path.disks)}" if titles.count(title) > 1 else title
        for path, title in zip(paths, titles, strict=True)
    ]


def _path(
    path: IoPath,
    measured: Sequence[MeasuredHost],
    name: str,
    identifier: str,
    *,
    columns: int | None,
    outcome: Callable[[Conclusion], Outcome] | None,
    with_figures: bool,
) -> Section:
    comparisons = compared(path, measured)
    drawn = rows(path, comparisons)
    picture = None
    if with_figures:
        from ioassay.figures import io_path  # noqa: PLC0415

        picture = io_path.picture(drawn, identifier, f"Requests on their way to {name}")
    blocks: list[Block] = [
        *([Paragraph(path.assumption)] if path.assumption else []),
        Figure(picture, path_text.text(drawn, columns or path_text.COLUMNS)),
        Bullets([_conclusion(conclusion, outcome) for conclusion in conclusions(path)]),
        _layers(path, comparisons, is_narrow=columns is not None and columns < _WIDE),
        Bullets(verdicts(path, comparisons)),
        *_histograms(comparisons),
        Notes(path.unknown),
    ]
    return Section(f"I/O path to {name}", blocks, anchor=identifier)


def _conclusion(conclusion: Conclusion, outcome: Callable[[Conclusion], Outcome] | None) -> Text:
    if not conclusion.is_problem:
        return conclusion.text
    return (Span(conclusion.text, "warning"), *([f" {outcome(conclusion).text}"] if outcome is not None else []))


def _layers(path: IoPath, comparisons: Sequence[Comparison], *, is_narrow: bool) -> Table:
    known = {id(comparison.layer): comparison for comparison in comparisons}
    has_measured = bool(comparisons)
    head = [Column("Layer", wraps=False), Column("Device"), Column("Requests"), Column("Limit")]
    return Table(
        [*head, *([Column("Measured")] if has_measured else [])],
        [
            [
                layer.name,
                layer.subject,
                _requests(layer),
                _limit(layer, is_narrow=is_narrow),
                *([_measured(known.get(id(layer)))] if has_measured else []),
            ]
            for layer in path.layers
        ],
        caption=f"Sizes of {path.transfer.operation} requests that leave each layer, and the limits that they meet",
        density="dense",
    )


def _requests(layer: Layer) -> Text:
    size = sizes(layer.requests)
    text = Span(size, "warning") if layer.is_split else size
    if not layer.is_misaligned:
        return text
    return (text, Span(f"misaligned by {format_bytes(layer.offset_bytes)}", "below"))


def _limit(layer: Layer, *, is_narrow: bool) -> Text:
    """The limits of a layer with their sources; those that split are marked."""
    shown_source = _short if is_narrow else str
    limits = sorted(
        (limit for limit in layer.step.all_limits if limit.size_bytes <= _MOST), key=lambda limit: limit.size_bytes
    )
    if layer.step.striping is not None:
        return (layer.step.striping.text, Span(shown_source(layer.step.alignment_source), "below"))
    if not limits:
        return shown.ABSENT
    parts: list[str | Span] = []
    for limit in limits:
        text = f"{limit.text} ({format_bytes(limit.size_bytes)})" if limit.value.isdigit() else limit.text
        parts += ["; " if parts else "", Span(text, "strong") if limit is layer.limit else text]
    sources = dict.fromkeys(shown_source(limit.source) for limit in limits)
    if is_narrow:
        for limit in limits:
            sources.pop(f"{layer.subject} {limit.parameter}", None)  # The row says both already.
    return (*parts, *([Span(", ".join(sources), "below")] if sources else []))


def _short(source: str) -> str:
    """`sdb max_sectors_kb` for `/sys/block/sdb/queue/max_sectors_kb`, which a narrow table would break."""
    match = _SOURCE.fullmatch(source)
    return " ".join(filter(None, match.groups())) if match else source


def _measured(comparison: Comparison | None) -> Text:
    if comparison is None or not comparison.sizes.count:
        return shown.ABSENT
    return (comparison.sizes.text, Span(f"{shown.count(comparison.sizes.count, 'request')}", "below"))


def _histograms(comparisons: Sequence[Comparison]) -> Iterator[Table]:
    for comparison in comparisons:
        if not comparison.sizes.histogram:
            continue
        total = sum(comparison.sizes.histogram.values())
        yield Table(
            [Column("Size"), *numbers("Requests", "Share")],
            [
                [f"up to {format_bytes(size)}", shown.count(count), shown.share(count / total)]
                for size, count in comparison.sizes.histogram.items()
            ],
            title=f"Sizes measured: {comparison.layer.name}",
        )


def _devices(measured: MeasuredHost) -> Section:
    columns = [
        Column("Device"),
        *numbers("IOPS", "MB/s", "Mean read", "Mean write", "Merged writes", "Busy", "Queue depth", "Wait, read"),
        *numbers("Wait, write"),
    ]
    table = Table(
        columns,
        [_device(device) for device in measured.devices],
        caption=f"Block devices of {measured.host} while the workload ran",
        density="dense",
    )
    basis = f"Counted over {shown.duration(measured.elapsed_s * 1e9)} on {measured.host}."
    blocks: list[Block] = [Paragraph(basis), table, Notes(measured.problems)]
    return Section(f"Measured on {measured.host}", blocks, anchor=f"measured-{slug(measured.host, 'host')}")


def _device(device_activity: DeviceActivity) -> list[Text]:
    return [
        device_activity.name,
        shown.significant(device_activity.per_s(device_activity.counted.ios)),
        shown.significant(device_activity.per_s(device_activity.counted.bytes) / 1e6),
        shown.size(device_activity.mean_bytes(0)),
        shown.size(device_activity.mean_bytes(1)),
        shown.share(device_activity.merged_share(1)),
        shown.share(device_activity.utilisation),
        shown.significant(device_activity.queue_depth),
        shown.duration(device_activity.mean_wait_ns(0)),
        shown.duration(device_activity.mean_wait_ns(1)),
    ]


def data(
    paths: Sequence[IoPath],
    measured: Sequence[MeasuredHost] = (),
    outcome: Callable[[Conclusion], Outcome] | None = None,
) -> list[dict[str, Any]]:
    """The paths for JSON, sizes in bytes."""
    return [_data(path, compared(path, measured), measured, outcome) for path in paths]


def _data(
    path: IoPath,
    comparisons: Sequence[Comparison],
    measured: Sequence[MeasuredHost],
    outcome: Callable[[Conclusion], Outcome] | None,
) -> dict[str, Any]:
    known = {id(comparison.layer): comparison for comparison in comparisons}
    work = path.work
    return {
        "hosts": list(path.hosts),
        "alike_hosts": list(path.alike_hosts),
        "devices": list(path.devices),
        "operation": path.transfer.operation,
        "reads_alike": path.reads_alike,
        "transfer_bytes": path.transfer_bytes,
        "transfer_is_assumed": bool(path.assumption),
        "layers": [_layer_data(layer, known.get(id(layer))) for layer in path.layers],
        "raid": None
        if work is None
        else {
            "data_disks": work.array.data_disks,
            "parity_disks": work.array.parity_disks,
            "segment_bytes": work.array.segment_bytes,
            "full_stripe_share": work.full_stripe_share,
            "disk_ios": work.disk_ios,
            "least_disk_ios": work.least_disk_ios,
            "amplification": work.amplification,
            "least_amplification": work.least_amplification,
        },
        "conclusions": [_conclusion_data(conclusion, outcome) for conclusion in conclusions(path)],
        "verdicts": verdicts(path, comparisons),
        "unknown": [*path.unknown, *(text for host in measured if host.host in path.hosts for text in host.problems)],
    }


def _conclusion_data(conclusion: Conclusion, outcome: Callable[[Conclusion], Outcome] | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": conclusion.text, "is_problem": conclusion.is_problem}
    if conclusion.is_problem and outcome is not None:
        result = outcome(conclusion)
        fields |= {"outcome": result.kind, "rules": list(result.rules), "reason": result.text}
    return fields


def _layer_data(layer: Layer, comparison: Comparison | None) -> dict[str, Any]:
    return {
        "kind": layer.kind,
        "name": layer.name,
        "subject": layer.subject,
        "host": layer.step.host or None,
        "request_bytes": layer.request_bytes,
        "requests": len(layer.requests),
        "source": layer.source,
        "split_into": layer.split_into,
        "is_split": layer.is_split,
        "limits": [
            {"parameter": limit.parameter, "value": limit.value, "bytes": limit.size_bytes, "source": limit.source}
            for limit in layer.step.all_limits
        ],
        "alignment_bytes": layer.alignment_bytes,
        "misaligned_by_bytes": layer.offset_bytes,
        "note": layer.note,
        "measured": None
        if comparison is None
        else {
            "count": comparison.sizes.count,
            "mean_bytes": comparison.sizes.mean_bytes,
            "is_upper_bound": comparison.sizes.is_upper_bound,
            "histogram": {str(size): count for size, count in comparison.sizes.histogram.items()},
            "agreement": comparison.agreement,
            "source": comparison.source,
        },
    }
