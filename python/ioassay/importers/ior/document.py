"""IOR's JSON, of 3.2 and later. Numbers have four decimals, so short times are coarse.

IOR writes it piece by piece: what a verbose one prints between the pieces breaks it, and so does being killed. 3.2 sets
its brackets wrongly where there are repetitions. Such a document is read by its innermost objects (`pieces`), and taken
if every iteration that was asked for is there.
"""

from __future__ import annotations

import re
from typing import Any

from ioassay.importers.ior import pieces
from ioassay.importers.ior.tests import ACCESSES, Access, Execution, Row, Test
from ioassay.importers.ior.text import BANNER, summary
from ioassay.importers.json_text import Parsed, documents, lines_of
from ioassay.importers.numbers import Printed
from ioassay.importers.source import Refused, Source

_SUMMARY = {
    "Max(MiB)": "bwMaxMIB",
    "Min(MiB)": "bwMinMIB",
    "Mean(MiB)": "bwMeanMIB",
    "StdDev": "bwStdMIB",
    "Mean(s)": "MeanTime",
    "#Tasks": "numTasks",
    "tPN": "tasksPerNode",
    "reps": "repetitions",
    "segcnt": "segmentCount",
    "blksiz": "blockSize",
    "xsize": "transferSize",
    "Stonewall(s)": "StoneWallTime",
    "Stonewall(MiB)": "StoneWallMiB",
}
"""The names of a summary's numbers in the table that IOR prints, and here."""

_OF_TEST = {"StartTime": "StartTime", "FS": "Capacity", "Path": "Path"}
"""What stands beside a test's parameters, by the names of the text."""

_ASKED = {"write": "writeFile", "read": "readFile"}
"""The parameters that say whether an access was asked for."""


_BEGIN = re.compile(r"^[ \t]*\{[ \t\r]*$", re.MULTILINE)


def is_document(text: str) -> bool:
    """True for this JSON. IOR's banner and other lines may stand before it."""
    return bool(_BEGIN.search(text)) and '"Command line"' in text


def executions(source: Source) -> list[Execution]:
    """The execution that each document describes. Raises `Refused`."""
    try:
        found = list(documents(source, as_printed=True))
    except Refused as error:
        mended = pieces.documents(source)
        if not mended:
            raise
        return [_whole(_checked(source, told), told.line, error) for told in mended]
    return [_checked(source, told) for told in found]


def _whole(execution: Execution, line: int, broken: Refused) -> Execution:
    """The execution of a document that is `broken`. Raises `Refused` unless each test has every iteration."""
    for test in execution.tests:
        options = test.options
        asked = [access for access in ACCESSES.values() if options.get(_ASKED[access]) == "1"]
        wanted = {(access, at) for access in asked for at in range(int(options.get("repetitions", "0")))}
        if not wanted or sorted(wanted) != sorted((row.access, row.iteration) for row in test.rows):
            raise Refused(f"{broken.reason}; it does not have every iteration either", broken.line or line)
    return execution


def _checked(source: Source, told: Parsed) -> Execution:
    if not (told.has("tests") and told.has("Command line")):
        raise Refused("is not IOR's JSON: it has no tests, or no command line", told.line)
    try:
        return _execution(source, told)
    except KeyError as error:
        raise Refused(f"is not JSON as IOR writes it: it lacks {error}", told.line) from error
    except (IndexError, OverflowError, TypeError, AttributeError, ValueError) as error:
        raise Refused(f"is not JSON as IOR writes it: {type(error).__name__} {error}", told.line) from error


def _execution(source: Source, told: Parsed) -> Execution:
    content = told.values
    facts = {"began": "Began", "ended": "Finished", "command": "Command line", "machine": "Machine"}
    found = Execution(
        told.line,
        content.get("Version") or _version_above(source, told.line),
        {name: str(content[key]) for name, key in facts.items() if content.get(key)},
    )
    lines = lines_of(source, told, '"access": "')
    for test in content["tests"]:
        found.tests.append(_test(test, lines))
    ends = lines_of(source, told, '"operation": "')
    for sums, line in zip(content.get("summary", []), ends, strict=False):
        if "bwMaxMIB" not in sums:
            continue
        exact = {name: str(sums[key]) for name, key in _SUMMARY.items() if key in sums}
        own = next((test for test in found.tests if str(test.number) == str(sums["TestID"])), found.tests[-1])
        own.summaries[ACCESSES[sums["operation"]]] = summary(exact, line)
        own.tasks = int(sums["numTasks"])
    if not any(test.rows for test in found.tests):
        raise Refused("has no result", told.line)
    return found


def _version_above(source: Source, line: int) -> str | None:
    """The version in the banner above a document: 3.2 does not have it in there."""
    banners = [match for text in source.lines[:line] if (match := BANNER.search(text))]
    return banners[-1][1] if banners else None


def _test(test: dict[str, Any], lines: list[int]) -> Test:
    parameters, options = test.get("Parameters", {}), test.get("Options", {})
    own = Test(int(test["TestID"]), 1, {key: str(value) for key, value in options.items()})
    own.options |= {name: str(test.get(key, "")) for name, key in _OF_TEST.items()}
    own.options |= {name: str(parameters[name]) for name in _ASKED.values() if name in parameters}
    own.options["stonewallingTime"] = str(parameters.get("deadlineForStonewall", "0"))
    own.block_bytes, own.transfer_bytes = int(parameters["blockSize"]), int(parameters["transferSize"])
    seen: dict[Access, int] = {}
    for row in _rows(test["Results"]):
        line = lines.pop(0) if lines else 1
        if row["access"] not in ACCESSES:
            continue
        access = ACCESSES[row["access"]]
        own.rows.append(
            Row(
                line,
                access,
                seen.setdefault(access, 0),
                Printed.of(row["bwMiB"], line, "bwMiB"),
                Printed.of(row["totalTime"], line, "totalTime"),
            )
        )
        seen[access] += 1
    return own


def _rows(results: list[Any]) -> list[dict[str, Any]]:
    """The iterations: a list of them, or a list of lists where there are several repetitions."""
    return [row for part in results for row in (part if isinstance(part, list) else [part])]
