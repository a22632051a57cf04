"""The whole report on systems as they are: the path of an I/O, what was measured on it, and what each rule says.

Snapshots of several hosts are a client and its servers. Two of one host are before and after a workload: the later one
is judged, and both say which sizes requests had between them. Nothing is changed here, and nothing read but snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

from ioassay.errors import UsageError
from ioassay.processes.garbage_collection import long_lived
from ioassay.text.units import UnitError, parse_bytes
from ioassay.tuning.conflicts import profile_of, with_owners
from ioassay.tuning.outcomes import outcome
from ioassay.tuning.path import IoPath, Transfer, both_ways
from ioassay.tuning.path.conclusions import conclusions, evidence
from ioassay.tuning.path.measured import MeasuredHost, between
from ioassay.tuning.rule import Change, Finding, Fine, Judgement, NotJudged, NotReadable, Rule
from ioassay.tuning.rules import RULES, onefs
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System, Workload
from ioassay.tuning.system.array import Array, parse_array
from ioassay.yaml_models.source import near, nearest

_Kind = TypeVar("_Kind", bound=Judgement)


@dataclass(frozen=True)
class CheckRequest:
    """The options of the user, besides the snapshots."""

    transfer: Transfer
    array: Array | None
    storage: str | None
    rules: Sequence[Rule]
    storage_settings: Mapping[str, str] = field(default_factory=dict)
    workload: Workload | None = None

    @classmethod
    def of(
        cls,
        *,
        transfer: str | None,
        raid: str | None,
        storage: str | None,
        rules: Sequence[str],
        storage_settings: Sequence[str] = (),
        workload: str | None = None,
    ) -> CheckRequest:
        """As it was typed. Raises `UsageError`."""
        return cls(
            transfer=Transfer(size_bytes=_size(transfer) if transfer else None),
            array=parse_array(raid) if raid else None,
            storage=_storage(storage) if storage is not None else None,
            rules=[_rule(name) for name in rules] or RULES,
            storage_settings=_storage_settings(storage_settings, storage),
            workload=_workload(workload) if workload is not None else None,
        )


Verdict = Literal["changes recommended", "as recommended", "partly judged", "nothing judged"]
"""`as recommended` only where something was judged and nothing was left open."""


@dataclass(frozen=True)
class Examination:
    """The report on the systems."""

    systems: Sequence[System]
    paths: Sequence[IoPath]
    measured: Sequence[MeasuredHost]
    findings: Sequence[Finding]

    @property
    def verdict(self) -> Verdict:
        if self.of_kind(Change):
            return "changes recommended"
        if not self.of_kind(Fine):
            return "nothing judged"
        is_open = bool(self.of_kind(NotReadable)) or bool(self.of_kind(NotJudged)) or "not judged" in self.outcomes
        return "partly judged" if is_open else "as recommended"

    @property
    def outcomes(self) -> list[str]:
        """The outcome of each problem on the paths: `recommended`, `no recommendation`, `not judged`."""
        problems = (conclusion for path in self.paths for conclusion in conclusions(path) if conclusion.is_problem)
        return [outcome(problem, self.findings).kind for problem in problems]

    def of_kind(self, kind: type[_Kind]) -> list[tuple[Finding, _Kind]]:
        """The judgements of a kind, each with what it is of, in the order of the findings."""
        return [
            (finding, judgement)
            for finding in self.findings
            for judgement in finding.judgements
            if isinstance(judgement, kind)
        ]


def examine(snapshots: Sequence[Snapshot], request: CheckRequest) -> Examination:
    """Looks at everything. Raises `UsageError` for snapshots that do not belong together."""
    with long_lived():
        return _examine(snapshots, request)


def _examine(snapshots: Sequence[Snapshot], request: CheckRequest) -> Examination:
    of_host: dict[str, list[Snapshot]] = {}
    for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.taken):
        of_host.setdefault(snapshot.host, []).append(snapshot)
    hosts = list(dict.fromkeys(snapshot.host for snapshot in snapshots))
    systems = [
        System(
            of_host[host][-1],
            request.array,
            request.storage or "",
            request.storage_settings,
            request.workload,
            request.transfer.size_bytes,
        )
        for host in hosts
    ]
    paths = both_ways(systems, request.transfer)
    measured = [between(of_host[host][0], of_host[host][-1]) for host in hosts if len(of_host[host]) > 1]
    known: dict[str, list[tuple[str, str]]] = {}
    for path in paths:
        for (host, parameter), text in evidence(path).items():
            known.setdefault(host, []).append((parameter, text))
    findings = [
        Finding(system.host, rule, with_owners(rule.judgements(system), profile), _evidence(of_its_paths, rule))
        for system in systems
        for profile, of_its_paths in ((profile_of(system.snapshot), known.get(system.host, ())),)
        for rule in request.rules
    ]
    return Examination(systems, paths, measured, findings)


def _evidence(known: Sequence[tuple[str, str]], rule: Rule) -> list[str]:
    return list(dict.fromkeys(text for parameter, text in known if parameter in rule.parameters))


def _size(text: str) -> int:
    try:
        size = parse_bytes(text)
    except UnitError as error:
        raise UsageError(f"--transfer: {error}.", "Write for example --transfer 1MiB.") from None
    if not size:
        raise UsageError(f"--transfer {text}: nothing is transferred.", "Write for example --transfer 1MiB.")
    return size


def _storage(text: str) -> str:
    if text != "onefs":
        raise UsageError(f"--storage {text}: no rule knows this storage.", "Use onefs, or leave the option out.")
    return text


def _workload(text: str) -> Workload:
    known: dict[str, Workload] = {workload: workload for workload in get_args(Workload)}
    if text not in known:
        raise UsageError(f"--workload {text}: no such workload.", f"Use one of: {', '.join(known)}.")
    return known[text]


def _storage_settings(texts: Sequence[str], storage: str | None) -> dict[str, str]:
    """`efs.bam.ec.mode=1` and others. Raises `UsageError` for what is no pair, given twice, or asked by no rule."""
    if texts and storage is None:
        raise UsageError("--storage-setting needs --storage.", "Add for example --storage onefs.")
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UsageError(
                f"--storage-setting {text}: not NAME=VALUE.", "Write for example --storage-setting efs.bam.ec.mode=1."
            )
        if name not in onefs.SETTINGS:
            raise UsageError(f"--storage-setting {text}: no rule knows `{name}`.", nearest(name, onefs.SETTINGS))
        if name in settings:
            raise UsageError(f"--storage-setting {name} is given twice.", "Give it once.")
        settings[name] = value
    return settings


def _rule(name: str) -> Rule:
    known = {rule.name: rule for rule in RULES}
    if name not in known:
        advice = near(name.replace("_", "-"), known) or "docs/reference/tuning-rules.md lists them."
        raise UsageError(f"There is no rule `{name}`.", advice)
    return known[name]
