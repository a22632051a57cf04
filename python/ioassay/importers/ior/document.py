"""IOR's JSON, of 3.2 and later. Numbers have four decimals, so short times are coarse.

IOR writes it piece by piece: verbose output between the pieces breaks it, and so does being killed. 3.2 writes wrong
brackets if there are repetitions. Such a document is read by its innermost objects (`pieces`), and accepted if it has
every requested iteration.
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
"""The names of a summary's numbers in IOR's table, and in its JSON."""

_OF_TEST = {"StartTime": "StartTime", "FS": "Capacity", "Path": "Path"}
"""Values beside a test's parameters, by their names in the text output."""

_REQUESTED = {"write": "writeFile", "read": "readFile"}
"""The parameters that say whether an access was requested."""


_BEGIN = re.compile(r"^[ \t]*\{[ \t\r]*$", re.MULTILINE)


def is_document(text: str) -> bool:
    """True for IOR's JSON, which IOR's banner and other lines may precede."""
    return bool(_BEGIN.search(text)) and '"Command line"' in text


def executions(source: Source) -> list[Execution]:
    """The execution of each document. Raises `Refused`."""
    try:
        parsed_documents = list(documents(source, as_printed=True))
    except Refused as error:
        repaired = pieces.documents(source)
        if not repaired:
            raise
        return [_whole(_checked(source, document), document.line, error) for document in repaired]
    return [_checked(source, document) for document in parsed_documents]


def _whole(execution: Execution, line: int, broken: Refused) -> Execution:
    """The execution of a broken document. Raises `Refused` unless each test has every iteration."""
    for test in execution.tests:
        options = test.options
        requested = [access for access in ACCESSES.values() if options.get(_REQUESTED[access]) == "1"]
        expected = {
            (access, iteration) for access in requested for iteration in range(int(options.get("repetitions", "0")))
        }
        if not expected or sorted(expected) != sorted((row.access, row.iteration) for row in test.rows):
            raise Refused(f"{broken.reason}; it does not have every iteration either", broken.line or line)
    return execution


def _checked(source: Source, document: Parsed) -> Execution:
    if not (document.has("tests") and document.has("Command line")):
        raise Refused("is not IOR's JSON: it has no tests, or no command line", document.line)
    try:
        return _execution(source, document)
    except KeyError as error:
        raise Refused(f"is not JSON as IOR writes it: it lacks {error}", document.line) from error
    except (IndexError, OverflowError, TypeError, AttributeError, ValueError) as error:
        raise Refused(f"is not JSON as IOR writes it: {type(error).__name__} {error}", document.line) from error


def _execution(source: Source, document: Parsed) -> Execution:
    content = document.values
    facts = {"began": "Began", "ended": "Finished", "command": "Command line", "machine": "Machine"}
    execution = Execution(
        document.line,
        content.get("Version") or _version_above(source, document.line),
        {name: str(content[key]) for name, key in facts.items() if content.get(key)},
    )
    lines = lines_of(source, document, '"access": "')
    for test in content["tests"]:
        execution.tests.append(_test(test, lines))
    ends = lines_of(source, document, '"operation": "')
    for sums, line in zip(content.get("summary", []), ends, strict=False):
        if "bwMaxMIB" not in sums:
            continue
        exact = {name: str(sums[key]) for name, key in _SUMMARY.items() if key in sums}
        summarised_test = next(
            (test for test in execution.tests if str(test.number) == str(sums["TestID"])), execution.tests[-1]
        )
        summarised_test.summaries[ACCESSES[sums["operation"]]] = summary(exact, line)
        summarised_test.tasks = int(sums["numTasks"])
    if not any(test.rows for test in execution.tests):
        raise Refused("has no result", document.line)
    return execution


def _version_above(source: Source, line: int) -> str | None:
    """The version in the banner above a document; 3.2 does not have it in the document."""
    banners = [match for text in source.lines[:line] if (match := BANNER.search(text))]
    return banners[-1][1] if banners else None


def _test(test: dict[str, Any], lines: list[int]) -> Test:
    parameters, options = test.get("Parameters", {}), test.get("Options", {})
    parsed_test = Test(int(test["TestID"]), 1, {key: str(value) for key, value in options.items()})
    parsed_test.options |= {name: str(test.get(key, "")) for name, key in _OF_TEST.items()}
    parsed_test.options |= {name: str(parameters[name]) for name in _REQUESTED.values() if name in parameters}
    parsed_test.options["stonewallingTime"] = str(parameters.get("deadlineForStonewall", "0"))
    parsed_test.block_bytes, parsed_test.transfer_bytes = int(parameters["blockSize"]), int(parameters["transferSize"])
    iterations: dict[Access, int] = {}
    for row in _rows(test["Results"]):
        line = lines.pop(0) if lines else 1
        if row["access"] not in ACCESSES:
            continue
        access = ACCESSES[row["access"]]
        parsed_test.rows.append(
            Row(
                line,
                access,
                iterations.setdefault(access, 0),
                Printed.of(row["bwMiB"], line, "bwMiB"),
                Printed.of(row["totalTime"], line, "totalTime"),
            )
        )
        iterations[access] += 1
    return parsed_test


def _rows(results: list[Any]) -> list[dict[str, Any]]:
    """The iterations: a list, or a list of lists if there are several repetitions."""
    return [row for part in results for row in (part if isinstance(part, list) else [part])]
