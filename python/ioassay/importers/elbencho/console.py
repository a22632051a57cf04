"""elbencho's text tables: what it prints on its console, and appends to `--resfile`.

A phase has a row for each result, with the numbers of the first and of the last thread to finish, right-aligned
below a header of the same width, so that a row that was cut is too short. From 1.0 to 3.0-9 tables grew from 47 to 54
characters, and results had other names up to 2.0. The file has the command line above the tables; a console does not
show how elbencho was run, unless the shell's line was copied with it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from ioassay.importers.elbencho import latencies
from ioassay.importers.elbencho.rows import CONFIGURATION, Row, Totals
from ioassay.importers.model import Latencies
from ioassay.importers.numbers import MIB, integer
from ioassay.importers.source import Refused, Source
from ioassay.text.units import parse_bytes

_HEADER = re.compile(r"\s*OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*$")
_RESULT = re.compile(r"(\S*)\s+(\S[^:\[]*?)\s*:\s+(\S+)\s+(\S+)\s*$")
_LIST = re.compile(r"\s*\S[^:\[]*:\s*\[.*")
"""A result of the phase that has more than two numbers: latencies, the time of each thread."""

_LATENCIES = re.compile(r"\s*(\S+)(?: (wr|rd))? (?:lat hist\w*|latency(?: us)?)\s*:\s*\[ (.*) \]\s*")
"""Their histogram, or the least, mean and greatest of them: of I/Os, or of what the first word calls entries."""

_BIN = re.compile(r"([\d.]+): (\d+)")
_NO_TIME = re.compile(r"\bmax=0(?:us)?\b")

_COMMAND = re.compile(r"COMMAND LINE: (.*)|.*[#$>] (elbencho .*)")
_LABEL = re.compile(r"LABEL: (.*)")
_BEGAN = re.compile(r"ISO DATE: (.*)")
_ELAPSED = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)(?:\.(\d{3}))?s)?(?:(\d+)ms)?")

_SWITCHES = {"--direct": "direct IO", "--rand": "random"}
_VALUED = {
    **dict.fromkeys(("-t", "--threads"), "threads"),
    **dict.fromkeys(("-n", "--dirs"), "dirs"),
    **dict.fromkeys(("-N", "--files"), "files"),
    **dict.fromkeys(("-s", "--size"), "file size"),
    **dict.fromkeys(("-b", "--block"), "block size"),
    "--iodepth": "IO depth",
    "--hosts": "hosts",
}
_ENTRIES = ("Files", "Dirs", "Objects", "Buckets")
_TOTALS = re.compile(r"(?:.* )?[Tt]otal(?: .*)?|entries|I/Os|MiB")
"""The names of totals, which come last: `IOs total`, `Total MiB`, and those of 1.0."""
_SIZES = ("file size", "block size")


@dataclass
class _Phase:
    """A phase while it is read; values of the first and of the last thread by the name of the result."""

    line: int
    name: str
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    latencies: dict[tuple[bool, bool], Latencies] = field(default_factory=dict)
    """The key: whether they are of I/Os, and whether of the reads of a mix."""

    longest_us: dict[tuple[bool, bool], int] = field(default_factory=dict)
    """Only zeros: other values are rounded, and left out."""

    def notes(self, line: str, number: int) -> None:
        """Keeps a list of latencies. Raises `Refused`."""
        if not (match := _LATENCIES.fullmatch(line)):
            return
        key = match[1] == "IO", match[2] == "rd"
        if _NO_TIME.search(match[3]):
            self.longest_us[key] = 0
        elif all(bins := [_BIN.fullmatch(text) for text in match[3].split(", ")]):
            self.latencies[key] = latencies.of_bins(
                [(bin_match[1], int(bin_match[2])) for bin_match in bins if bin_match], number
            )


@dataclass
class _Execution:
    """The lines above the tables."""

    began: str = ""
    label: str = ""
    command: str = ""

    def notes(self, line: str) -> bool:
        """Keeps how and when elbencho was run; true if the line says so."""
        if match := _BEGAN.match(line):
            self.began, self.label, self.command = match[1].strip(), "", ""
        elif match := _LABEL.match(line):
            self.label = match[1].strip()
        elif match := _COMMAND.fullmatch(line):
            self.command = (match[1] or match[2]).strip()
        return match is not None


def is_console(text: str) -> bool:
    return any(_HEADER.match(line) for line in text.splitlines())


def rows(source: Source) -> list[Row]:
    """The phases. Raises `Refused` for a table that was cut off or is of no known version."""
    rows_read: list[Row] = []
    execution, phase, width = _Execution(), None, 0
    if not source.text.endswith("\n"):
        raise Refused("ends within a line: it was cut off", len(source.lines))
    lines = source.text.splitlines()  # no empty string after the last line feed, which would end a phase
    for number, line in enumerate(lines, start=1):
        noted = execution.notes(line)
        if width and not noted and (match := _RESULT.match(line)):
            if len(line.rstrip()) < width:
                raise Refused("has a row that is cut off, or whose columns were changed", number)
            if match[1]:
                rows_read += [_row(source, phase, execution)] if phase else []
                phase = _Phase(number, match[1])
            if phase is None:
                raise Refused("has a result without a phase: its beginning is missing", number)
            phase.values[match[2]] = match[3], match[4]
            continue
        if phase is not None and _LIST.fullmatch(line):
            phase.notes(line, number)
            continue
        # Any other line ends the phase: results below a damaged line may belong to another phase.
        header = _HEADER.match(line) is not None
        if phase is not None:
            regular = header or line.strip() in ("", "---")
            rows_read.append(_row(source, phase, execution) if regular else _last_row(source, phase, execution, number))
            phase = None
        width = len(line.rstrip()) if header else width
    rows_read += [_last_row(source, phase, execution, len(lines))] if phase else []
    if not rows_read:
        raise Refused("has a table without results", 1)
    return rows_read


def _last_row(source: Source, phase: _Phase, execution: _Execution, line: int) -> Row:
    """The row of a phase at the end of the file. Raises `Refused` if its totals, which come last, are missing."""
    if not any(_TOTALS.fullmatch(name) for name in phase.values):
        raise Refused("ends within a phase: it was cut off", line)
    return _row(source, phase, execution)


def _row(source: Source, phase: _Phase, execution: _Execution) -> Row:
    def totals(column: int, *, mixed: bool = False) -> Totals:
        def value(*names: str) -> int | None:
            name = next((name for name in names if name in phase.values), None)
            return None if name is None else integer(phase.values[name][column], phase.line, name)

        # In a mix, each row says whether it is of reads or of writes.
        rates, totals = ((" read",), (" read",)) if mixed else (("", " write"), (" total", " write"))
        mib = value("MiB read") if mixed else value("Total MiB", "MiB write", "MiB")
        mb = None if mixed else value("Total MB")
        binary = value("MiB/s read") if mixed else value("Throughput MiB/s", "MiB/s write", "MiB/s")
        decimal = value("MB/s read") if mixed else value("Throughput MB/s", "MB/s write")
        rate = binary * MIB if binary is not None else None if decimal is None else decimal * 1_000_000
        entries = () if mixed else (*(f"Total {kind.lower()}" for kind in _ENTRIES), "entries")
        return Totals(
            at_ms=_elapsed_ms(phase, column),
            # Less than a MiB is printed as 0.
            bytes=mib * MIB if mib else mb * 1_000_000 if mb else None,
            bytes_per_s=rate or None,
            ios=value(*(f"IOs{total}" for total in totals), *(() if mixed else ("I/Os",))),
            ios_per_s=value(*(f"IOPS{rate}" for rate in rates)),
            entries=value(*(f"{kind}{total}" for kind in _ENTRIES for total in totals), *entries),
            entries_per_s=value(*(f"{kind}/s{rate}" for kind in (*_ENTRIES, "entries") for rate in rates)),
            io_latencies=phase.latencies.get((True, mixed)),
            entry_latencies=phase.latencies.get((False, mixed)),
            longest_io_us=phase.longest_us.get((True, mixed)),
            longest_entry_us=phase.longest_us.get((False, mixed)),
        )

    return Row(
        file=source.path,
        line=phase.line,
        phase=phase.name,
        began=execution.began,
        label=execution.label,
        version=None,
        command=execution.command,
        configuration=_configuration(execution.command),
        first=totals(0),
        last=totals(1),
        first_mixed=totals(0, mixed=True),
        last_mixed=totals(1, mixed=True),
    )


def _elapsed_ms(phase: _Phase, column: int) -> int:
    """Milliseconds. Old versions print them whole; newer ones `87ms`, `2m5.755s`."""
    for name in ("Elapsed ms", "time ms"):
        if name in phase.values:
            return integer(phase.values[name][column], phase.line, name)
    text = phase.values.get("Elapsed time", ("", ""))[column]
    match = _ELAPSED.fullmatch(text)
    if not text or match is None:
        raise Refused(f"has {text!r} where the elapsed time of a phase should be", phase.line)
    hours, minutes, seconds, thousandths, ms = (int(part or 0) for part in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + thousandths + ms


def _configuration(command: str) -> Mapping[str, str]:
    """The configuration in a command line, by the names of the CSV; empty values for what it does not say."""
    configuration = dict.fromkeys(CONFIGURATION, "")
    if not command:
        return configuration
    try:
        words = shlex.split(command)[1:]
    except ValueError:  # a quote that does not close
        return configuration
    configuration |= {"hosts": "1", "threads": "1", "direct IO": "0", "random": "0", "IO depth": "1"}
    index = 0
    while index < len(words):
        word, _, inline = words[index].partition("=")
        index += 1
        short, attached = words[index - 1][:2], words[index - 1][2:]
        if word in _SWITCHES:
            configuration[_SWITCHES[word]] = "1"
        elif word in _VALUED and not inline:
            configuration[_VALUED[word]] = words[index] if index < len(words) else ""
            index += 1
        elif word in _VALUED:
            configuration[_VALUED[word]] = inline
        elif short in _VALUED and not word.startswith("--"):
            configuration[_VALUED[short]] = attached
    if configuration["hosts"] != "1":
        configuration["hosts"] = "" if "[" in configuration["hosts"] else str(configuration["hosts"].count(",") + 1)
    for name in _SIZES:
        configuration[name] = _bytes(configuration[name])
    if configuration["dirs"] or configuration["files"]:
        configuration["path type"] = "dir"
    return configuration


def _bytes(text: str) -> str:
    """elbencho's sizes are binary, `1m` and `1M` alike."""
    try:
        return str(parse_bytes(text.lower())) if text else ""
    except ValueError:
        return ""
