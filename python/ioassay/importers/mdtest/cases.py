"""mdtest's executions as cases: a case for each iteration where `-v` tells them apart, else one of their means."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ioassay.importers import doubts, model, ranks_csv
from ioassay.importers.command_line import Options
from ioassay.importers.mdtest import table
from ioassay.importers.mdtest.table import Table, phase
from ioassay.importers.mdtest.text import OPERATIONS, STONEWALL, Execution, Line
from ioassay.importers.model import Beside, Case, Doubt, Measured, Setting, Stonewall, Summarised
from ioassay.importers.numbers import Printed, moment_ns
from ioassay.importers.source import Source
from ioassay.protocol.facts import MDTEST_VALUED
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes

_BY_RANK = re.compile(r"saveRankPerformanceDetails=([^\s'\"]+)")

_CERTAIN = 0.001
"""How exactly a product of rate and time must tell a count of items to be taken for one."""


def of(source: Source, execution: Execution, beside: Beside) -> Case:
    """The case of an execution."""
    told = Parsed(execution)
    by_rank = _by_rank(execution.command, beside)
    return Case(
        tool_version=execution.version,
        settings=told.settings,
        amount=told.amount,
        clients=execution.nodes,
        ranks=execution.tasks,
        measured=[
            measured(source, execution, told, name, by_rank)
            for name in OPERATIONS
            if name in execution.rates and execution.rates[name].mean.value > 0
        ],
        target=told.options.value("d"),
        command=execution.command,
        facts=model.told({"path": execution.path}),
        started_unix_ns=moment_ns(execution.started),
        ended_unix_ns=moment_ns(execution.finished),
    )


def _by_rank(command: str, beside: Beside) -> Table | None:
    """What each rank did, where the command line names a file for it and that lies beside this one."""
    match = _BY_RANK.search(command)
    found = beside(match[1].rsplit("/", 1)[-1]) if match else None
    return table.read(found) if found is not None and table.is_by_rank(found.text) else None


class Parsed:
    """What an execution's command line says of its numbers."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.options = Options(execution.command, MDTEST_VALUED)

    @property
    def is_tree(self) -> bool:
        """Directories below directories: then the count that mdtest prints is not that of the items."""
        return any(self.options.has(letter) for letter in "bzI")

    @property
    def is_walled(self) -> bool:
        """A stonewall, this one's or that of an earlier execution, decides how many items there are."""
        return any(self.options.has(letter) for letter in "Wx")

    @property
    def layout(self) -> str:
        """As the tables call it."""
        return "unique" if self.options.has("u") else "shared"

    @property
    def settings(self) -> list[Setting]:
        """What tells its numbers from those of another, in the order in which a title names it."""
        options, found = self.options, {}
        found["layout"] = "a directory for each rank" if self.layout == "unique" else "one directory"
        found["API"] = options.value("a") or "POSIX"
        for letter, word in (("w", "writing"), ("e", "reading")):
            if size := options.value(letter):
                found[word] = f"{word} {format_bytes(int(size))}" if size.isdigit() else f"{word} {size}"
        depth, branches = options.value("z"), options.value("b")
        found["tree"] = f"tree of depth {depth or 0} with {branches or 1} branches" if depth or branches else ""
        found["stride"] = f"ranks shifted by {stride}" if (stride := options.value("N")) not in (None, "0") else ""
        for letter, word in (("c", "created by one rank"), ("y", "synced"), ("Y", "sync after each phase")):
            found[word] = word if options.has(letter) else ""
        found["stonewall"] = f"stonewall {options.value('W')} s" if options.has("W") else ""
        found["file system"] = f"file system of {self.execution.file_system}" if self.execution.file_system else ""
        found["version"] = f"mdtest {self.execution.version}"
        return model.told(found)

    @property
    def amount(self) -> str:
        """What each rank does, in words."""
        each, leaf = self.options.value("n"), self.options.value("I")
        return f"{each} items" if each else f"{leaf} items in each directory" if leaf else ""

    def bytes_each(self, operation: Operation) -> int:
        """What is moved into or out of each file."""
        size = self.options.value({"create": "w", "read": "e"}.get(operation, "-"))
        return int(size) if size and size.isdigit() else 0


def measured(source: Source, execution: Execution, told: Parsed, name: str, by_rank: Table | None) -> Measured:
    """The measurement of an operation, by mdtest's name of it."""
    line, time = execution.rates[name], execution.times.get(name)
    rate, operation = line.mean, OPERATIONS[name]
    whole = by_rank.whole.get(name) if by_rank is not None and execution.iterations == 1 else None
    each = by_rank.ranks.get(name) if by_rank is not None and whole is not None else None
    operations = _operations(execution, told, name, rate, time.mean if time else None)
    incomplete = each is not None and not name.startswith("Tree") and each.height != execution.tasks
    found = [doubts.ranks_missing(each.height, execution.tasks)] if each is not None and incomplete else []
    each = None if incomplete else each
    seconds = time.mean.value if time is not None else None
    if whole is not None:
        operations, seconds = whole.operations, whole.seconds
    seconds = seconds or (operations / rate.value if operations else None)
    # Only what is made of files holds bytes.
    size = told.bytes_each(operation) if name.startswith("File") else 0
    moved = operations * size if operations is not None and size else None
    several = execution.iterations > 1
    return Measured(
        file=source.path,
        line=line.line,
        phase=phase(name),
        operation=operation,
        layout=told.layout,
        order="random" if told.options.has("R") and operation == "stat" else "sequential",
        files=0,
        transfer_bytes=size or None,
        # Where a stonewall decides how many files there are, nobody has asked for their size.
        file_set_bytes=moved if operation == "create" and not told.is_walled else None,
        command=execution.command,
        bytes=moved if size else 0,
        operations=operations,
        duration_ns=None if seconds is None else round(seconds * 1e9),
        rate_bytes_per_s=rate.value * size if size else None,
        rate_operations_per_s=rate.value,
        half_unit_per_s=rate.half_unit,
        stonewall=_stonewall(execution, name),
        finish_spread_ns=ranks_csv.spread_ns(each),
        each=each,
        summarised=_summarised(execution, line),
        doubts=[*found, *([doubts.mean_only(execution.iterations)] if several else []), *_doubts(told, name, seconds)],
    )


def _operations(execution: Execution, told: Parsed, name: str, rate: Printed, time: Printed | None) -> int | None:
    """How many there were: what mdtest says beforehand, where that fits rate and time; else their product, if it is
    certain enough.
    """
    product = rate.value * time.value if time is not None else None
    if not told.is_walled and not told.is_tree and not name.startswith("Tree"):
        said = execution.items
        if product is None or time is None:
            return said
        if said is not None and abs(said - product) <= rate.value * time.half_unit + 1:
            return said
    if product is None or time is None or time.half_unit > time.value * _CERTAIN:
        return None
    return round(product)


def _stonewall(execution: Execution, name: str) -> Stonewall | None:
    """Where file creation stood when its stonewall came."""
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
    """The greatest and the least, of iterations or of ranks in all iterations."""
    if line.lowest is None or line.highest is None or line.lowest.value == line.highest.value:
        return None
    return Summarised(
        repetitions=execution.iterations,
        lowest=line.lowest.value,
        highest=line.highest.value,
        standard_deviation=line.deviation.value if line.deviation and not line.by_rank else None,
    )


def _doubts(told: Parsed, name: str, seconds: float | None) -> Iterator[Doubt]:
    options = told.options
    if name in ("File stat", "File read", "Directory stat") and not options.has("N") and not options.has("S"):
        yield Doubt(
            kind="attributes-cached",
            message="each rank accessed items that its node had created and may have cached",
            remedy="measure again on several nodes, with -N set to the ranks of a node",
        )
    if seconds is not None:
        yield from doubts.short_phase(seconds, "work on more items: a larger -n")
