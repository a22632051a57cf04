"""IOzone's tests as cases: a group of throughput mode, or a row of auto mode.

IOzone does not print how long a test took. The parent's rate, the amount over the parent's own time, has no column; if
it is much lower, the children did not run concurrently, which is a doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ioassay.importers import doubts, model
from ioassay.importers.iozone.execution import Execution
from ioassay.importers.iozone.phases import Phase
from ioassay.importers.iozone.table import Row
from ioassay.importers.iozone.throughput import Group, Test
from ioassay.importers.model import Case, Doubt, Measurement, Rank, Setting, Stonewall
from ioassay.importers.numbers import moment_ns
from ioassay.importers.source import Refused, Source
from ioassay.store.document import Operation
from ioassay.text.units import format_bytes

_KIB = 1024
_US_PER_S = 1_000_000
_SIDE_BY_SIDE = 0.9
"""The parent's rate is lower even for concurrent children: it starts them, and waits for them."""


def of_group(source: Source, execution: Execution, group: Group) -> Case:
    """The case of one number of children. Raises `Refused` if no test can be imported."""
    mixes = [test for test in group.tests if test.phase.operation is None]
    measured = [measurement for test in group.tests for measurement in _of_test(source, execution, group, test, mixes)]
    if not measured:
        raise Refused("has only a mix of reads and writes in one number", group.tests[0].line)
    return _case(execution, group.record_kib, group.file_kib, group.tests[0].children, measured)


def of_row(source: Source, execution: Execution, row: Row) -> Case:
    """The case of a row of auto mode. Raises `Refused` if it has no number."""
    # 0: the test was not run.
    numbers = [(phase, number) for phase, number in row.numbers if number]
    measured = [
        measurement for phase, number in numbers for measurement in _of_number(source, execution, row, phase, number)
    ]
    if not measured:
        raise Refused("has a row without a result", row.line)
    return _case(execution, row.record_kib, row.file_kib, 1, measured)


def _case(
    execution: Execution, record_kib: int | None, file_kib: int | None, children: int, measured: list[Measurement]
) -> Case:
    if execution.interrupted is not None:
        measured = [
            replace(measurement, doubts=[*measurement.doubts, _interrupted(execution.interrupted)])
            for measurement in measured
        ]
    is_distributed = execution.options.says("-+m") or execution.says("Network distribution mode")
    return Case(
        tool_version=execution.version,
        settings=_settings(execution, record_kib, file_kib),
        amount="",
        clients=None if is_distributed or not execution.is_whole_output else 1,
        ranks=children,
        measured=measured,
        command=execution.command,
        facts=model.nonempty_settings({"machine": execution.machine}),
        started_unix_ns=moment_ns(execution.began),
    )


def _settings(execution: Execution, record_kib: int | None, file_kib: int | None) -> list[Setting]:
    values = {
        "record": "" if record_kib is None else f"records of {format_bytes(record_kib * _KIB)}",
        "file": "" if file_kib is None else f"files of {format_bytes(file_kib * _KIB)}",
        "direct": "direct I/O" if _is_direct(execution) else "",
        "sync": "O_SYNC" if execution.says("SYNC Mode.") else "",
        "fsync": "fsync" if execution.says("Include fsync in write timing") else "",
        "close": "with close" if execution.says("Include close in write timing") else "",
        "stonewall": "no stonewall" if execution.says("Stonewall disabled") else "",
        "version": f"IOzone {execution.version}" if execution.version else "",
    }
    return model.nonempty_settings(values)


def _of_test(
    source: Source, execution: Execution, group: Group, test: Test, mixes: Sequence[Test]
) -> Iterator[Measurement]:
    """The measurement of a test of throughput mode; nothing for a mix."""
    operation = test.phase.operation
    if operation is None:
        return
    record_bytes = None if group.record_kib is None else group.record_kib * _KIB
    is_first = next(other_test for other_test in group.tests if other_test.phase.operation is not None) is test
    rate_bytes, rate_operations = _both(test.rate.value, record_bytes, test.in_operations)
    is_stonewalled = not execution.says("Stonewall disabled")
    ranks = list(_ranks(test, record_bytes, is_stonewalled))
    yield Measurement(
        file=source.path,
        line=test.line,
        phase=test.phase.name,
        operation=operation,
        layout="N-N",
        order=test.phase.order,
        files=test.children,
        transfer_bytes=record_bytes,
        file_set_bytes=None if group.file_kib is None else group.file_kib * _KIB * test.children,
        command=execution.command,
        rate_bytes_per_s=rate_bytes,
        rate_operations_per_s=rate_operations,
        stonewall=_stonewall(test, record_bytes, ranks) if is_stonewalled else None,
        each=model.ranks(ranks),
        doubts=[
            *_doubts(execution, operation),
            *_side_by_side(test),
            *([_not_imported(mixes)] if mixes and is_first else []),
        ],
    )


def _both(rate: float, record_bytes: int | None, in_operations: bool) -> tuple[float | None, float | None]:
    """Bytes and operations per second, of which IOzone prints only one."""
    if in_operations:
        return (None if record_bytes is None else rate * record_bytes), rate
    return rate * _KIB, (None if record_bytes is None else rate * _KIB / record_bytes)


def _ranks(test: Test, record_bytes: int | None, is_stonewalled: bool) -> Iterator[Rank]:
    """Amounts of each child when the first finished, or in all."""
    for rank, amount in enumerate(test.each):
        moved, operations = _amounts(amount.value, record_bytes, test.in_operations)
        if is_stonewalled:
            yield Rank(rank=rank, stonewall_bytes=moved, stonewall_operations=operations)
        else:
            yield Rank(rank=rank, bytes=moved, operations=operations)


def _amounts(amount: float, record_bytes: int | None, in_operations: bool) -> tuple[int | None, int | None]:
    """Bytes and operations, of which IOzone prints only one."""
    moved, operations = _both(amount, record_bytes, in_operations)
    return None if moved is None else round(moved), None if operations is None else round(operations)


def _stonewall(test: Test, record_bytes: int | None, ranks: Sequence[Rank]) -> Stonewall:
    """Totals when the first child finished."""
    rate_bytes, rate_operations = _both(test.rate.value, record_bytes, test.in_operations)
    _, least = _amounts(test.least.value if test.least else 0, record_bytes, test.in_operations)
    moved = [rank.stonewall_bytes for rank in ranks if rank.stonewall_bytes is not None]
    operations = [rank.stonewall_operations for rank in ranks if rank.stonewall_operations is not None]
    return Stonewall(
        bytes=sum(moved) if moved else None,
        operations=sum(operations) if operations else None,
        least_operations=least,
        most_operations=max(operations, default=None),
        rate_bytes_per_s=rate_bytes,
        rate_operations_per_s=rate_operations,
    )


def _of_number(source: Source, execution: Execution, row: Row, phase: Phase, number: int) -> Iterator[Measurement]:
    """The measurement of a number of auto mode."""
    operation = phase.operation
    if operation is None:
        return
    record_bytes, size = row.record_kib * _KIB, row.file_kib * _KIB
    rate = _US_PER_S / number if execution.unit == "microseconds" else float(number)
    rate_bytes, rate_operations = _both(rate, record_bytes, execution.unit != "kB/s")
    yield Measurement(
        file=source.path,
        line=row.line,
        phase=phase.name,
        operation=operation,
        layout="N-N",
        order=phase.order,
        files=1,
        transfer_bytes=record_bytes,
        file_set_bytes=size,
        command=execution.command,
        rate_bytes_per_s=rate_bytes,
        rate_operations_per_s=rate_operations,
        doubts=[*_doubts(execution, operation), *doubts.short_phase(size / rate_bytes if rate_bytes else 0)],
    )


def _is_direct(execution: Execution) -> bool:
    return execution.says("O_DIRECT feature enabled") or execution.options.has("I")


def _doubts(execution: Execution, operation: Operation) -> Iterator[Doubt]:
    """Doubts that follow from how IOzone was called."""
    if not execution.command or _is_direct(execution):
        return
    is_synced = execution.says("Include fsync in write timing") or execution.says("SYNC Mode.")
    if operation == "write" and not is_synced:
        yield doubts.unsynced_write("-e")
    if operation == "read" and not execution.options.has("U"):
        yield doubts.may_be_cached("each child reads what it has written itself", "-I, or -U")


def _interrupted(line: int) -> Doubt:
    return Doubt(
        kind="interrupted",
        message="IOzone was interrupted: tests that follow, and the one that ran, are missing",
        remedy="let IOzone finish",
        evidence={"line": line},
    )


def _side_by_side(test: Test) -> Iterator[Doubt]:
    if test.parent is None or test.parent.value >= _SIDE_BY_SIDE * test.rate.value:
        return
    unit = "operations/s" if test.in_operations else "kB/s"
    yield Doubt(
        kind="parent-sees-less",
        message=f"the children's rates add up to {test.rate.text} {unit}, but together they reached only "
        f"{test.parent.text} {unit}: they did not run at the same time",
        remedy="move more data; use the parent's rate in the file",
        evidence={"children": test.rate.value, "parent": test.parent.value},
    )


def _not_imported(mixes: Sequence[Test]) -> Doubt:
    return Doubt(
        kind="not-imported",
        message="the file also has a mix of reads and writes in one number, which is left out",
        remedy="see the file for it",
        evidence={"lines": [test.line for test in mixes]},
    )
