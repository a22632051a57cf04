"""What IOR prints on its standard output, with what else a job's output has between its lines.

IOR 2.10.0.1 prints a row for each iteration, without the column `total(s)`, and of all the greatest rates alone. 2.10.3
prints iterations only when it is verbose, else their mean, least and greatest. From 3.0 on there is a row for
each, under a header that names the columns; it grew by `IOPS` and `Latency(s)` in 3.3. Numbers have ten characters, so
large rates lose their decimals. The CSV of 3.2 and 3.3 has neither separators nor rates: it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ioassay.importers.command_line import Options
from ioassay.importers.ior.tests import ACCESSES, Access, AtStonewall, Execution, Row, Summary, Test
from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source
from ioassay.importers.transcript import unknown_prefix
from ioassay.protocol.facts import IOR_VALUED

BANNER = re.compile(r"IOR-(\S+): MPI Coordinated Test of Parallel I/O")
_TEST = re.compile(r"TestID\s*:\s*(\d+)|Test (\d+) started:")
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*[:=]\s*(.*?)\s*$")
_STONEWALL = re.compile(
    r"stonewalling pairs accessed min: (\d+) max: (\d+)"
    r"(?: -- min data: [\d.]+ GiB mean data: ([\d.]+) GiB(?: time: ([\d.]+)s)?)?"
)
_MOVED = re.compile(r"WARNING: Using actual aggregate bytes moved = (\d+)")
_GLUED = re.compile(r"\S*\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}\S")
"""What follows the banner, or takes its place, in a CSV without separators: a moment, and no space after it."""

_PARTS = ("open(s)", "wr/rd(s)", "close(s)")
"""The columns with the times of which an access consists."""

_HINTS = "hints returned from opened file {"
"""Begins those that MPI-IO had in effect, a line each, up to a closing brace."""

_FACTS = {
    "Began": "began",
    "Run began": "began",
    "Finished": "ended",
    "Run finished": "ended",
    "Command line": "command",
    "Command line used": "command",
    "Machine": "machine",
}

_OPTIONS = frozenset(
    [
        *("api", "test filename", "access", "type", "pattern", "segments", "ordering in a file", "ordering inter file"),
        *("nodes", "tasks", "clients", "clients per node", "repetitions", "xfersize", "blocksize"),
        *("aggregate filesize", "stonewallingTime", "stoneWallingWearOut", "Using stonewalling"),
        *("FS", "Path", "StartTime", "apiVersion"),
    ]
)
"""The lines before the results that are kept. A name that IOR gives to anything else, too, is not among them."""

_OLD_SUMMARY = [
    *("Operation", "Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev", "Max(OPs)", "Min(OPs)", "Mean(OPs)", "StdDev"),
    *("Mean(s)", "#Tasks", "tPN", "reps", "fPP", "reord", "reordoff", "reordrand", "seed", "segcnt", "blksiz"),
    *("xsize", "aggsize", "Test#", "API"),
]
"""The columns of 2.10: the header that it prints has spaces in some names, and more names than columns."""


def executions(source: Source) -> Iterator[Execution]:
    """The executions in a file. Raises `Refused` for one that has no result, or was cut off."""
    reading: _Reading | None = None
    for number, line in enumerate(source.lines, start=1):
        banner = BANNER.search(line)
        if banner is None:
            if reading is not None:
                reading.take(line, number)
            elif _GLUED.match(line) and "summaryFormat=CSV" in line:
                raise Refused("is the CSV of IOR 3.3 or earlier, which has neither separators nor rates", number)
            continue
        if _GLUED.match("".join(source.lines[number : number + 1])):
            raise Refused(f"is the CSV of IOR {banner[1]}, which has neither separators nor rates", number + 1)
        # IOR 2.10 repeats its banner before every test of a script.
        if reading is not None and not reading.is_same_script(banner[1]):
            yield reading.finished()
            reading = None
        if reading is None:
            reading = _Reading(Execution(number, banner[1]), unknown_prefix(line, banner.start()))
        reading.leave_table()
    if reading is not None:
        yield reading.finished()


class _Reading:
    """An execution while its lines are read."""

    def __init__(self, execution: Execution, prefix: str | None) -> None:
        self._prefix = prefix
        self._execution = execution
        self._columns: Sequence[str] = ()
        self._summary: Sequence[str] = ()
        self._moved: int | None = None
        self._stonewall: AtStonewall | None = None
        self._hints: list[str] | None = None

    def is_same_script(self, version: str) -> bool:
        """True if a banner belongs to this execution."""
        return self._execution.version == version and "ended" not in self._execution.options

    def leave_table(self) -> None:
        """Rows from here on have another header."""
        self._columns = self._summary = ()

    def take(self, line: str, number: int) -> None:
        """Takes over what a line tells."""
        words = line.split()
        if not words:
            return
        if line.startswith(_HINTS):
            self._hints = []
        elif self._hints is not None:
            self._take_hint(self._hints, words)
        elif (match := _TEST.match(line)) or (words[0] == "Summary:" and self._is_old):
            own = int(match[1] or match[2]) if match else len(self._execution.tests)
            self._execution.tests.append(Test(own, number))
            self.leave_table()
        if words[0] == "access" and "bw(MiB/s)" in words:
            self.leave_table()
            self._columns = words
        elif words[0] == "Operation" and "Mean(s)" in line.replace(" (", "("):
            self.leave_table()
            self._summary = _OLD_SUMMARY if self._is_old else words
            if "xsize" not in self._summary:
                raise Refused("has a summary whose header was cut off, or wrapped", number)
        elif self._columns and words[0] in ACCESSES:
            self._take_row(ACCESSES[words[0]], words, number)
        elif self._summary and words[0] in ACCESSES:
            self._take_summary(ACCESSES[words[0]], words, number)
        elif match := _MOVED.search(line):
            self._moved = int(match[1])
        elif match := _STONEWALL.search(line):
            least, most, mean_gib, at_s = match.groups()
            self._stonewall = AtStonewall(
                int(least), int(most), float(at_s) if at_s else None, float(mean_gib) * 1024 if mean_gib else None
            )
        elif match := _KEY.match(line):
            self._note(match[1], match[2])

    def _take_hint(self, hints: list[str], words: list[str]) -> None:
        if words == ["}"]:
            # Files that are opened later have the same.
            self._options.setdefault("hints", ", ".join(hints))
            self._hints = None
        elif len(words) == 3:  # a list of ranks is no configuration
            hints.append(" ".join(words))

    def finished(self) -> Execution:
        """The whole. Raises `Refused` if it has no result, or no end."""
        execution = self._execution
        measured = [test for test in execution.tests if test.rows or test.summaries]
        if not measured:
            cut = "has no result: IOR ended, or its output was cut off, before the first"
            raise Refused(self._prefix or cut, execution.line)
        # Of a script IOR sums up all tests together at its end; 2.10 sums up each; inside of the IO500 nothing does.
        if "ended" not in execution.options and not all(test.summaries or self._is_whole(test) for test in measured):
            last = max((row.line for test in measured for row in test.rows), default=execution.line)
            raise Refused("ends before IOR's summary: it was cut off, or IOR did not end", last)
        execution.tests = measured
        return execution

    def _is_whole(self, test: Test) -> bool:
        """True if there is a row for each iteration of what the command line asks for."""
        options = Options(self._execution.options.get("command", ""), IOR_VALUED)
        asked = [access for access in ACCESSES.values() if options.has(access[0])]
        repetitions = test.options.get("repetitions", "")
        wanted = {(access, at) for access in asked for at in range(int(repetitions) if repetitions.isdigit() else 0)}
        return bool(wanted) and sorted(wanted) == sorted((row.access, row.iteration) for row in test.rows)

    @property
    def _is_old(self) -> bool:
        return (self._execution.version or "").startswith("2.10")

    def _test(self, line: int) -> Test:
        if not self._execution.tests:
            self._execution.tests.append(Test(0, line))
        return self._execution.tests[-1]

    def _note(self, key: str, value: str) -> None:
        execution = self._execution
        if key in _FACTS:
            execution.options.setdefault(_FACTS[key], value)
        elif key in _OPTIONS:
            self._options.setdefault(key, value)

    @property
    def _options(self) -> dict[str, str]:
        """Where what is printed now belongs: the file system stands before the test's number in some versions."""
        return self._execution.tests[-1].options if self._execution.tests else self._execution.options

    def _take_row(self, access: Access, words: list[str], line: int) -> None:
        if words[-1] == "XXCEL":  # ends the rows of 2.10
            words = words[:-1]
        if len(words) != len(self._columns):
            raise Refused(f"has a row of {len(words)} columns under a header of {len(self._columns)}", line)
        values = dict(zip(self._columns, words, strict=True))
        if not values.get("iter", "").isdigit():
            raise Refused(f"has a row whose iteration is {values.get('iter')!r}", line)
        test = self._test(line)
        test.rows.append(
            Row(
                line,
                access,
                int(values["iter"]),
                Printed.of(values["bw(MiB/s)"], line, "bw(MiB/s)"),
                Printed.of(values["total(s)"], line, "total(s)") if "total(s)" in values else None,
                self._moved,
                self._stonewall,
                [Printed.of(values[name], line, name) for name in _PARTS if name in values],
            )
        )
        self._moved = self._stonewall = None
        test.block_bytes = _kib(values.get("block(KiB)", ""), line)
        test.transfer_bytes = _kib(values.get("xfer(KiB)", ""), line)

    def _take_summary(self, access: Access, words: list[str], line: int) -> None:
        columns = self._summary
        if words[-1] == "EXCEL":
            words = words[:-1]
            columns = columns[: len(words)] if len(words) in (10, len(columns)) else columns
        if len(words) != len(columns):
            raise Refused(f"has a summary of {len(words)} columns under a header of {len(columns)}", line)
        exact: dict[str, str] = {}
        for column, word in zip(columns, words, strict=True):
            exact.setdefault(column, word)  # StdDev stands twice: of MiB/s, then of operations
        tests = self._execution.tests
        own = [test for test in tests if str(test.number) == exact.get("Test#")] or tests[-1:]
        if not own:
            raise Refused("has a summary before any test", line)
        own[0].summaries[access] = summary(exact, line)
        if own[0].tasks is None and exact.get("#Tasks", "").isdigit():
            own[0].tasks = int(exact["#Tasks"])


def summary(exact: dict[str, str], line: int) -> Summary:
    """A line of the summary, by the names of its columns. Raises `Refused`."""
    highest, lowest, mean, deviation, seconds = (
        Printed.of(exact.get(column, ""), line, column)
        for column in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev", "Mean(s)")
    )
    return Summary(line, highest, lowest, mean, deviation, seconds, exact)


def _kib(text: str, line: int) -> int | None:
    return None if text in ("", "-") else round(Printed.of(text, line, "KiB").value * 1024)
