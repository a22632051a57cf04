"""Verdicts as JUnit XML, which Jenkins, GitLab and GitHub show: a test case each; not judged is skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from ioassay.reports.check.lines import Line


def document(suite: str, lines: Sequence[Line]) -> bytes:
    """One test suite of this name, in UTF-8."""
    counts = Counter(line.judgement for line in lines)
    numbers = {"tests": len(lines), "failures": counts["failed"], "skipped": counts["not judged"], "errors": 0}
    attributes = {"name": suite, **{name: str(number) for name, number in numbers.items()}}
    root = ElementTree.Element("testsuites", attributes)
    cases = ElementTree.SubElement(root, "testsuite", attributes)
    for line in lines:
        case = ElementTree.SubElement(cases, "testcase", classname=f"ioassay.{line.group}", name=line.name)
        match line.judgement:
            case "failed":
                ElementTree.SubElement(case, "failure", message=line.says)
            case "not judged":
                ElementTree.SubElement(case, "skipped", message=line.says)
            case "passed":
                ElementTree.SubElement(case, "system-out").text = line.says
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()
