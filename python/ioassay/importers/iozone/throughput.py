"""IOzone's throughput mode: a block of lines for each test.

The children's throughput is the sum of their rates: of what each had done when the first finished, or with `-x`
at its own end. The average is that sum over their number, which reveals a damaged block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ioassay.importers.iozone.execution import Execution
from ioassay.importers.iozone.phases import OF_CHILDREN, Phase
from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused

_RATE = r"=\s*([\d.]+) (kB|KB|ops)/sec\s*"
_CHILDREN = re.compile(rf"\s*Children see throughput for\s+(\d+) (.+?)\s*{_RATE}")
_PARENT = re.compile(rf"\s*Parent sees throughput for\s+(\d+) (.+?)\s*{_RATE}")
_OF_EACH = re.compile(rf"\s*(Min|Max|Avg) throughput per (?:process|thread)\s*{_RATE}")
_LEAST = re.compile(r"\s*Min xfer\s*=\s*([\d.]+) (kB|KB|ops)\s*")
_CHILD = re.compile(rf"\s*Child\[(\d+)\] xfer count =\s*([\d.]+) (kB|KB|ops), Throughput {_RATE}")
_GROUP = re.compile(r"\s*Each (?:process|thread) writes a (\d+) [kK][bB]yte file in (\d+) [kK][bB]yte records\s*")
_BLOCK = re.compile(r"\s*(?:Children see|Parent sees|(?:Min|Max|Avg) throughput|Min xfer|Child\[)")


@dataclass
class Test:
    """A test. Rates and amounts are in kB or in operations, as `in_operations` says."""

    line: int
    phase: Phase
    children: int
    rate: Printed
    in_operations: bool
    parent: Printed | None = None
    of_each: dict[str, Printed] = field(default_factory=dict)
    least: Printed | None = None
    each: list[Printed] = field(default_factory=list)
    """The amount of each child."""

    @property
    def is_whole(self) -> bool:
        """True if no line is missing, apart from those of children."""
        return self.least is not None and set(self.of_each) == {"Min", "Max", "Avg"}


@dataclass
class Group:
    """The tests of one number of children."""

    file_kib: int | None
    record_kib: int | None
    tests: list[Test] = field(default_factory=list)


def groups(execution: Execution) -> list[Group]:
    """The groups that have a test. Raises `Refused` for a damaged or incomplete block."""
    all_groups = [Group(None, None)]
    for number, text in execution.lines:
        if match := _GROUP.fullmatch(text):
            all_groups.append(Group(int(match[1]), int(match[2])))
        elif match := _CHILDREN.fullmatch(text):
            if match[2] not in OF_CHILDREN:
                raise Refused(f"has a test of an unknown version of IOzone: {match[2]!r}", number)
            test = _test(match, number)
            group = all_groups[-1]
            if any(
                test.children != earlier_test.children or test.phase == earlier_test.phase
                for earlier_test in group.tests
            ):
                all_groups.append(Group(group.file_kib, group.record_kib))
            all_groups[-1].tests.append(test)
        elif _BLOCK.match(text):
            _take(all_groups[-1].tests, text, number)
    if execution.interrupted is not None and all_groups[-1].tests and not all_groups[-1].tests[-1].is_whole:
        all_groups[-1].tests.pop()
    for group in all_groups:
        for test in group.tests:
            _check(test)
    return [group for group in all_groups if group.tests]


def _test(match: re.Match[str], line: int) -> Test:
    return Test(
        line,
        OF_CHILDREN[match[2]],
        int(match[1]),
        Printed.of(match[3], line, "throughput"),
        match[4] == "ops",
    )


def _take(tests: Sequence[Test], text: str, line: int) -> None:
    """Adds a line to the last test."""
    if not tests:
        raise Refused("has a line of a test before the test", line)
    test = tests[-1]
    if match := _PARENT.fullmatch(text):
        test.parent = Printed.of(match[3], line)
        fits = int(match[1]) == test.children and OF_CHILDREN.get(match[2]) == test.phase and test.least is None
    elif match := _OF_EACH.fullmatch(text):
        test.of_each[match[1]] = Printed.of(match[2], line)
        fits = test.least is None
    elif match := _LEAST.fullmatch(text):
        fits = test.least is None
        test.least = Printed.of(match[1], line)
    elif match := _CHILD.fullmatch(text):
        fits = int(match[1]) == len(test.each)
        test.each.append(Printed.of(match[2], line))
    else:
        fits = False
    if not fits:
        raise Refused(f"has a line that does not fit its test: {text.strip()[:60]!r}", line)


def _check(test: Test) -> None:
    """Raises `Refused` unless the block is complete and its numbers agree."""
    if not test.is_whole:
        raise Refused(f"has an incomplete test: {test.phase.name}", test.line)
    most, mean = test.of_each["Max"], test.of_each["Avg"]  # the least leaves out children that did nothing
    rounding = test.children * mean.half_unit + test.rate.half_unit + 1e-6 * test.rate.value
    if abs(mean.value * test.children - test.rate.value) > rounding or most.value > test.rate.value + rounding:
        raise Refused(f"has a test whose numbers do not add up: {test.phase.name}", test.line)
    if test.each and len(test.each) != test.children:
        raise Refused(f"has {len(test.each)} of the {test.children} children of a test", test.line)
