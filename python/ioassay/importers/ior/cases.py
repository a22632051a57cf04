"""IOR's tests as cases: the same from every form.

Of `IOPS` nothing is taken: IOR divides by the time of the transfers alone. Operations per second here count opening and
closing too, as the bandwidth does.
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
from ioassay.importers.model import Beside, Case, Doubt, Measured, Setting, Stonewall, Summarised
from ioassay.importers.numbers import MIB, NS_PER_S, Printed, adds_up, moment_ns, size_bytes
from ioassay.importers.source import Refused, Source
from ioassay.protocol.facts import IOR_VALUED
from ioassay.text.units import format_bytes

_BEYOND_COUNTING = 2**63

_BETWEEN_PARTS = 1.05
"""How much longer than its parts together an access may take: there are barriers between them."""

_UNIX_CLOCK_S = 1e9
"""Seconds that are no duration but a moment: of any since 2001, by the Unix clock."""

_OLD_CLIENTS = re.compile(r"(\d+) \((\d+) per node\)")
_BY_RANK = re.compile(r"saveRankPerformanceDetailsCSV=(\S+)")


def of(source: Source, execution: Execution, beside: Beside) -> Iterator[Case]:
    """A case for each iteration of each test."""
    command = execution.options.get("command", "")
    by_rank = _by_rank(command, beside)
    version = [Setting(name="version", value=f"IOR {execution.version}")] if execution.version else []
    for test in execution.tests:
        told = _Told(test, execution.options | test.options, Options(command, IOR_VALUED))
        for measured in _iterations(source, test, told, by_rank if len(execution.tests) == 1 else {}):
            yield Case(
                tool_version=execution.version,
                settings=[*told.settings, *version],
                amount=told.amount,
                clients=told.nodes,
                ranks=told.tasks,
                measured=measured,
                target=told.options.get("test filename"),
                command=command,
                facts=told.facts,
                started_unix_ns=moment_ns(told.options.get("StartTime") or told.options.get("began")),
                ended_unix_ns=moment_ns(told.options.get("ended")),
            )


def _by_rank(command: str, beside: Beside) -> Mapping[tuple[Access, int], pl.DataFrame]:
    """What each rank did, where the command line names a file for it and that lies beside this one."""
    match = _BY_RANK.search(command)
    found = beside(match[1].rsplit("/", 1)[-1]) if match else None
    return table.by_rank(found) if found is not None and table.is_by_rank(found.text) else {}


@dataclass(frozen=True)
class _Told:
    """What a test's options say of its numbers."""

    test: Test
    options: Mapping[str, str]
    command: Options

    @property
    def tasks(self) -> int | None:
        old = _OLD_CLIENTS.match(self.options.get("clients", ""))
        return self.test.tasks or _whole(self.options.get("tasks")) or _whole(old[1] if old else None)

    @property
    def nodes(self) -> int | None:
        if said := _whole(self.options.get("nodes")):
            return said
        old = _OLD_CLIENTS.match(self.options.get("clients", ""))
        each = _whole(self.options.get("clients per node")) or _whole(old[2] if old else self._exact.get("tPN"))
        return -(-self.tasks // each) if self.tasks and each else None

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
        said = self._exact.get("segcnt") or self.options.get("segments") or (strided[1] if strided else None)
        return _whole(said) or 1

    @property
    def repetitions(self) -> int:
        return _whole(self._exact.get("reps")) or _whole(self.options.get("repetitions")) or 1

    @property
    def total_bytes(self) -> int | None:
        """What all ranks move if nothing stops them; blocks that a stonewall is to cut may be beyond counting."""
        if not self.tasks or not self.block_bytes:
            return None
        total = self.tasks * self.block_bytes * self.segments
        return total if total < _BEYOND_COUNTING else None

    @property
    def amount(self) -> str:
        """What a rank does, in words."""
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
        said = self.options.get("ordering in a file", "")
        return "random" if said.startswith("random") else "sequential" if said else ""

    @property
    def stonewall_s(self) -> int:
        """The deadline; 0: none."""
        said = self.options.get("stonewallingTime") or self.options.get("Using stonewalling", "")
        return _whole(said.split(" ")[0]) or 0

    @property
    def is_walled(self) -> bool:
        """A stonewall, this one's or that of the write before, may decide how much is moved."""
        return bool(self.stonewall_s) or self.command.says("stoneWallingStatusFile=")

    @property
    def is_synced(self) -> bool:
        return self.command.has("e")

    @property
    def is_direct(self) -> bool:
        return self.command.has("B") or self.command.says("odirect")

    @property
    def reads_own(self) -> bool:
        """Each rank reads what it wrote itself."""
        return self.options.get("ordering inter file", "").startswith("no tasks")

    @property
    def settings(self) -> list[Setting]:
        """What tells its numbers from those of another test, in the order in which a title names it."""
        collective = "collective" in self.options.get("type", "") + self.options.get("access", "")
        file_system = re.match(r"[\d.]+ [KMGTPE]iB", self.options.get("FS", ""))
        found = {
            "API": self.options.get("api", "").split(" ")[0],
            "layout": self.layout,
            "transfer": "" if self.transfer_bytes is None else f"transfers of {format_bytes(self.transfer_bytes)}",
            "order": self.order,
            "collective": "collective" if collective else "",
            "reads": "" if self.reads_own or not self.options else "reading what others wrote",
            "direct": "direct I/O" if self.is_direct else "",
            "fsync": "fsync" if self.is_synced else "",
            "stonewall": f"stonewall {self.stonewall_s} s" if self.stonewall_s else "",
            # Tells file systems apart where paths do not.
            "file system": f"file system of {file_system[0]}" if file_system else "",
        }
        return model.told(found)

    @property
    def facts(self) -> list[Setting]:
        """What it tells of where it ran. Hints are those that MPI-IO had in effect."""
        return model.told(
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
    """What a line of a file is about."""

    source: Source
    line: int
    access: Access


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _iterations(
    source: Source, test: Test, told: _Told, by_rank: Mapping[tuple[Access, int], pl.DataFrame]
) -> Iterator[list[Measured]]:
    """The measurements of each iteration, or of all together where only their summary was printed."""
    if not test.rows:
        yield [_summed_up(source, access, summary, told) for access, summary in test.summaries.items()]
        return
    iterations = list(dict.fromkeys(row.iteration for row in test.rows))
    for iteration in iterations:
        yield [
            _of_row(
                source,
                row,
                test.summaries.get(row.access) if len(iterations) == 1 else None,
                told,
                by_rank.get((row.access, iteration)),
            )
            for row in test.rows
            if row.iteration == iteration
        ]


def _of_row(source: Source, row: Row, summary: Summary | None, told: _Told, each: pl.DataFrame | None) -> Measured:
    # Of a single iteration the summary has the same numbers, with more digits.
    rate = row.rate.finer(summary.highest if summary else None)
    total = None if row.total is None else row.total.finer(summary.seconds if summary else None)
    found: list[Doubt] = []
    if each is not None and each.height != told.tasks:
        found.append(doubts.ranks_missing(each.height, told.tasks or 0))
        each = None
    moved = row.moved_bytes or told.total_bytes
    if total is None:
        moved, seconds, doubted = _without_total(row, rate, moved, told)
        found += doubted
    else:
        seconds = total.value
        if moved is not None and not adds_up(moved, rate, total):
            if told.stonewall_s and row.moved_bytes is None:
                moved = None  # it ended early, and IOR did not say how much it had moved
            else:
                found.append(
                    doubts.does_not_add_up(
                        f"{format_bytes(moved)} in {total.text} s are not the {rate.text} MiB/s that IOR printed"
                    )
                )
        if moved is None:
            moved = round(rate.value * MIB * seconds)
    return replace(
        _measured(_Line(source, row.line, row.access), told, rate, seconds, moved),
        doubts=[*found, *_doubts(row.access, seconds, told)],
        stonewall=_stonewall(row, summary, told),
        finish_spread_ns=ranks_csv.spread_ns(each),
        each=None if each is None else each.drop(ranks_csv.LINE),
    )


def _without_total(
    row: Row, rate: Printed, moved: int | None, told: _Told
) -> tuple[int | None, float | None, list[Doubt]]:
    """Amount, seconds and doubts of a row without the column `total(s)`: the time follows from amount and rate, which
    IOR had divided. After a stonewall whose amount it did not print both are unknown.
    """
    if moved is None or not rate.value or (told.stonewall_s and row.moved_bytes is None):
        return None, None, []
    seconds = moved / MIB / rate.value
    # Opening, transfers and closing follow each other, and the time of each is from its first rank to its last.
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


def _summed_up(source: Source, access: Access, summary: Summary, told: _Told) -> Measured:
    """What stands for all iterations, of which only a summary was printed."""
    several = told.repetitions > 1
    found = [doubts.mean_only(told.repetitions)] if several else []
    moved = told.total_bytes
    if moved is not None and not several and not adds_up(moved, summary.mean, summary.seconds):
        moved = None  # it ended early, and IOR did not say how much it had moved
    return replace(
        _measured(_Line(source, summary.line, access), told, summary.mean, summary.seconds.value, moved),
        doubts=[*found, *_doubts(access, summary.seconds.value, told)],
        summarised=Summarised(
            repetitions=told.repetitions,
            lowest=summary.lowest.value * MIB,
            highest=summary.highest.value * MIB,
            standard_deviation=summary.deviation.value * MIB,
        )
        if several
        else None,
    )


def _measured(at: _Line, told: _Told, rate: Printed, seconds: float | None, moved: int | None) -> Measured:
    if seconds is not None and seconds >= _UNIX_CLOCK_S:
        raise Refused(
            f"has {seconds:.0f} s as the time of a {at.access}, which is the Unix clock and no duration: IOR was "
            "started by a launcher that does not fit its MPI (PMI), and its rates are none",
            at.line,
        )
    transfer = told.transfer_bytes
    return Measured(
        file=at.source.path,
        line=at.line,
        phase=at.access,
        operation=at.access,
        layout=told.layout,
        order=told.order,
        files=told.files,
        transfer_bytes=transfer,
        file_set_bytes=_file_set_bytes(at.access, told, moved),
        command=" ".join(told.command.words),
        bytes=moved,
        operations=moved // transfer if moved is not None and transfer else None,
        duration_ns=None if seconds is None else round(seconds * NS_PER_S),
        rate_bytes_per_s=rate.value * MIB,
        half_unit_per_s=rate.half_unit * MIB,
        rate_operations_per_s=rate.value * MIB / transfer if transfer else None,
    )


def _file_set_bytes(access: Access, told: _Told, moved: int | None) -> int | None:
    """The size that was asked for; where a stonewall has cut it, nobody has asked for what it came to."""
    if told.is_walled and moved != told.total_bytes:
        return None
    return moved if access == "write" else told.total_bytes


def _doubts(access: Access, seconds: float | None, told: _Told) -> Iterator[Doubt]:
    """Those that follow from how IOR was called; a CSV does not tell."""
    if told.options and access == "write" and not (told.is_synced or told.is_direct):
        yield doubts.unsynced_write("-e")
    wrote = any(row.access == "write" for row in told.test.rows) or "write" in told.test.summaries
    if told.reads_own and access == "read" and wrote and not told.is_direct:
        yield doubts.may_be_cached("each rank read what it had written itself in the same test", "-C")
    if seconds is not None:
        yield from doubts.short_phase(seconds)


def _stonewall(row: Row, summary: Summary | None, told: _Told) -> Stonewall | None:
    said = row.stonewall
    if said is None:
        return None
    at_s, mean_mib = said.at_s, said.mean_mib
    if summary is not None and summary.exact.get("Stonewall(s)", "NA") != "NA":
        at_s, mean_mib = (
            Printed.of(summary.exact.get(name, ""), summary.line, name).value
            for name in ("Stonewall(s)", "Stonewall(MiB)")
        )
    reached = round(mean_mib * MIB * told.tasks) if mean_mib and told.tasks else None
    return Stonewall(
        at_ns=None if at_s is None else round(at_s * 1e9),
        bytes=reached,
        operations=reached // told.transfer_bytes if reached and told.transfer_bytes else None,
        least_operations=said.least,
        most_operations=said.most,
    )
