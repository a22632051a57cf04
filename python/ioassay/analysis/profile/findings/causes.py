"""Assigns the requests on a file to one finding, their cause.

The same requests can be small, random, misaligned and repeated reads. Each of these has a rule, but only one of them is
the cause; fixing that fixes the others, or makes them irrelevant:

    synchronous writes        wait for the storage, whatever their size and order
    synced one by one         so do small writes that fsync follows
    data read again           most of the data was read before: not reading it saves all of that
    the same data             the same, by several processes
    no collective MPI-IO      ranks make small, jumping requests in a file that they share
    random access             no buffer gathers requests that jump about in a large file
    misaligned whole blocks   data before them shifts them; in a buffer they stay misaligned
    small files               larger requests on them are impossible
    small requests            a buffer gathers them, which aligns them, too; few small files are no cause
    misaligned                all others

In this order, the files that satisfy a rule belong to it if all of them together exceed its limits; otherwise they are
left for later rules. Other rules that they satisfy are symptoms. Files of start-up are left out.
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
"""A process reads the same data as the others if it reads at least this share of the extent that they touch."""

_MOSTLY_AGAIN = 0.5
"""Share of repeated bytes of a file above which repeated reading is the cause."""

_REQUESTS_AT_A_TIME = 8
"""The most requests on a small file for each open; above this, the requests are small, not the file."""

_WRITES_OF_A_SYNC = 4
"""The most writes for each sync of a file; above this, writes are not caused by syncs."""


@dataclass(frozen=True)
class Symptom:
    """Another property of the requests of a finding, which would otherwise be a second finding about them."""

    kind: str
    """The kind of that second finding."""
    count: int
    """Number of requests; bytes for `redundant-reads`; reading processes for `same-data`."""
    of: int
    """Number of all requests; all bytes for `redundant-reads`; files for `same-data`."""
    thresholds: tuple[Threshold, ...]
    """The thresholds that were exceeded."""
    limit_bytes: float | None = None
    """The size that requests are below, or the block that they do not begin at multiples of."""

    @property
    def sentence(self) -> str:
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


_REQUESTED = ("calls", "small")
"""Columns of a stream on a small file that are replaced by its requests to the file system."""

Causes = Mapping[tuple[str, str], pl.DataFrame]
"""The rows of `requests` by kind of finding and direction."""

_Exceeds = Callable[[pl.DataFrame], bool]


def causes(facts: ProfileFacts) -> Causes:
    """The requests of each kind of finding."""
    rows_by_cause: dict[tuple[str, str], pl.DataFrame] = {}
    for direction in REQUESTS:
        rows = facts.requests(direction)
        for kind, is_match, exceeds in _rules(facts, direction, rows):
            matching = rows.filter(is_match)
            if not matching.is_empty() and exceeds(matching):
                before = rows_by_cause.get((kind, direction), matching.clear())
                rows_by_cause[kind, direction] = pl.concat([before, matching])
                rows = rows.join(matching.select("file"), on="file", how="anti", maintain_order="left")
    return rows_by_cause


def requests(facts: ProfileFacts, direction: Direction) -> pl.DataFrame:
    """Each of the application's files that it moved bytes to or from, with its requests in a direction (`calls`, and
    among them `small`, `random` and `misaligned`; reads at the end of a file do not count) and other inputs of rules.
    Streams gather requests in buffers, so they count only for small files: one small request for each open.

    A number that the source does not know is null.
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
    # The first request after each open cannot go back.
    first = pl.max_horizontal(pl.col("processes").fill_null(1), "opens")
    whole = profile.common_sizes.filter(pl.col("operation").is_in(names), pl.col("bytes") > 0)
    is_stream = pl.col("operation") == STREAMED[direction]
    requested = (
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
                for name in _REQUESTED
            ),
            *(pl.when(is_stream.not_()).then(name).alias(name) for name in ("consecutive", "known_misaligned")),
            random=pl.when(is_stream).then(0).otherwise("random"),
        )
    )
    rows = requested.group_by("file", maintain_order=True).agg(
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
    """Each of the application's files that was read by any call: `read_bytes`, `duration_ns`, `readers`, the part of it
    that they touched (`extent`), and `again`, the bytes that a process had read before.
    """
    # From the beginning of the file if a source does not know where reads began, which is an upper bound.
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
    """True if many processes read all of a file; needs the columns `read_bytes`, `extent` and `readers`."""
    limits = facts.thresholds
    saved = pl.col("read_bytes") - pl.col("extent")
    return (
        (pl.col("readers") >= limits.reading_processes.value)
        & (pl.col("read_bytes") >= WHOLE * pl.col("extent") * pl.col("readers"))
        & (saved > limits.moved_bytes.value)
    )


def is_mostly_again() -> pl.Expr:
    """True if most bytes of a file were read repeatedly; needs the columns `read_bytes` and `again`."""
    return pl.col("again") >= _MOSTLY_AGAIN * pl.col("read_bytes")


def symptoms(facts: ProfileFacts, kind: str, direction: str, rows: pl.DataFrame) -> tuple[Symptom, ...]:
    """The symptoms of requests that belong to a kind of finding: other rules whose shares they exceed."""
    limits, calls = facts.thresholds, int(rows["calls"].sum())
    small, random = limits.limit("small_request_bytes", direction), limits.limit("random_share", direction)
    all_symptoms: list[Symptom] = []

    def add(kind: str, column: str, share: Threshold, *more: Threshold, limit_bytes: float | None = None) -> None:
        count = int(rows[column].sum())
        if count > share.value * calls:
            all_symptoms.append(Symptom(kind, count, calls, (*more, share), limit_bytes))

    add("small-requests", "small", limits.small_requests_share, small, limit_bytes=small.value)
    add("random-access", "random", random)
    for block in rows["block_bytes"].drop_nulls()[:1]:
        of_block = Threshold("block_bytes", block, "file system", "st_blksize")
        add("misaligned", "misaligned", limits.misaligned_share, of_block, limit_bytes=block)
    if direction == "read":
        again, read = int(rows["again"].sum()), int(rows["read_bytes"].sum())
        if again > limits.redundant_share.value * read:
            all_symptoms.append(Symptom("redundant-reads", again, read, (limits.redundant_share,)))
        same = rows.filter(is_same_data(facts))
        if same.height:
            readers = int(same["readers"].max())  # type: ignore[arg-type]
            all_symptoms.append(Symptom("same-data", readers, same.height, (limits.reading_processes,)))
    return tuple(symptom for symptom in all_symptoms if symptom.kind != kind)


def _rules(facts: ProfileFacts, direction: Direction, rows: pl.DataFrame) -> Iterator[tuple[str, pl.Expr, _Exceeds]]:
    """Kind of finding, condition on files, and limits of each rule, in the order of the module's docstring."""
    limits, every = facts.thresholds, int(rows["calls"].sum())
    small = limits.limit("small_request_bytes", direction).value
    random_share = limits.limit("random_share", direction)

    def beyond(column: str, share: float, least: float) -> _Exceeds:
        return lambda matching: matching[column].sum() > max(share * every, least)

    def always(_: pl.DataFrame) -> bool:
        return True

    if direction == "write":
        is_synchronous = pl.col("open_flags").fill_null(0) & SYNCHRONOUS != 0
        is_frequent = pl.col("bytes") < limits.sync_bytes.value * pl.col("calls")
        yield "synchronous-writes", is_synchronous & is_frequent, beyond("calls", 0, limits.sync_calls.value)
        yield "sync-storm", _is_synced_one_by_one(facts), always
    else:
        read = int(rows["read_bytes"].sum())
        least = max(limits.redundant_share.value * read, limits.moved_bytes.value)
        yield "redundant-reads", is_mostly_again(), lambda matching: matching["again"].sum() > least
        yield "same-data", is_same_data(facts), always
    independent = _independent(facts, direction)
    yield "no-collectives", pl.col("file").is_in(independent) & (pl.col("processes") > 1), always
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
    """True for files with a sync storm whose small writes take no longer than the syncs that follow them."""
    limits, sync_ns = facts.thresholds, facts.mean_ns("sync")
    is_paired = pl.col("calls") <= _WRITES_OF_A_SYNC * pl.col("syncs")
    is_minor = pl.lit(True) if sync_ns is None else pl.col("duration_ns").fill_null(0) <= pl.col("syncs") * sync_ns
    storm = (
        facts.synced["file"] if facts.synced["syncs"].sum() > limits.sync_calls.value else facts.synced["file"].clear()
    )
    return is_paired & is_minor & pl.col("file").is_in(storm.implode())


def _independent(facts: ProfileFacts, direction: Direction) -> list[int]:
    """Files with many independent calls of MPI-IO, if the application makes no collective ones."""
    kinds = MPI_TRANSFERS[direction]
    if set(kinds.collective) & set(facts.on_storage["operation"]):
        return []
    rows = facts.stored.filter(pl.col("operation").is_in(kinds.independent))
    return rows["file"].unique().to_list() if rows["calls"].sum() > facts.thresholds.independent_calls.value else []
