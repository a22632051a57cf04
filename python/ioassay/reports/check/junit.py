"""Verdicts as JUnit XML for Jenkins, GitLab and others: a test case each; what was not judged is skipped.

What these readers make of it decides its form. Jenkins takes the class name up to its last dot as a package, and
GitLab shows the text of a failure and no attribute of it. Both know a test again, in later builds, by the names of
suite, class and case, so these say nothing that changes from run to run; that is in the properties of the suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ioassay.reports.check.lines import Line, with_failure_if_unjudged
from ioassay.yaml_models.source import printable


@dataclass(frozen=True)
class Suite:
    """Verdicts that belong together."""

    name: str
    """The judge and its subject; the same in every later run."""
    lines: Sequence[Line]
    properties: Mapping[str, str] = field(default_factory=dict)
    """Facts of this run."""


def document(suite: Suite) -> bytes:
    """The verdicts, and where none of them could be judged one more that fails, in UTF-8."""
    lines = with_failure_if_unjudged(suite.lines, "all")
    counts = Counter(line.judgement for line in lines)
    element = _suite(suite.name, len(lines), failures=counts["failed"], skipped=counts["not judged"])
    properties = SubElement(element, "properties")
    for name, value in suite.properties.items():
        SubElement(properties, "property", name=name, value=printable(value))
    for line in lines:
        case = _case(element, suite.name, line.group, line.name)
        match line.judgement:
            case "failed":
                _add_outcome(case, "failure", line.says)
            case "not judged":
                _add_outcome(case, "skipped", line.says)
            case "passed":
                SubElement(case, "system-out").text = printable(line.says)
    return _encoded(element)


def refusal(command: str, message: str) -> bytes:
    """The suite of a command that could not judge: one test case, with the error."""
    element = _suite(command, 1, errors=1)
    _add_outcome(_case(element, command, "the verdict", "can be given"), "error", message)
    return _encoded(element)


def _suite(name: str, tests: int, **counts: int) -> Element:
    numbers = {"tests": tests, "failures": 0, "errors": 0, "skipped": 0} | counts
    attributes = {"name": printable(name), **{count: str(number) for count, number in numbers.items()}}
    return Element("testsuite", attributes)


def _case(suite: Element, package: str, group: str, name: str) -> Element:
    """A test case; without its duration, because judging takes almost no time."""
    classname = ".".join(printable(part).replace(".", "_") for part in (package, group))
    return SubElement(suite, "testcase", classname=classname, name=printable(name), time="0")


def _add_outcome(case: Element, tag: str, says: str) -> None:
    text = "\n".join(map(printable, says.splitlines()))
    SubElement(case, tag, message=text).text = text


def _encoded(suite: Element) -> bytes:
    root = Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()
