"""The reports of agents on watched hosts, made up second by second."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from ioassay.store.watch_document import WatchDocument, WatchedHost
from ioassay.store.watched import Watch, WatchTables


class HostSecond(NamedTuple):
    """A second of a host with a disk `sda` and an interface `eth0`, in bytes; half of its processor time is busy."""

    host: str
    second: int
    read: int = 0
    write: int = 0
    received: int = 0
    sent: int = 0


def watched(hosts: Sequence[WatchedHost], seconds: Iterable[HostSecond]) -> Watch:
    """The watch of these hosts."""
    document = WatchDocument(hosts=list(hosts))
    roles = {host.name: host.role for host in hosts}
    rows = pl.DataFrame(list(seconds), schema=HostSecond._fields, orient="row")
    keys = rows.select("host", pl.col("host").replace_strict(roles, return_dtype=pl.String).alias("role"), "second")
    empty = Watch(document, lambda: WatchTables({}))

    def table(kind: str, name: str, **values: pl.Series | int) -> pl.DataFrame:
        """The documents of a kind, about `name`; what is not given is 0."""
        columns = {column: value if isinstance(value, pl.Series) else pl.lit(value) for column, value in values.items()}
        schema = empty.table(kind).schema
        documents = keys.with_columns(pl.lit(name).alias("name"), **columns)
        return documents.with_columns(
            pl.lit(0).alias(column) for column in schema if column not in documents.columns
        ).select(pl.col(column).cast(kind) for column, kind in schema.items())

    tables = {
        "disk": table("disk", "sda", read_bytes=rows["read"], write_bytes=rows["write"]),
        "network": table("network", "eth0", received_bytes=rows["received"], sent_bytes=rows["sent"]),
        "cpu": table("cpu", "", user_ns=10**9, idle_ns=10**9),
        "pressure": table("pressure", "memory", some_ns=10**8),
        "agent": table("agent", "", processor_ns=10**6),
    }
    return Watch(document, lambda: WatchTables(tables))
