"""The hosts of a run, second by second: bytes of their disks and links, load of their processors and memory."""

from __future__ import annotations

from typing import Final

import polars as pl

from ioassay.analysis.watch import devices
from ioassay.store.watched import Watch

AMOUNTS: Final = ("disk_read_bytes", "disk_write_bytes", "received_bytes", "sent_bytes")
"""Columns with bytes of a second."""

SHARES: Final = ("processor_busy", "memory_pressure")
"""Columns with shares of a second, 0 to 1: busy time of all processors; time in which a task waited for memory."""

_BUSY: Final = ("user_ns", "nice_ns", "system_ns", "interrupt_ns", "steal_ns")
_IDLE: Final = ("idle_ns", "iowait_ns")


def counted(watch: Watch) -> dict[str, tuple[list[str], list[str]]]:
    """By host: the block devices and the interfaces (or ports of InfiniBand) that are counted."""
    seen_disks, seen_interfaces, ports = (_names(watch, kind) for kind in ("disk", "network", "infiniband"))
    return {
        host.name: (
            devices.disks(seen_disks.get(host.name, ()), host.devices),
            [
                *devices.interfaces(seen_interfaces.get(host.name, ()), has_infiniband=host.name in ports),
                *ports.get(host.name, ()),
            ],
        )
        for host in watch.document.hosts
        if host.role != "control"
    }


def seconds(watch: Watch) -> pl.DataFrame:
    """A row for each host and second that it reported: host, role, second, `AMOUNTS` and `SHARES`; null: not known."""
    names = counted(watch)
    disks = _counted_only(watch.table("disk"), {host: devices for host, (devices, _) in names.items()})
    links = {host: interfaces for host, (_, interfaces) in names.items()}
    network = pl.concat(
        _counted_only(watch.table(kind), links).select("host", "second", "received_bytes", "sent_bytes")
        for kind in ("network", "infiniband")
    )
    processors = watch.table("cpu").with_columns(
        pl.sum_horizontal(_BUSY).alias("busy"), pl.sum_horizontal(*_BUSY, *_IDLE).alias("all")
    )
    pressure = watch.table("pressure").filter(pl.col("name") == "memory")
    # An agent reports itself every second, whatever else its kernel provides.
    every = watch.table("agent").filter(pl.col("role") != "control").select("host", "role", "second").unique()
    parts = [
        disks.group_by("host", "second").agg(
            pl.col("read_bytes").sum().alias("disk_read_bytes"), pl.col("write_bytes").sum().alias("disk_write_bytes")
        ),
        network.group_by("host", "second").agg(pl.col("received_bytes", "sent_bytes").sum()),
        processors.filter(pl.col("all") > 0)
        .group_by("host", "second")
        .agg((pl.col("busy").sum() / pl.col("all").sum()).alias("processor_busy")),
        pressure.group_by("host", "second").agg(
            pl.min_horizontal(pl.col("some_ns").max() / 1e9, 1.0).alias("memory_pressure")
        ),
    ]
    for part in parts:
        every = every.join(part, on=["host", "second"], how="left")
    return every.select("host", "role", "second", *AMOUNTS, *SHARES).sort("host", "second")


def _names(watch: Watch, kind: str) -> dict[str, list[str]]:
    table = watch.table(kind).select("host", "name").unique().sort("host", "name")
    names: dict[str, list[str]] = {}
    for host, name in table.iter_rows():
        names.setdefault(host, []).append(name)
    return names


def _counted_only(table: pl.DataFrame, names: dict[str, list[str]]) -> pl.DataFrame:
    pairs = [(host, name) for host, devices in names.items() for name in devices]
    wanted = pl.DataFrame(pairs, schema={"host": pl.String, "name": pl.String}, orient="row")
    return table.join(wanted, on=["host", "name"], how="semi")
