"""Converts Mistral's rules to rules of ioassay and back: types of calls ↔ classes, measurements ↔ measures.

Measurements that a recorder does not have are refused, by name and line. Those that a recorder measures somewhat
differently get a note in monitor rules, and are refused in throttle rules.
Not: files (`contract_file`), alerts (`alerts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ioassay.errors import UsageError
from ioassay.monitoring import calls
from ioassay.monitoring.mistral.contract_file import MistralContract, MistralRule
from ioassay.monitoring.mistral.terms import (
    CALL_TYPES,
    LARGEST,
    TIMES,
    CallType,
    Kind,
    Measurement,
    Problems,
    SizeRange,
    Unreadable,
    shown,
    units_of,
)
from ioassay.monitoring.rule_check import OVER_NODES, absolute_path, check
from ioassay.protocol import contract as protocol
from ioassay.protocol import record_layout
from ioassay.protocol.contract import Measure, Rule
from ioassay.protocol.facts import LONGEST_WINDOW_S
from ioassay.text import units
from ioassay.yaml_models.source import Origin, Problem, SourceError, wrong_and_meant

_US: Final = 1_000_000
_NS_PER_US: Final = 1000


def _of_group(group: str, call_type: CallType) -> dict[str, CallType]:
    return dict.fromkeys(calls.GROUPS[group], call_type)


CALL_TYPE: Final[Mapping[str, CallType]] = {
    "accept": "accept",
    "connect": "connect",
    "glob": "glob",
    "open": "open",
    "stat": "access",
    "list": "access",
    "create": "create",
    "remove": "delete",
    "rename": "fschange",
    "truncate": "fschange",
    "attribute": "fschange",
    "map": "mmap",
    "MPI file": "mpi_open",
    **_of_group("seek", "seek"),
    **_of_group("read", "read"),
    **_of_group("write", "write"),
    **_of_group("MPI read", "mpi_read"),
    **_of_group("MPI write", "mpi_write"),
}
"""Mistral's type of each class of calls. Other classes, such as `close` and `sync`, have none."""

MEASUREMENT: Final[Mapping[Measure, Measurement]] = {
    "bandwidth": "bandwidth",
    "count": "count",
    "minimum-latency": "min-latency",
    "mean-latency": "mean-latency",
    "maximum-latency": "max-latency",
    "total-latency": "total-latency",
    "seek-distance": "seek-distance",
    "resident-memory": "memory-rss",
    "virtual-memory": "memory-vsize",
    "user-time": "user-time",
    "system-time": "system-time",
    "io-wait-time": "host-cpu-iowait-time",
}
"""Mistral's name of each measure."""

MEASURE: Final[Mapping[Measurement, Measure]] = {
    "memory": "resident-memory",
    "host-cpu-user-time": "user-time",
    "host-cpu-system-time": "system-time",
    **{measurement: measure for measure, measurement in MEASUREMENT.items()},
}
"""The measure of each measurement, except `cpu-time`, which is two."""

_THROTTLED: Final[tuple[Measurement, ...]] = ("bandwidth", "count")
_SIZED: Final = frozenset({"read", "write", "mpi_read", "mpi_write"})
"""Types of calls that have sizes."""

_NEEDS: Final[Mapping[CallType, CallType]] = {"create": "open", "mpi_create": "mpi_open", "mpi_sync": "mpi_open"}
"""Types whose calls recorders count, at least partly, as another type: files are created by opening them."""

_TRANSFERS: Final[tuple[CallType, ...]] = ("read", "write")
"""Types whose calls have a distance from the previous one; Mistral measures it at the seeks between them."""

_HOST: Final = "host-cpu-"


@dataclass(frozen=True)
class Converted:
    """Rules of ioassay from a contract."""

    rules: list[Rule]
    notes: list[Problem]
    """Differences in measurement."""


_COUNTED: Final = frozenset(CALL_TYPE[name] for name in record_layout.OPERATIONS if name in CALL_TYPE)
"""Types that have classes of calls."""


def classes_of(call_types: Iterable[CallType], measurement: Measurement) -> list[str]:
    """The classes of calls of these types, in the recorder's order. Raises `Unreadable` for a type without classes."""
    types: set[CallType] = set()
    for call_type in _TRANSFERS if measurement == "seek-distance" else call_types:
        needed = {call_type, _NEEDS.get(call_type, call_type)}
        if call_type != "none" and not needed & _COUNTED:
            raise Unreadable(f"calls of the type {call_type} are not recorded", "leave it out")
        types |= needed
    return [name for name in record_layout.OPERATIONS if CALL_TYPE.get(name) in types]


def call_types_of(classes: Iterable[str], measure: Measure) -> tuple[CallType, ...]:
    """The types of these classes, in alphabetical order; `none` if no class has a type."""
    if measure == "seek-distance":
        return ("seek",)
    types = {CALL_TYPE[name] for name in classes if name in CALL_TYPE}
    return tuple(name for name in CALL_TYPES if name in types) or ("none",)


def rules_of(contract: MistralContract, scope: protocol.Scope, file: str) -> Converted:
    """Converts a contract; `file` is its name in problems. Raises `SourceError` with a line for each problem."""
    rules: list[Rule] = []
    notes: list[Problem] = []
    problems = Problems()
    labels: set[str] = set()
    if contract.timeframe_us % _US or contract.timeframe_us > _US * LONGEST_WINDOW_S:
        header = Origin(f"{file}:{contract.line}")
        wrong = "the time frame is not a whole number of seconds up to a day"
        raise SourceError([header.problem(wrong, "write 1s, 10s or 300s")])
    for rule in contract.rules:
        origin = Origin(f"{file}:{rule.line}", rule.label)
        with problems.collecting(origin):
            if rule.label in labels:
                raise Unreadable("the label is that of an earlier rule", "give each rule a label of its own")
            labels.add(rule.label)
            rules.append(_rule(rule, contract, scope))
            for difference in _differences(rule, contract):
                if contract.kind == "throttle":
                    raise Unreadable(difference, "so it would slow down other calls too: leave it out")
                notes.append(origin.problem(difference, ""))
    problems.check()
    return Converted(rules, notes)


def _rule(rule: MistralRule, contract: MistralContract, scope: protocol.Scope) -> Rule:
    """Raises `Unreadable`."""
    measure = MEASURE.get(rule.measurement)
    if measure is None:
        raise Unreadable("cpu-time is the sum of two measures", "write a rule for user-time and one for system-time")
    if contract.kind == "throttle" and rule.measurement not in _THROTTLED:
        raise Unreadable(f"{rule.measurement} cannot be throttled", f"throttle {' or '.join(_THROTTLED)}")
    is_of_calls = not _is_of_processes(rule.measurement)
    if is_of_calls == (rule.call_types == ("none",)) or (len(rule.call_types) > 1 and "none" in rule.call_types):
        needed = "a type of calls" if is_of_calls else "the type of calls none"
        raise Unreadable(f"{rule.measurement} of {'+'.join(rule.call_types)}", f"write {needed}")
    if rule.measurement == "seek-distance" and rule.call_types != ("seek",):
        raise Unreadable("seek-distance is that of seeks alone", "write seek")
    if rule.measurement == "bandwidth" and not _SIZED.issuperset(rule.call_types):
        raise Unreadable(
            f"calls of {'+'.join(rule.call_types)} do not all move bytes", f"use {', '.join(sorted(_SIZED))}"
        )
    if rule.sizes != SizeRange() and not _SIZED.issuperset(rule.call_types):
        raise Unreadable(f"calls of {'+'.join(rule.call_types)} do not all have a size", "write the size range all")
    limit = rule.threshold * (_NS_PER_US if units_of(rule.measurement) is TIMES else 1)
    if limit > units.LARGEST:
        raise Unreadable("the threshold is longer than 584 years", "write a shorter time")
    converted = Rule(
        action=contract.kind,
        calls=classes_of(rule.call_types, rule.measurement),
        label=rule.label,
        least_bytes=rule.sizes.least_bytes,
        limit=limit,
        measure=measure,
        most_bytes=rule.sizes.most_bytes,
        path=_path(rule.path) if is_of_calls else None,
        scope=scope,
        window_s=contract.timeframe_us // _US,
    )
    try:
        check(converted)
    except ValueError as error:
        raise Unreadable(*wrong_and_meant(error)) from None
    return converted


def _is_of_processes(measurement: Measurement) -> bool:
    """True for a measurement of processes, not of their calls."""
    return measurement.startswith(("memory", _HOST)) or measurement in ("user-time", "system-time", "cpu-time")


def _path(text: str) -> str | None:
    """The path of a rule; `None` for all files. Raises `Unreadable`."""
    if not text.startswith("/"):
        raise Unreadable(f"the path {shown(text)} is not absolute", "write an absolute path")
    if "$" in text:
        raise Unreadable(f"the path {shown(text)} has a variable of the environment", "write its value")
    if ".." in text.split("/"):
        raise Unreadable(f"the path {shown(text)} has `..`", "write the path that it leads to")
    path = absolute_path(text)
    return None if path == "/" else path


def _differences(rule: MistralRule, contract: MistralContract) -> Iterator[str]:
    """Differences between Mistral's measurement of a rule and ours."""
    names = frozenset(rule.call_types)
    if len(names & {"create", "open"}) == 1:
        yield "opens that create a file and opens that do not are one class of calls (create+open is exact)"
    if names & {"mpi_create", "mpi_open", "mpi_sync"}:
        yield "opening, closing and syncing files of MPI are one class of calls"
    if rule.measurement == "seek-distance":
        yield "the distance is measured from the end of a transfer to the start of the next"
    if rule.measurement.startswith(_HOST):
        yield "the time is that of the watched processes, not of the whole host"
    lower = [
        lower_rule.label
        for lower_rule in contract.rules
        if lower_rule.threshold < rule.threshold
        and (lower_rule.path, lower_rule.call_types, lower_rule.sizes, lower_rule.measurement)
        == (rule.path, rule.call_types, rule.sizes, rule.measurement)
    ]
    if lower and contract.kind == "monitor":
        yield f"Mistral does not log {', '.join(lower)} where this rule is broken too; here each of them alerts"


def contracts_of(rules: Sequence[Rule]) -> dict[tuple[protocol.Scope, Kind], MistralContract]:
    """Converts rules to contracts, by scope and kind. Raises `UsageError` for rules that Mistral cannot express."""
    groups: dict[tuple[protocol.Scope, Kind], list[Rule]] = {}
    for rule in rules:
        groups.setdefault((rule["scope"], rule["action"]), []).append(rule)
    return {group: _contract(group[1], of_group) for group, of_group in groups.items()}


def _contract(kind: Kind, rules: Sequence[Rule]) -> MistralContract:
    windows = {rule["window_s"] for rule in rules}
    if len(windows) > 1:
        seconds = ", ".join(f"{window} s" for window in sorted(windows))
        raise UsageError(f"The {kind} rules have windows of {seconds}; a contract of Mistral has one.")
    try:
        return MistralContract(kind, windows.pop() * _US, tuple(_mistral_rule(rule) for rule in rules))
    except Unreadable as error:
        raise UsageError(str(error)) from None


def _mistral_rule(rule: Rule) -> MistralRule:
    """Raises `Unreadable`."""
    if rule["scope"] in OVER_NODES:
        scope = rule["scope"].replace("-", " ")
        raise Unreadable(f"rule {shown(rule['label'])} has `scope: {scope}`", "Mistral's rules are for one node")
    if rule.get("jobs"):
        raise Unreadable(
            f"rule {shown(rule['label'])} is for some jobs only",
            "Mistral's rules are for all: leave out user, group, project, job name and nodes",
        )
    measurement = MEASUREMENT[rule["measure"]]
    call_types = call_types_of(rule["calls"], rule["measure"])
    limit = rule["limit"]
    label = shown(rule["label"])
    if units_of(measurement) is TIMES:
        limit, rest = divmod(limit, _NS_PER_US)
        if rest:
            raise Unreadable(f"rule {label} has a limit of {rule['limit']} ns", "Mistral knows whole microseconds")
    if max(limit, rule["least_bytes"], rule.get("most_bytes") or 0) > LARGEST:
        raise Unreadable(f"rule {label} has a larger number than plug-ins take", "write a smaller one")
    sizes = SizeRange(rule["least_bytes"], rule.get("most_bytes"))
    converted = MistralRule(rule["label"], rule.get("path") or "/", call_types, sizes, measurement, limit)
    contract = MistralContract(rule["action"], rule["window_s"] * _US, (converted,))
    try:
        converted_back = _rule(converted, contract, rule["scope"])
    except Unreadable as error:
        raise Unreadable(f"rule {label}: {error.wrong}", error.meant) from None
    if sorted(converted_back["calls"]) != sorted(rule["calls"]):
        names = ", ".join(name for name in converted_back["calls"] if name not in rule["calls"])
        raise Unreadable(
            f"rule {label}: Mistral's {'+'.join(call_types)} has {names or 'other classes'} too",
            f"add them to its calls: {names}" if names else "Mistral cannot express this rule",
        )
    return converted
