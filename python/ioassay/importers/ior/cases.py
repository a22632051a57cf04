"""IOR's tests as cases: the same from every form.

`IOPS` is ignored: IOR divides by the time of the transfers alone. Our operations per second include opening and
closing, as the bandwidth does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from ioassay.importers import doubts, model, ranks_csv
from ioassay.importers.command_line import Options
from ioassay.importers.ior import table
from ioassay.importers.ior.tests import Access, Execution, Row, Summary, Test
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling, Setting, Stonewall, Summarised
from ioassay.importers.numbers import MIB, NS_PER_S, Printed, adds_up, moment_ns, size_bytes
from ioassay.importers.source import Refused, Source
from ioassay.protocol.facts import IOR_VALUED
from ioassay.text.units import format_bytes

_BEYOND_COUNTING = 2**63

_BETWEEN_PARTS = 1.05
"""How much longer than the sum of its parts an access may take: there are barriers between them."""

_UNIX_CLOCK_S = 1e9
"""A larger number of seconds is not a duration but a Unix time, of 2001 or later."""

_OLD_CLIENTS = re.compile(r"(\d+) \((\d+) per node\)")
_BY_RANK = re.compile(r"saveRankPerformanceDetailsCSV=(\S+)")


def of(source: Source, execution: Execution, open_sibling: OpenSibling) -> Iterator[Case]:
    """A case for each iteration of each test."""
    command = execution.options.get("command", "")
    by_rank = _by_rank(command, open_sibling)
    version = [Setting(name="version", value=f"IOR {execution.version}")] if execution.version else []
    for test in execution.tests:
        test_options = _TestOptions(test, execution.options | test.options, Options(command, IOR_VALUED))
        for measured in _iterations(source, test, test_options, by_rank if len(execution.tests) == 1 else {}):
            yield Case(
                tool_version=execution.version,
                settings=[*test_options.settings, *version],
                amount=test_options.amount,
                clients=test_options.nodes,
                ranks=test_options.tasks,
                measured=measured,
                target=test_options.options.get("test filename"),
                command=command,
                facts=test_options.facts,
                started_unix_ns=moment_ns(test_options.options.get("StartTime") or test_options.options.get("began")),
                ended_unix_ns=moment_ns(test_options.options.get("ended")),
            )


def _by_rank(command: str, open_sibling: OpenSibling) -> Mapping[tuple[Access, int], pl.DataFrame]:
    """Results by rank, if the command line names a file for them and that file lies beside this one."""
    match = _BY_RANK.search(command)
    sibling = open_sibling(match[1].rsplit("/", 1)[-1]) if match else None
    return table.by_rank(sibling) if sibling is not None and table.is_by_rank(sibling.text) else {}


@dataclass(frozen=True)
class _TestOptions:
    """The options of a test that its numbers depend on."""

    test: Test
    options: Mapping[str, str]
    command: Options

    @property
    def tasks(self) -> int | None:
        old = _OLD_CLIENTS.match(self.options.get("clients", ""))
        return self.test.tasks or _whole(self.options.get("tasks")) or _whole(old[1] if old else None)

    @property
    def nodes(self) -> int | None:
        if printed := _whole(self.options.get("nodes")):
            return printed
        old = _OLD_CLIENTS.match(self.options.get("clients", ""))
        tasks_per_node = _whole(self.options.get("clients per node")) or _whole(
            old[2] if old else self._exact.get("tPN")
        )
        return -(-self.tasks // tasks_per_node) if self.tasks and tasks_per_node else None

    @property
    def transfer_bytes(self) -> int | None:
        exact = _whole(self._exact.get("xsize"))
        return exact or size_bytes(self.options.get("xfersize")) or self.test.transfer_bytes

    @property
    def block_bytes(self) -> int | None:
        # The printed options round: `blocksize : 9.46 TiB`.
        return _whole(self._exact.get("blksiz")) or self.test.block_bytes or size_bytes(self.options.get("blocksize"))

    @property
    def segments(self) -> int:
        strided = re.search(r"\((\d+) segments?\)", self.options.get("pattern", ""))  # before 3.2
        printed = self._exact.get("segcnt") or self.options.get("segments") or (strided[1] if strided else None)
        return _whole(printed) or 1

    @property
    def repetitions(self) -> int:
        return _whole(self._exact.get("reps")) or _whole(self.options.get("repetitions")) or 1

    @property
    def total_bytes(self) -> int | None:
        """Bytes that all ranks move unless stopped; `None` if too many, as in blocks made for a stonewall."""
        if not self.tasks or not self.block_bytes:
            return None
        total = self.tasks * self.block_bytes * self.segments
        return total if total < _BEYOND_COUNTING else None

    @property
    def amount(self) -> str:
        """The work of a rank, in words."""
        if self.block_bytes is None:
            return ""
        segments = f", {self.segments} segments" if self.segments > 1 else ""
        return f"blocks of {format_bytes(self.block_bytes)}{segments}"

    @property
    def layout(self) -> str:
        access = self.options.get("access", "")
        return "N-N" if access.startswith("file-per-process") else "N-1" if access else ""

    @property
    def files(self) -> int | None:
        return self.tasks if self.layout == "N-N" else 1 if self.layout else None

    @property
    def order(self) -> str:
        ordering = self.options.get("ordering in a file", "")
        return "random" if ordering.startswith("random") else "sequential" if ordering else ""

    @property
    def stonewall_s(self) -> int:
        """The deadline in seconds; 0 if there is none."""
        printed = self.options.get("stonewallingTime") or self.options.get("Using stonewalling", "")
        return _whole(printed.split(" ")[0]) or 0

    @property
    def is_walled(self) -> bool:
        """A stonewall, its own or that of the preceding write, may decide how much is moved."""
        return bool(self.stonewall_s) or self.command.says("stoneWallingStatusFile=")

    @property
    def is_synced(self) -> bool:
        return self.command.has("e")

    @property
    def is_direct(self) -> bool:
        return self.command.has("B") or self.command.says("odirect")

    @property
    def reads_own(self) -> bool:
        """Each rank reads the data that it wrote itself."""
        return self.options.get("ordering inter file", "").startswith("no tasks")

    @property
    def settings(self) -> list[Setting]:
        """Settings that distinguish its results, in the order of a title."""
        collective = "collective" in self.options.get("type", "") + self.options.get("access", "")
        file_system = re.match(r"[\d.]+ [KMGTPE]iB", self.options.get("FS", ""))
        values = {
            "API": self.options.get("api", "").split(" ")[0],
            "layout": self.layout,
            "transfer": "" if self.transfer_bytes is None else f"transfers of {format_bytes(self.transfer_bytes)}",
            "order": self.order,
            "collective": "collective" if collective else "",
            "reads": "" if self.reads_own or not self.options else "reading what others wrote",
            "direct": "direct I/O" if self.is_direct else "",
            "fsync": "fsync" if self.is_synced else "",
            "stonewall": f"stonewall {self.stonewall_s} s" if self.stonewall_s else "",
            # Distinguishes file systems if paths do not.
            "file system": f"file system of {file_system[0]}" if file_system else "",
        }
        return model.nonempty_settings(values)

    @property
    def facts(self) -> list[Setting]:
        """Where it ran. Hints are those in effect."""
        return model.nonempty_settings(
            {
                "machine": self.options.get("machine"),
                "path": self.options.get("Path"),
                "API version": re.sub(r"^\((.*)\)$", r"\1", self.options.get("apiVersion", "").strip()),
                "MPI-IO hints": self.options.get("hints"),
            }
        )

    @property
    def _exact(self) -> Mapping[str, str]:
        return next((summary.exact for summary in self.test.summaries.values()), {})


@dataclass(frozen=True)
class _Line:
    """A line with a result."""

    source: Source
    line: int
    access: Access


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _iterations(
    source: Source, test: Test, test_options: _TestOptions, by_rank: Mapping[tuple[Access, int], pl.DataFrame]
) -> Iterator[list[Measurement]]:
    """The measurements of each iteration, or of all together if only their summary was printed."""
    if not test.rows:
        yield [_summed_up(source, access, summary, test_options) for access, summary in test.summaries.items()]
        return
    iterations = list(dict.fromkeys(row.iteration for row in test.rows))
    for iteration in iterations:
        yield [
            _of_row(
                source,
                row,
                test.summaries.get(row.access) if len(iterations) == 1 else None,
                test_options,
                by_rank.get((row.access, iteration)),
            )
            for row in test.rows
            if row.iteration == iteration
        ]


def _of_row(
    source: Source, row: Row, summary: Summary | None, test_options: _TestOptions, by_rank: pl.DataFrame | None
) -> Measurement:
    # The summary of a single iteration has the same numbers, with more digits.
    rate = row.rate.finer(summary.highest if summary else None)
    total = None if row.total is None else row.total.finer(summary.seconds if summary else None)
    found_doubts: list[Doubt] = []
    if by_rank is not None and by_rank.height != test_options.tasks:
        found_doubts.append(doubts.ranks_missing(by_rank.height, test_options.tasks or 0))
        by_rank = None
    moved = row.moved_bytes or test_options.total_bytes
    if total is None:
        moved, seconds, time_doubts = _without_total(row, rate, moved, test_options)
        found_doubts += time_doubts
    else:
        seconds = total.value
        if moved is not None and not adds_up(moved, rate, total):
            if test_options.stonewall_s and row.moved_bytes is None:
                moved = None  # it ended early, and IOR did not say how much it had moved
            else:
                found_doubts.append(
                    doubts.does_not_add_up(
                        f"{format_bytes(moved)} in {total.text} s are not the {rate.text} MiB/s that IOR printed"
                    )
                )
        if moved is None:
            moved = round(rate.value * MIB * seconds)
    return replace(
        _measured(_Line(source, row.line, row.access), test_options, rate, seconds, moved),
        doubts=[*found_doubts, *_doubts(row.access, seconds, test_options)],
        stonewall=_stonewall(row, summary, test_options),
        finish_spread_ns=ranks_csv.spread_ns(by_rank),
        each=None if by_rank is None else by_rank.drop(ranks_csv.LINE),
    )


def _without_total(
    row: Row, rate: Printed, moved: int | None, test_options: _TestOptions
) -> tuple[int | None, float | None, list[Doubt]]:
    """Amount, seconds and doubts of a row without the column `total(s)`: the time follows from amount and rate. Both
    are unknown after a stonewall if IOR did not print the amount.
    """
    if moved is None or not rate.value or (test_options.stonewall_s and row.moved_bytes is None):
        return None, None, []
    seconds = moved / MIB / rate.value
    # Opening, transfers and closing are consecutive; each time is from the first rank to the last.
    longest = sum(time.value + time.half_unit for time in row.parts) * _BETWEEN_PARTS
    shortest = max((time.value - time.half_unit for time in row.parts), default=0.0)
    slack = 1 + rate.half_unit / rate.value + 1e-3
    if row.parts and not shortest / slack <= seconds <= longest * slack:
        times = " + ".join(time.text for time in row.parts)
        return (
            moved,
            seconds,
            [
                doubts.does_not_add_up(
                    f"{format_bytes(moved)} at {rate.text} MiB/s take {seconds:,.6f} s, but IOR printed {times} s for "
                    "opening, transfers and closing"
                )
            ],
        )
    return moved, seconds, []


def _summed_up(source: Source, access: Access, summary: Summary, test_options: _TestOptions) -> Measurement:
    """The measurement of all iterations, if only their summary was printed."""
    is_mean = test_options.repetitions > 1
    found_doubts = [doubts.mean_only(test_options.repetitions)] if is_mean else []
    moved = test_options.total_bytes
    if moved is not None and not is_mean and not adds_up(moved, summary.mean, summary.seconds):
        moved = None  # it ended early, and IOR did not say how much it had moved
    return replace(
        _measured(_Line(source, summary.line, access), test_options, summary.mean, summary.seconds.value, moved),
        doubts=[*found_doubts, *_doubts(access, summary.seconds.value, test_options)],
        summarised=Summarised(
            repetitions=test_options.repetitions,
            lowest=summary.lowest.value * MIB,
            highest=summary.highest.value * MIB,
            standard_deviation=summary.deviation.value * MIB,
        )
        if is_mean
        else None,
    )


def _measured(
    result_line: _Line, test_options: _TestOptions, rate: Printed, seconds: float | None, moved: int | None
) -> Measurement:
    if seconds is not None and seconds >= _UNIX_CLOCK_S:
        raise Refused(
            f"has {seconds:.0f} s as the time of a {result_line.access}, which is the Unix clock and no duration: IOR "
            "was started by a launcher that does not fit its MPI (PMI), and its rates are none",
            result_line.line,
        )
    transfer = test_options.transfer_bytes
    return Measurement(
        file=result_line.source.path,
        line=result_line.line,
        phase=result_line.access,
        operation=result_line.access,
        layout=test_options.layout,
        order=test_options.order,
        files=test_options.files,
        transfer_bytes=transfer,
        file_set_bytes=_file_set_bytes(result_line.access, test_options, moved),
        command=" ".join(test_options.command.words),
        bytes=moved,
        operations=moved // transfer if moved is not None and transfer else None,
        duration_ns=None if seconds is None else round(seconds * NS_PER_S),
        rate_bytes_per_s=rate.value * MIB,
        half_unit_per_s=rate.half_unit * MIB,
        rate_operations_per_s=rate.value * MIB / transfer if transfer else None,
    )


def _file_set_bytes(access: Access, test_options: _TestOptions, moved: int | None) -> int | None:
    """The size that was asked for; `None` if a stonewall cut it."""
    if test_options.is_walled and moved != test_options.total_bytes:
        return None
    return moved if access == "write" else test_options.total_bytes


def _doubts(access: Access, seconds: float | None, test_options: _TestOptions) -> Iterator[Doubt]:
    """Doubts that follow from how IOR was called; a CSV does not show it."""
    if test_options.options and access == "write" and not (test_options.is_synced or test_options.is_direct):
        yield doubts.unsynced_write("-e")
    has_write = any(row.access == "write" for row in test_options.test.rows) or "write" in test_options.test.summaries
    if test_options.reads_own and access == "read" and has_write and not test_options.is_direct:
        yield doubts.may_be_cached("each rank read what it had written itself in the same test", "-C")
    if seconds is not None:
        yield from doubts.short_phase(seconds)


def _stonewall(row: Row, summary: Summary | None, test_options: _TestOptions) -> Stonewall | None:
    report = row.stonewall
    if report is None:
        return None
    at_s, mean_mib = report.at_s, report.mean_mib
    if summary is not None and summary.exact.get("Stonewall(s)", "NA") != "NA":
        at_s, mean_mib = (
            Printed.of(summary.exact.get(name, ""), summary.line, name).value
            for name in ("Stonewall(s)", "Stonewall(MiB)")
        )
    reached = round(mean_mib * MIB * test_options.tasks) if mean_mib and test_options.tasks else None
    return Stonewall(
        at_ns=None if at_s is None else round(at_s * 1e9),
        bytes=reached,
        operations=reached // test_options.transfer_bytes if reached and test_options.transfer_bytes else None,
        least_operations=report.least,
        most_operations=report.most,
    )
