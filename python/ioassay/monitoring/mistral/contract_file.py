"""Mistral's contract files of version 2: text → rules in Mistral's terms, and back.

    2, monitortimeframe, 1s
    # LABEL, PATH, CALL-TYPE, SIZE-RANGE, MEASUREMENT, THRESHOLD
    reads, /scratch/, read, all, bandwidth, 1GB

Blanks around fields, blank lines and lines that begin with `#` are ignored. A contract does not say whether it is of
a job (local) or of the administrators (global). Not: converting rules (`mapping`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ioassay.errors import UsageError
from ioassay.monitoring.mistral.terms import (
    KINDS,
    MEASUREMENTS,
    TIMES,
    CallType,
    Kind,
    Measurement,
    Problems,
    SizeRange,
    Unreadable,
    format_quantity,
    parse_call_types,
    parse_quantity,
    shown,
    units_of,
    word,
)
from ioassay.yaml_models.source import Origin, SourceError

_VERSION: Final = "2"
_HEADER_ENDING: Final = "timeframe"
_COLUMNS: Final = ("LABEL", "PATH", "CALL-TYPE", "SIZE-RANGE", "MEASUREMENT", "THRESHOLD")


@dataclass(frozen=True)
class MistralRule:
    label: str
    path: str
    call_types: tuple[CallType, ...]
    sizes: SizeRange
    measurement: Measurement
    threshold: int
    """In the base unit of the measurement: bytes, microseconds, calls."""
    line: int = field(default=0, compare=False)
    """Its line, from 1."""


@dataclass(frozen=True)
class MistralContract:
    kind: Kind
    timeframe_us: int
    rules: tuple[MistralRule, ...]
    line: int = field(default=0, compare=False)
    """The line of its header, from 1."""


def read_contract(text: str, file: str) -> MistralContract:
    """Reads a contract; `file` is its name in problems. Raises `SourceError` with a line for each problem."""
    contract: MistralContract | None = None
    rules: list[MistralRule] = []
    problems = Problems()
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = [column.strip() for column in line.split(",")]
        with problems.collecting(Origin(f"{file}:{number}")):
            if contract is None:
                contract = _header(fields, number)
            else:
                rules.append(_rule(fields, number))
        if contract is None:
            break  # the lines below are rules of an unknown kind
    problems.check()
    if contract is None:
        meant = f"begin with `{_VERSION}, monitor{_HEADER_ENDING}, 1s`"
        raise SourceError([Origin(f"{file}:1").problem("the contract has no header", meant)])
    return MistralContract(contract.kind, contract.timeframe_us, tuple(rules), contract.line)


def _header(fields: Sequence[str], line: int) -> MistralContract:
    if len(fields) != 3 or not fields[1].endswith(_HEADER_ENDING):
        raise Unreadable(
            f"{shown(','.join(fields))} is not a header",
            f"write `{_VERSION}, monitor{_HEADER_ENDING}, 1s`, or `{_VERSION}, throttle…`",
        )
    version, header, timeframe = fields
    if version != _VERSION:
        raise Unreadable(f"contracts of version {shown(version)} cannot be read", f"convert it to version {_VERSION}")
    kind = word(header.removesuffix(_HEADER_ENDING), KINDS, "kind of contract")
    timeframe_us = parse_quantity(timeframe, TIMES)
    if timeframe_us == 0:
        raise Unreadable("a time frame of 0 has no end", "write 1s or more")
    return MistralContract(kind, timeframe_us, (), line)


def _rule(fields: Sequence[str], line: int) -> MistralRule:
    if len(fields) != len(_COLUMNS):
        raise Unreadable(f"{len(fields)} fields where a rule has {len(_COLUMNS)}", f"write {', '.join(_COLUMNS)}")
    label, path, call_types, sizes, measurement_text, threshold = fields
    for text, noun in ((label, "label"), (path, "path")):
        _check_text(text, noun)
    measurement = word(measurement_text, MEASUREMENTS, "measurement")
    return MistralRule(
        label,
        path,
        parse_call_types(call_types),
        SizeRange.parse(sizes),
        measurement,
        parse_quantity(threshold, units_of(measurement)),
        line,
    )


def _check_text(text: str, noun: str) -> None:
    """Raises `Unreadable` for a label or path that a contract cannot contain."""
    if not text:
        raise Unreadable(f"the {noun} is empty", f"write a {noun}")
    if text != text.strip() or "," in text or not text.isprintable():
        raise Unreadable(
            f"the {noun} {shown(text)} has a comma, a blank at an end or a character that cannot be printed",
            "Mistral's contracts cannot hold it",
        )
    if noun == "label" and (":" in text or text.startswith("#")):
        raise Unreadable(f"the label {shown(text)} has a colon or begins with #", "Mistral's labels cannot")


def write_contract(contract: MistralContract) -> str:
    """The text of a contract. Raises `UsageError` for a label or path that it cannot contain."""
    lines = [
        f"{_VERSION}, {contract.kind}{_HEADER_ENDING}, {format_quantity(contract.timeframe_us, TIMES)}",
        f"# {', '.join(_COLUMNS)}",
    ]
    for rule in contract.rules:
        try:
            for text, noun in ((rule.label, "label"), (rule.path, "path")):
                _check_text(text, noun)
        except Unreadable as error:
            raise UsageError(f"rule {shown(rule.label)}: {error}") from None
        threshold = format_quantity(rule.threshold, units_of(rule.measurement))
        fields = (rule.label, rule.path, "+".join(rule.call_types), str(rule.sizes), rule.measurement, threshold)
        lines.append(", ".join(fields))
    return "\n".join(lines) + "\n"
