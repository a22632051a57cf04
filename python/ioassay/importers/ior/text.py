"""IOR's standard output, possibly mixed with other lines of a job's output.

IOR 2.10.0.1 prints a row for each iteration, without the column `total(s)`, and the highest rates over all. 2.10.3
prints iterations only if verbose, otherwise their mean, lowest and highest. From 3.0 on there is a row for
each, under a header that names the columns; it grew by `IOPS` and `Latency(s)` in 3.3. Numbers have ten characters, so
large rates lose their decimals. The CSV of 3.2 and 3.3 has neither separators nor rates: it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ioassay.importers.command_line import Options
from ioassay.importers.ior.tests import ACCESSES, Access, Execution, Row, StonewallTotals, Summary, Test
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
"""The line after the banner, or in its place, in a CSV without separators: a time without a space after it."""

_PARTS = ("open(s)", "wr/rd(s)", "close(s)")
"""The columns with the times of an access's parts."""

_HINTS = "hints returned from opened file {"
"""The line before the hints that MPI-IO had in effect, one per line, up to a closing brace."""

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
"""The lines before the results that are kept; a name that IOR also uses for something else is not among them."""

_OLD_SUMMARY = [
    *("Operation", "Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev", "Max(OPs)", "Min(OPs)", "Mean(OPs)", "StdDev"),
    *("Mean(s)", "#Tasks", "tPN", "reps", "fPP", "reord", "reordoff", "reordrand", "seed", "segcnt", "blksiz"),
    *("xsize", "aggsize", "Test#", "API"),
]
"""The columns of 2.10, whose printed header has spaces in some names, and more names than columns."""


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
        self._stonewall: StonewallTotals | None = None
        self._hints: list[str] | None = None

    def is_same_script(self, version: str) -> bool:
        """True if a banner belongs to this execution."""
        return self._execution.version == version and "ended" not in self._execution.options

    def leave_table(self) -> None:
        """Ends the current table: later rows have another header."""
        self._columns = self._summary = ()

    def take(self, line: str, number: int) -> None:
        """Processes a line."""
        words = line.split()
        if not words:
            return
        if line.startswith(_HINTS):
            self._hints = []
        elif self._hints is not None:
            self._take_hint(self._hints, words)
        elif (match := _TEST.match(line)) or (words[0] == "Summary:" and self._is_old):
            test_number = int(match[1] or match[2]) if match else len(self._execution.tests)
            self._execution.tests.append(Test(test_number, number))
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
            self._stonewall = StonewallTotals(
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
        """The execution. Raises `Refused` if it has no result, or no end."""
        execution = self._execution
        measured = [test for test in execution.tests if test.rows or test.summaries]
        if not measured:
            reason = "has no result: IOR ended, or its output was cut off, before the first"
            raise Refused(self._prefix or reason, execution.line)
        # IOR prints one summary at the end of a script; 2.10 prints one for each test; within the IO500 there is none.
        if "ended" not in execution.options and not all(test.summaries or self._is_whole(test) for test in measured):
            last = max((row.line for test in measured for row in test.rows), default=execution.line)
            raise Refused("ends before IOR's summary: it was cut off, or IOR did not end", last)
        execution.tests = measured
        return execution

    def _is_whole(self, test: Test) -> bool:
        """True if there is a row for each iteration that the command line requests."""
        options = Options(self._execution.options.get("command", ""), IOR_VALUED)
        requested = [access for access in ACCESSES.values() if options.has(access[0])]
        repetitions = test.options.get("repetitions", "")
        expected = {
            (access, iteration)
            for access in requested
            for iteration in range(int(repetitions) if repetitions.isdigit() else 0)
        }
        return bool(expected) and sorted(expected) == sorted((row.access, row.iteration) for row in test.rows)

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
        """The options that the current line belongs to: some versions print the file system before the
        test's number.
        """
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
            exact.setdefault(column, word)  # StdDev is there twice: of MiB/s, then of operations
        tests = self._execution.tests
        summarised_tests = [test for test in tests if str(test.number) == exact.get("Test#")] or tests[-1:]
        if not summarised_tests:
            raise Refused("has a summary before any test", line)
        summarised_tests[0].summaries[access] = summary(exact, line)
        if summarised_tests[0].tasks is None and exact.get("#Tasks", "").isdigit():
            summarised_tests[0].tasks = int(exact["#Tasks"])


def summary(exact: dict[str, str], line: int) -> Summary:
    """Parses a line of the summary, by the names of its columns. Raises `Refused`."""
    highest, lowest, mean, deviation, seconds = (
        Printed.of(exact.get(column, ""), line, column)
        for column in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev", "Mean(s)")
    )
    return Summary(line, highest, lowest, mean, deviation, seconds, exact)


def _kib(text: str, line: int) -> int | None:
    return None if text in ("", "-") else round(Printed.of(text, line, "KiB").value * 1024)
