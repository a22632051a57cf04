"""Verdicts as JUnit XML for Jenkins, GitLab and others: a test case each; what was not judged is skipped.

What these readers make of it decides its form. Jenkins takes the class name up to its last dot as a package, and
GitLab shows the text of a failure and no attribute of it. Both know a test again, in later builds, by the names of
suite, class and case, so these say nothing that changes from run to run; that is in the properties of the suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ioassay.reports.check.lines import Line
from ioassay.results.document import RunDocument
from ioassay.written.source import printable

_TOOL = "ioassay check"


def document(run: RunDocument, lines: Sequence[Line]) -> bytes:
    """One test suite that is named after the study, in UTF-8."""
    counts = Counter(line.judgement for line in lines)
    suite = _suite(run.study.name, len(lines), failures=counts["failed"], skipped=counts["not judged"])
    if run.started:
        suite.set("timestamp", run.started)
    properties = SubElement(suite, "properties")
    for name, value in (("run", run.run), ("target", run.target), ("ioassay", run.ioassay_version)):
        SubElement(properties, "property", name=name, value=printable(value))
    for line in lines:
        case = _case(suite, run.study.name, line.group, line.name)
        match line.judgement:
            case "failed":
                _tell(case, "failure", line.says)
            case "not judged":
                _tell(case, "skipped", line.says)
            case "passed":
                SubElement(case, "system-out").text = printable(line.says)
    return _written(suite)


def refusal(message: str) -> bytes:
    """The suite of a check that could not be done: one test case, with the error."""
    suite = _suite("", 1, errors=1)
    _tell(_case(suite, _TOOL, "the check", "can be done"), "error", message)
    return _written(suite)


def _suite(of: str, tests: int, **counts: int) -> Element:
    numbers = {"tests": tests, "failures": 0, "errors": 0, "skipped": 0} | counts
    return Element(
        "testsuite", {"name": f"{_TOOL} {of}".rstrip(), **{name: str(number) for name, number in numbers.items()}}
    )


def _case(suite: Element, package: str, group: str, name: str) -> Element:
    """A test case; judging takes no time that anybody would want to know."""
    classname = f"{package}.{printable(group).replace('.', '_')}"
    return SubElement(suite, "testcase", classname=classname, name=printable(name), time="0")


def _tell(case: Element, tag: str, says: str) -> None:
    text = "\n".join(map(printable, says.splitlines()))
    SubElement(case, tag, message=text).text = text


def _written(suite: Element) -> bytes:
    root = Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()
