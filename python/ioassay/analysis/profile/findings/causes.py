"""Which finding the requests on a file belong to: one cause, one finding.

The same requests can be small, and random, and misaligned, and read again. Each of these has a rule, but only one of
them is what to change; changing it fixes the others, or makes them irrelevant:

    synchronous writes        wait for the storage, whatever their size and order
    synced one by one         so do small writes that fsync follows
    data read again           most of what is read was read before: not reading it saves all of that
    the same data             likewise, of several processes
    no collective MPI-IO      ranks make small, jumping requests in a file that they share
    random access             no buffer gathers requests that jump about in a large file
    misaligned whole blocks   what stands before them is to blame; in a buffer they stay misaligned
    small files               nothing larger can be asked of them
    small requests            a buffer gathers them, which aligns them, too; few small files are no cause
    misaligned                what is left

In this order, the files that satisfy a rule belong to it if all of them together exceed its limits, and else are left
for the rules after it. What else is true of them are symptoms. Files of start-up take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ioassay.analysis.profile.thresholds import Threshold
from ioassay.analysis.profile.totals import REQUESTS, STREAMED, known_sum
from ioassay.profiles.model import MPI_TRANSFERS, Direction
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.analysis.profile.findings.profile_facts import ProfileFacts

SYNCHRONOUS = 0o10000
"""O_DSYNC, which O_SYNC includes: each write waits until its bytes are on stable storage."""

WHOLE = 0.9
"""A process reads the same as the others where it reads at least this share of what all of them touch."""

_MOSTLY_AGAIN = 0.5
"""Reading again is the cause from this share of the bytes read from a file."""

_REQUESTS_AT_A_TIME = 8
"""A small file is moved with no more requests than this each time it is opened, or they are small themselves."""

_WRITES_OF_A_SYNC = 4
"""Writes belong to the syncs of their file where there are no more of them for each."""


@dataclass(frozen=True)
class Symptom:
    """What else is true of the requests of a finding. A finding of its own would name them a second time."""

    kind: str
    """That of the finding that it would be."""
    count: int
    """Of requests; of `redundant-reads` bytes; of `same-data` the processes that read."""
    of: int
    """Requests; of `redundant-reads` bytes; of `same-data` files."""
    thresholds: tuple[Threshold, ...]
    """Those that were exceeded."""
    limit_bytes: float | None = None
    """What requests are smaller than, or begin at no multiple of."""

    @property
    def sentence(self) -> str:
        """What it adds to the details of the finding."""
        share, limit = format.share(self.count / self.of), format.size(self.limit_bytes)
        match self.kind:
            case "small-requests":
                return f"{share} of these requests are smaller than {limit}."
            case "random-access":
                return f"{share} of these requests go back in their file."
            case "misaligned":
                return f"{share} of these requests do not begin at a multiple of {limit}."
            case "redundant-reads":
                again, every = format.size(self.count), format.size(self.of)
                return f"{again} of {every} were read again by the process that had read them."
            case "same-data":
                processes = format.count(self.count, "process", "processes")
                return f"{processes} read {'the file' if self.of == 1 else format.count(self.of, 'file')} whole."
        raise TypeError(f"no sentence for the symptom {self.kind}")


_ASKED = ("calls", "small")
"""Of a stream on a small file, what it asks of the file system."""

Causes = Mapping[tuple[str, str], pl.DataFrame]
"""By kind of finding and direction: the rows of `requests` that belong to it."""

_Exceeds = Callable[[pl.DataFrame], bool]


def causes(facts: ProfileFacts) -> Causes:
    """The requests of each kind of finding that has any."""
    found: dict[tuple[str, str], pl.DataFrame] = {}
    for direction in REQUESTS:
        rows = facts.requests(direction)
        for kind, is_own, exceeds in _rules(facts, direction, rows):
            own = rows.filter(is_own)
            if not own.is_empty() and exceeds(own):
                before = found.get((kind, direction), own.clear())
                found[kind, direction] = pl.concat([before, own])
                rows = rows.join(own.select("file"), on="file", how="anti", maintain_order="left")
    return found


def requests(facts: ProfileFacts, direction: Direction) -> pl.DataFrame:
    """Each of the application's files that it moved bytes to or from, with its requests in a direction (`calls`, of
    which `small`, `random`, `misaligned`; those that found the end of a file are none), and with what rules ask. Of
    streams, whose buffers gather what is asked, small files only: one small request each time that they are opened.

    Where a source does not know how many requests are so, there is null.
    """
    names = REQUESTS[direction]
    key = ["file", "operation"]
    profile = facts.profile
    limit = facts.thresholds.limit("small_request_bytes", direction).value
    sizes = profile.file_sizes.join(facts.data.filter(pl.col("operation").is_in(names)).select(key), on=key, how="semi")
    is_empty = pl.col("end_bytes").is_not_null() & (pl.col("end_bytes") <= 1)
    # Sizes of other sources may end with the limit itself.
    is_small = ~is_empty & (pl.col("begin_bytes") < limit) & (pl.col("end_bytes") <= limit + 1)
    counted = sizes.group_by(key).agg(
        empty=pl.col("calls").filter(is_empty).sum(),
        small=pl.col("calls").filter(is_small.fill_null(False)).sum(),
    )
    in_order = pl.col("consecutive") + pl.col("forward")
    # The first request after each open goes back nowhere.
    first = pl.max_horizontal(pl.col("processes").fill_null(1), "opens")
    whole = profile.common_sizes.filter(pl.col("operation").is_in(names), pl.col("bytes") > 0)
    is_stream = pl.col("operation") == STREAMED[direction]
    own = (
        facts.data.filter(
            pl.col("operation").is_in(names) | (is_stream & (pl.col("end_bytes") <= limit)), pl.col("calls") > 0
        )
        .join(counted, on=key, how="left")
        .join(facts.opens, on="file", how="left")
        .with_columns(pl.col("opens").fill_null(0))
        .with_columns(
            random=(pl.col("calls") - pl.col("failed").fill_null(0) - in_order - first).clip(0),
            calls=(pl.col("calls") - pl.col("empty").fill_null(0)).clip(0),
            known_misaligned=pl.when(pl.col("block_bytes").is_not_null()).then("misaligned"),
        )
        .with_columns(
            *(
                pl.when(is_stream).then(pl.min_horizontal("calls", first)).otherwise(name).alias(name)
                for name in _ASKED
            ),
            *(pl.when(is_stream.not_()).then(name).alias(name) for name in ("consecutive", "known_misaligned")),
            random=pl.when(is_stream).then(0).otherwise("random"),
        )
    )
    rows = own.group_by("file", maintain_order=True).agg(
        pl.col("calls").sum(),
        *map(known_sum, ("bytes", "duration_ns", "small", "random", "consecutive")),
        known_sum("known_misaligned").alias("misaligned"),
        pl.col("block_bytes").first(),
        pl.col("opens").first(),
        processes=pl.col("processes").max().fill_null(pl.col("users").max()),
        extent_bytes=pl.col("end_bytes").max() - pl.col("begin_bytes").fill_null(0).min(),
        end_bytes=pl.col("end_bytes").max(),
        is_streamed=is_stream.all(),
    )
    blocks = (
        whole.join(rows.select("file", "block_bytes"), on="file")
        .filter(pl.col("bytes") % pl.col("block_bytes") == 0)
        .group_by("file")
        .agg(whole_blocks=pl.col("calls").sum())
    )
    of_file = profile.files.select("file", "size_at_open_bytes", "open_flags", "metadata_ns")
    size = pl.max_horizontal("end_bytes", "size_at_open_bytes") if direction == "read" else pl.col("end_bytes")
    return (
        rows.join(blocks, on="file", how="left")
        .join(of_file, on="file", how="left")
        .join(facts.syncs, on="file", how="left")
        .join(facts.reads.select("file", "read_bytes", "again", "readers", "extent"), on="file", how="left")
        .with_columns(pl.col("whole_blocks", "syncs").fill_null(0), size_bytes=size)
        .filter((pl.col("is_streamed") & (pl.col("size_bytes") > limit)).not_())
        .sort("calls", "file", descending=[True, False])
    )


def reads(facts: ProfileFacts) -> pl.DataFrame:
    """Each of the application's files that it read by whatever call: `read_bytes`, `duration_ns`, `readers`, the part
    of it that they touched (`extent`), and `again`, the bytes that a process had read before.
    """
    # From the beginning of the file, where a source does not know where reads began: that is no less.
    extent = pl.col("end_bytes").max() - pl.col("begin_bytes").fill_null(0).min()
    again = pl.col("read_bytes") - pl.col("extent") * pl.col("readers")
    return (
        facts.data.filter(pl.col("direction") == "read", pl.col("bytes") > 0)
        .group_by("file")
        .agg(
            known_sum("duration_ns"),
            read_bytes=pl.col("bytes").sum(),
            readers=pl.col("processes").max().fill_null(1),
            extent=extent.clip(1),
        )
        .drop_nulls("extent")
        .with_columns(again=again.clip(0))
        .sort("read_bytes", "file", descending=[True, False])
    )


def is_same_data(facts: ProfileFacts) -> pl.Expr:
    """Of rows with `read_bytes`, `extent` and `readers`: many processes read all of it."""
    limits = facts.thresholds
    saved = pl.col("read_bytes") - pl.col("extent")
    return (
        (pl.col("readers") >= limits.reading_processes.value)
        & (pl.col("read_bytes") >= WHOLE * pl.col("extent") * pl.col("readers"))
        & (saved > limits.moved_bytes.value)
    )


def is_mostly_again() -> pl.Expr:
    """Of rows with `read_bytes` and `again`: reading them once would have been enough."""
    return pl.col("again") >= _MOSTLY_AGAIN * pl.col("read_bytes")


def symptoms(facts: ProfileFacts, kind: str, direction: str, rows: pl.DataFrame) -> tuple[Symptom, ...]:
    """What else is true of requests that belong to a kind of finding, beyond the share at which it would be one."""
    limits, calls = facts.thresholds, int(rows["calls"].sum())
    small, random = limits.limit("small_request_bytes", direction), limits.limit("random_share", direction)
    found: list[Symptom] = []

    def add(kind: str, column: str, share: Threshold, *more: Threshold, limit_bytes: float | None = None) -> None:
        count = int(rows[column].sum())
        if count > share.value * calls:
            found.append(Symptom(kind, count, calls, (*more, share), limit_bytes))

    add("small-requests", "small", limits.small_requests_share, small, limit_bytes=small.value)
    add("random-access", "random", random)
    for block in rows["block_bytes"].drop_nulls()[:1]:
        of_block = Threshold("block_bytes", block, "file system", "st_blksize")
        add("misaligned", "misaligned", limits.misaligned_share, of_block, limit_bytes=block)
    if direction == "read":
        again, read = int(rows["again"].sum()), int(rows["read_bytes"].sum())
        if again > limits.redundant_share.value * read:
            found.append(Symptom("redundant-reads", again, read, (limits.redundant_share,)))
        same = rows.filter(is_same_data(facts))
        if same.height:
            readers = int(same["readers"].max())  # type: ignore[arg-type]
            found.append(Symptom("same-data", readers, same.height, (limits.reading_processes,)))
    return tuple(one for one in found if one.kind != kind)


def _rules(facts: ProfileFacts, direction: Direction, rows: pl.DataFrame) -> Iterator[tuple[str, pl.Expr, _Exceeds]]:
    """In the order of the docstring above: a kind of finding, what of a file it is true of, and its limits."""
    limits, every = facts.thresholds, int(rows["calls"].sum())
    small = limits.limit("small_request_bytes", direction).value
    random_share = limits.limit("random_share", direction)

    def beyond(column: str, share: float, least: float) -> _Exceeds:
        return lambda own: own[column].sum() > max(share * every, least)

    def any_of_them(_: pl.DataFrame) -> bool:
        return True

    if direction == "write":
        is_synchronous = pl.col("open_flags").fill_null(0) & SYNCHRONOUS != 0
        is_frequent = pl.col("bytes") < limits.sync_bytes.value * pl.col("calls")
        yield "synchronous-writes", is_synchronous & is_frequent, beyond("calls", 0, limits.sync_calls.value)
        yield "sync-storm", _is_synced_one_by_one(facts), any_of_them
    else:
        read = int(rows["read_bytes"].sum())
        least = max(limits.redundant_share.value * read, limits.moved_bytes.value)
        yield "redundant-reads", is_mostly_again(), lambda own: own["again"].sum() > least
        yield "same-data", is_same_data(facts), any_of_them
    independent = _independent(facts, direction)
    yield "no-collectives", pl.col("file").is_in(independent) & (pl.col("processes") > 1), any_of_them
    is_random = (pl.col("random") > random_share.value * pl.col("calls")) & (pl.col("extent_bytes") > small)
    yield "random-access", is_random, beyond("random", random_share.value, limits.random_requests.value)
    is_misaligned = pl.col("misaligned") > limits.misaligned_share.value * pl.col("calls")
    has_whole_blocks = 2 * pl.col("whole_blocks") >= pl.col("calls")
    misaligned = beyond("misaligned", limits.misaligned_share.value, limits.small_requests.value)
    yield "misaligned", is_misaligned & has_whole_blocks, misaligned
    is_small = pl.col("small") > limits.small_requests_share.value * pl.col("calls")
    times = pl.max_horizontal(pl.col("opens"), pl.col("processes").fill_null(1), 1)
    is_small_file = (pl.col("size_bytes") <= small) & (pl.col("calls") <= _REQUESTS_AT_A_TIME * times)
    exceeds = beyond("small", limits.small_requests_share.value, limits.small_requests.value)
    yield "small-files", is_small & is_small_file, exceeds
    yield "small-requests", is_small & is_small_file.not_(), exceeds
    yield "misaligned", is_misaligned, misaligned


def _is_synced_one_by_one(facts: ProfileFacts) -> pl.Expr:
    """Small writes that take no longer than the syncs that follow them, of files with a sync storm."""
    limits, sync_ns = facts.thresholds, facts.mean_ns("sync")
    is_paired = pl.col("calls") <= _WRITES_OF_A_SYNC * pl.col("syncs")
    is_minor = pl.lit(True) if sync_ns is None else pl.col("duration_ns").fill_null(0) <= pl.col("syncs") * sync_ns
    storm = (
        facts.synced["file"] if facts.synced["syncs"].sum() > limits.sync_calls.value else facts.synced["file"].clear()
    )
    return is_paired & is_minor & pl.col("file").is_in(storm.implode())


def _independent(facts: ProfileFacts, direction: Direction) -> list[int]:
    """Files on which the application calls MPI-IO so often, and never collectively."""
    kinds = MPI_TRANSFERS[direction]
    if set(kinds.collective) & set(facts.on_storage["operation"]):
        return []
    rows = facts.stored.filter(pl.col("operation").is_in(kinds.independent))
    return rows["file"].unique().to_list() if rows["calls"].sum() > facts.thresholds.independent_calls.value else []
