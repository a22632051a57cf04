"""mdtest's executions as cases: a case for each iteration if `-v` shows them, else one of their means."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.importers import doubts, model, ranks_csv
from ioassay.importers.command_line import Options
from ioassay.importers.mdtest import table
from ioassay.importers.mdtest.table import Table, phase
from ioassay.importers.mdtest.text import OPERATIONS, STONEWALL, Execution, Line
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling, Setting, Stonewall, Summarised
from ioassay.importers.numbers import Printed, moment_ns
from ioassay.importers.source import Source
from ioassay.protocol.facts import MDTEST_VALUED
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes

_BY_RANK = re.compile(r"saveRankPerformanceDetails=([^\s'\"]+)")

_CERTAIN = 0.001
"""Highest relative uncertainty of the product of rate and time that is taken as a count of items."""


def of(source: Source, execution: Execution, open_sibling: OpenSibling) -> Case:
    """The case of an execution."""
    parsed = Parsed(execution)
    by_rank = _by_rank(execution.command, open_sibling)
    return Case(
        tool_version=execution.version,
        settings=parsed.settings,
        amount=parsed.amount,
        clients=execution.nodes,
        ranks=execution.tasks,
        measured=[
            measured(source, execution, parsed, name, by_rank)
            for name in OPERATIONS
            if name in execution.rates and execution.rates[name].mean.value > 0
        ],
        target=parsed.options.value("d"),
        command=execution.command,
        facts=model.nonempty_settings({"path": execution.path}),
        started_unix_ns=moment_ns(execution.started),
        ended_unix_ns=moment_ns(execution.finished),
    )


def _by_rank(command: str, open_sibling: OpenSibling) -> Table | None:
    """Results by rank, if the command line names a file for them and that file lies beside this one."""
    match = _BY_RANK.search(command)
    sibling = open_sibling(match[1].rsplit("/", 1)[-1]) if match else None
    return table.read(sibling) if sibling is not None and table.is_by_rank(sibling.text) else None


class Parsed:
    """The options in an execution's command line that its numbers depend on."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.options = Options(execution.command, MDTEST_VALUED)

    @property
    def is_tree(self) -> bool:
        """Nested directories: the count that mdtest prints is then not the number of items."""
        return any(self.options.has(letter) for letter in "bzI")

    @property
    def is_walled(self) -> bool:
        """A stonewall, its own or that of an earlier execution, decides how many items there are."""
        return any(self.options.has(letter) for letter in "Wx")

    @property
    def layout(self) -> str:
        return "unique" if self.options.has("u") else "shared"

    @property
    def settings(self) -> list[Setting]:
        """Settings that distinguish its results, in the order of a title."""
        options, values = self.options, {}
        values["layout"] = "a directory for each rank" if self.layout == "unique" else "one directory"
        values["API"] = options.value("a") or "POSIX"
        for letter, word in (("w", "writing"), ("e", "reading")):
            if size := options.value(letter):
                values[word] = f"{word} {format_bytes(int(size))}" if size.isdigit() else f"{word} {size}"
        depth, branches = options.value("z"), options.value("b")
        values["tree"] = f"tree of depth {depth or 0} with {branches or 1} branches" if depth or branches else ""
        values["stride"] = f"ranks shifted by {stride}" if (stride := options.value("N")) not in (None, "0") else ""
        for letter, word in (("c", "created by one rank"), ("y", "synced"), ("Y", "sync after each phase")):
            values[word] = word if options.has(letter) else ""
        values["stonewall"] = f"stonewall {options.value('W')} s" if options.has("W") else ""
        values["file system"] = f"file system of {self.execution.file_system}" if self.execution.file_system else ""
        values["version"] = f"mdtest {self.execution.version}"
        return model.nonempty_settings(values)

    @property
    def amount(self) -> str:
        """The work of a rank, in words."""
        items_per_rank, items_per_directory = self.options.value("n"), self.options.value("I")
        return (
            f"{items_per_rank} items"
            if items_per_rank
            else f"{items_per_directory} items in each directory"
            if items_per_directory
            else ""
        )

    def bytes_each(self, operation: Operation) -> int:
        """Bytes moved into or out of each file."""
        size = self.options.value({"create": "w", "read": "e"}.get(operation, "-"))
        return int(size) if size and size.isdigit() else 0


def measured(source: Source, execution: Execution, parsed: Parsed, name: str, by_rank: Table | None) -> Measurement:
    """The measurement of an operation, named as by mdtest."""
    line, time = execution.rates[name], execution.times.get(name)
    rate, operation = line.mean, OPERATIONS[name]
    total = by_rank.totals.get(name) if by_rank is not None and execution.iterations == 1 else None
    by_rank_rows = by_rank.ranks.get(name) if by_rank is not None and total is not None else None
    operations = _operations(execution, parsed, name, rate, time.mean if time else None)
    incomplete = by_rank_rows is not None and not name.startswith("Tree") and by_rank_rows.height != execution.tasks
    found_doubts = (
        [doubts.ranks_missing(by_rank_rows.height, execution.tasks)] if by_rank_rows is not None and incomplete else []
    )
    by_rank_rows = None if incomplete else by_rank_rows
    seconds = time.mean.value if time is not None else None
    if total is not None:
        operations, seconds = total.operations, total.seconds
    seconds = seconds or (operations / rate.value if operations else None)
    # Only operations on files move bytes.
    size = parsed.bytes_each(operation) if name.startswith("File") else 0
    moved = operations * size if operations is not None and size else None
    is_mean = execution.iterations > 1
    return Measurement(
        file=source.path,
        line=line.line,
        phase=phase(name),
        operation=operation,
        layout=parsed.layout,
        order="random" if parsed.options.has("R") and operation == "stat" else "sequential",
        files=0,
        transfer_bytes=size or None,
        # With a stonewall, the size of the file set was not requested.
        file_set_bytes=moved if operation == "create" and not parsed.is_walled else None,
        command=execution.command,
        bytes=moved if size else 0,
        operations=operations,
        duration_ns=None if seconds is None else round(seconds * 1e9),
        rate_bytes_per_s=rate.value * size if size else None,
        rate_operations_per_s=rate.value,
        half_unit_per_s=rate.half_unit,
        stonewall=_stonewall(execution, name),
        finish_spread_ns=ranks_csv.spread_ns(by_rank_rows),
        each=by_rank_rows,
        summarised=_summarised(execution, line),
        doubts=[
            *found_doubts,
            *([doubts.mean_only(execution.iterations)] if is_mean else []),
            *_doubts(parsed, name, seconds),
        ],
    )


def _operations(execution: Execution, parsed: Parsed, name: str, rate: Printed, time: Printed | None) -> int | None:
    """Number of operations: the count that mdtest prints beforehand if it fits rate and time, otherwise their product
    if it is exact enough.
    """
    product = rate.value * time.value if time is not None else None
    if not parsed.is_walled and not parsed.is_tree and not name.startswith("Tree"):
        printed_items = execution.items
        if product is None or time is None:
            return printed_items
        if printed_items is not None and abs(printed_items - product) <= rate.value * time.half_unit + 1:
            return printed_items
    if product is None or time is None or time.half_unit > time.value * _CERTAIN:
        return None
    return round(product)


def _stonewall(execution: Execution, name: str) -> Stonewall | None:
    """Totals of file creation at its stonewall."""
    rate, time = execution.rates.get(STONEWALL), execution.times.get(STONEWALL)
    if name != "File creation" or not execution.stonewalls:
        return None
    least, most, mean = execution.stonewalls[-1]
    return Stonewall(
        at_ns=time.mean.nanoseconds if time else None,
        operations=round(mean * execution.tasks),
        least_operations=least,
        most_operations=most,
        rate_operations_per_s=rate.mean.value if rate else None,
    )


def _summarised(execution: Execution, line: Line) -> Summarised | None:
    """Highest and lowest, of iterations or of ranks in all iterations."""
    if line.lowest is None or line.highest is None or line.lowest.value == line.highest.value:
        return None
    return Summarised(
        repetitions=execution.iterations,
        lowest=line.lowest.value,
        highest=line.highest.value,
        standard_deviation=line.deviation.value if line.deviation and not line.by_rank else None,
    )


def _doubts(parsed: Parsed, name: str, seconds: float | None) -> Iterator[Doubt]:
    options = parsed.options
    if name in ("File stat", "File read", "Directory stat") and not options.has("N") and not options.has("S"):
        yield Doubt(
            kind="attributes-cached",
            message="each rank accessed items that its node had created and may have cached",
            remedy="measure again on several nodes, with -N set to the ranks of a node",
        )
    if seconds is not None:
        yield from doubts.short_phase(seconds, "work on more items: a larger -n")
