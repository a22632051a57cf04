"""A submission as one case: every phase by its official name, with the output of IOR and mdtest in it.

The rate of a phase is what the IO500 printed, because the score follows from it; where another file contradicts it, a
doubt names both numbers (`contradictions`). Bandwidths are GiB/s, also where they are labelled GB/s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ioassay.importers import doubts, ior, mdtest
from ioassay.importers.gather import Files, read_cases
from ioassay.importers.io500 import contradictions, score_hash
from ioassay.importers.io500.contradictions import Place
from ioassay.importers.io500.described import Description
from ioassay.importers.io500.result_ini import Sections, Value
from ioassay.importers.io500.summary import PHASES, Phase, Quantity, Summary
from ioassay.importers.model import Case, Doubt, Measurement, OpenSibling, Setting, Stonewall, Summarised
from ioassay.importers.numbers import NS_PER_S, Printed, moment_ns
from ioassay.importers.source import Refused, Source
from ioassay.protocol.facts import IO500_PHASES, IO500_STONEWALL_NS
from ioassay.store.document import Operation
from ioassay.store.origin import PrintedScore

_GIB = 1 << 30

_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {"write": "write", "read": "read", "create": "create", "bench": "create", "stat": "stat", "delete": "remove"}
)
"""By the last word of a phase; mdtest's write is a create."""

_FILES: Mapping[str, str] = MappingProxyType({"ior-rnd4K-easy-read": "ior-rnd4K-read"})
"""Phases whose output file has another name in some versions."""

_LAYOUTS = {phase.name: phase.layout or "" for phase in IO500_PHASES}
"""Layouts that the rules prescribe, for submissions without the files of their phases."""

_WALLED = frozenset(phase.name for phase in IO500_PHASES if phase.walled)
"""Phases that end at a stonewall."""

_FOUND_IN = ("mdtest-easy-write", "mdtest-hard-write")
"""Phases that create what a find visits, apart from the few files of IOR."""

_MORE_VISITED = 1.05
"""Entries per file that a find may visit: there are also directories and the files of IOR."""

_LONGER = 1.05
"""How much longer than the whole phase its tool may take by its own clock: clocks of nodes differ a little."""


@dataclass
class Parsed:
    """The parsed files of a submission."""

    summary: Summary | None = None
    summary_in: Path = field(default_factory=Path)
    sections: Sections | None = None
    sections_in: Path = field(default_factory=Path)
    description: Description = field(default_factory=Description)
    """The submission's description of itself."""
    phases: dict[str, tuple[Case, Measurement]] = field(default_factory=dict)
    """The measurement in a phase's own file, by phase."""

    @property
    def is_empty(self) -> bool:
        """True if neither of the files with all phases could be read."""
        return self.summary is None and self.sections is None

    @property
    def names(self) -> list[str]:
        """The phases, in the order in which they ran."""
        phases = self.summary.phases if self.summary is not None else self.sections or {}
        return [
            name for name in phases if name == "find" or name.startswith(("ior-", "mdtest-", "find-", "mdworkbench-"))
        ]

    def section(self, phase: str) -> Mapping[str, Value]:
        """The section of a phase in `result.txt`."""
        return (self.sections or {}).get(phase, {})


def read_phases(directory: Path, files: Files, parsed: Parsed) -> None:
    """Reads the files of the phases that lie in `directory`."""

    def open_sibling(name: str) -> Source | None:
        return files.open(directory / name) if (directory / name).is_file() else None

    for phase in parsed.names:
        for name in dict.fromkeys((phase, _FILES.get(phase, phase), phase.replace("-", "_"))):
            path = directory / f"{name}.txt"
            if not path.is_file() or phase.startswith("find") or (source := files.open(path)) is None:
                continue
            try:
                if (case_and_measurement := _of_phase(phase, source, open_sibling, _line(parsed, phase))) is not None:
                    parsed.phases[phase] = case_and_measurement
            except Refused as error:
                files.refuse(path, error)
            break


def _of_phase(phase: str, source: Source, open_sibling: OpenSibling, line: _Line) -> tuple[Case, Measurement] | None:
    """The measurement in a phase's output; if the phase ran several times, against the rules, the scored run."""
    read = ior.read if phase.startswith("ior-") else mdtest.read if phase.startswith("mdtest-") else None
    if read is None:
        return None
    operation = _operation(phase)
    results = [
        (case, measured)
        for case in read_cases(read, source, open_sibling)
        for measured in case.measured
        if measured.operation == operation and not measured.phase.startswith("tree")
    ]
    if not results:
        raise Refused(f"has no result for {operation}")
    case, measured = min(results, key=lambda result: abs((_own_rate(phase, result[1]) or 0.0) - line.value.value))
    if len(results) == 1:
        return case, measured
    rates = ", ".join(f"{_own_rate(phase, measurement) or 0.0:.6f}" for _, measurement in results)
    doubt = Doubt(
        kind="best-of-several",
        message=f"the phase ran {len(results)} times ({rates} {_unit(phase)}), but only one of them was scored",
        remedy="run each phase once, as the rules of the IO500 require",
    )
    return case, replace(measured, doubts=[*measured.doubts, doubt])


def _operation(phase: str) -> Operation:
    if phase.startswith("find"):
        return "find"
    last = phase.rpartition("-")[2]
    return "create" if phase.startswith("mdtest-") and last == "write" else _OPERATIONS[last]


def case(parsed: Parsed) -> Case:
    """The case. Its nodes and ranks are the highest of any phase."""
    phase_cases = [case for case, _ in parsed.phases.values()]
    ranks = {case.ranks for case in phase_cases if case.ranks} | set(_procs(parsed))
    nodes = {case.clients for case in phase_cases if case.clients}
    sections = parsed.sections or {}
    doubted = contradictions.by_phase(_places(parsed), sections, parsed.sections_in, parsed.names)
    begins = [moment for section in sections.values() if (moment := _moment(section, "t_start")) is not None]
    ends = [moment for section in sections.values() if (moment := _moment(section, "t_end")) is not None]
    case_begins = [case.started_unix_ns for case in phase_cases if case.started_unix_ns is not None]
    case_ends = [case.ended_unix_ns for case in phase_cases if case.ended_unix_ns is not None]
    return Case(
        tool_version=_version(parsed),
        settings=[Setting(name="benchmark", value="IO500")],
        amount="",
        clients=max(nodes, default=None),
        ranks=max(ranks, default=None),
        measured=[
            replace(measured, doubts=[*measured.doubts, *doubted.get(measured.phase, ())])
            for measured in (_measured(parsed, phase) for phase in parsed.names)
        ],
        target=next((case.target for case in phase_cases if case.target), None),
        facts=[*_of_phases(phase_cases), *parsed.description.facts, *_hash_facts(parsed)],
        started_unix_ns=min(begins or case_begins, default=None),
        ended_unix_ns=max(ends or case_ends, default=None),
    )


def _of_phases(phase_cases: Sequence[Case]) -> list[Setting]:
    """Facts from the phases' files about where they ran; each has its own path."""
    names = ("machine", "API", "API version", "MPI-IO hints", "file system")
    settings = [setting for case in phase_cases for setting in (*case.facts, *case.settings)]
    return [setting for name in names for setting in dict.fromkeys(settings) if setting.name == name]


def _hash_facts(parsed: Parsed) -> list[Setting]:
    """The rule that each score's hash follows."""
    score_hashes = score_hash.hashes(parsed.sections or {})
    names = {"SCORE": "score hash", "SCOREX": "extended score hash"}
    return [
        Setting(
            name=names[printed_hash.section],
            value=f"{printed_hash.printed}, of {printed_hash.rule}"
            if printed_hash.rule
            else f"{printed_hash.printed}, fits none",
        )
        for printed_hash in score_hashes
    ]


def _places(parsed: Parsed) -> list[Place]:
    """The places that print a number of a phase, a time or a score."""
    places: list[Place] = []
    if parsed.summary is not None:
        numbers = {name: phase.value for name, phase in parsed.summary.phases.items()}
        times = {f"time of {name}": phase.seconds for name, phase in parsed.summary.phases.items()}
        scores = {
            f"{'extended ' if line.is_extended else ''}{name}": value
            for line in parsed.summary.scores
            for name, value in line.values.items()
        }
        places.append(Place(parsed.summary_in, numbers | times | scores))
    if parsed.sections is not None:
        places.append(Place(parsed.sections_in, _of_sections(parsed.sections)))
    if parsed.description.file is not None:
        places.append(Place(parsed.description.file, parsed.description.scores))
    return places


def _of_sections(sections: Sections) -> dict[str, Printed]:
    numbers = {name: section["score"] for name, section in sections.items() if "score" in section and name in PHASES}
    times = {f"time of {name}": section["t_delta"] for name, section in sections.items() if "t_delta" in section}
    scores = {
        f"{ending}{_KEYS[key]}": value
        for name, ending in (("SCORE", ""), ("SCOREX", "extended "))
        for key, value in sections.get(name, {}).items()
        if key in _KEYS
    }
    return {name: value.number for name, value in (numbers | times | scores).items()}


def _version(parsed: Parsed) -> str | None:
    version = parsed.section("run").get("version")
    return version.text if version is not None else parsed.summary.version if parsed.summary is not None else None


def _procs(parsed: Parsed) -> Iterator[int]:
    for section, key in (("run", "procs"), ("find", "nproc")):
        value = parsed.section(section).get(key)
        if value is not None and value.text.isdigit():
            yield int(value.text)


def _moment(section: Mapping[str, Value], key: str) -> int | None:
    return moment_ns(section[key].text) if key in section else None


@dataclass(frozen=True)
class _Line:
    """The line with a phase's rate."""

    file: Path
    line: int
    value: Printed
    seconds: Printed | None
    is_invalid: bool = False


def _line(parsed: Parsed, phase: str) -> _Line:
    section = parsed.section(phase)
    if parsed.summary is not None:
        summary_phase: Phase = parsed.summary.phases[phase]
        return _Line(
            parsed.summary_in, summary_phase.line, summary_phase.value, summary_phase.seconds, summary_phase.is_invalid
        )
    score, time = section.get("score"), section.get("t_delta")
    if score is None:
        raise Refused(f"has no score for {phase}")
    return _Line(parsed.sections_in, score.line, score.number, time.number if time else None)


def _measured(parsed: Parsed, phase: str) -> Measurement:
    line, section = _line(parsed, phase), parsed.section(phase)
    is_bandwidth = phase.startswith("ior-")
    unit = _GIB if is_bandwidth else 1000
    rate = line.value.value * unit
    base = _base(parsed, phase, line)
    size = base.transfer_bytes or 0
    phase_doubts = [*base.doubts, *_doubts(parsed, phase, line, base)]
    operations = base.operations
    if phase.startswith("find") and "total-files" in section:
        operations = round(section["total-files"].number.value)
    seconds = base.duration_ns / NS_PER_S if base.duration_ns else line.seconds.value if line.seconds else None
    return replace(
        base,
        file=line.file,
        line=line.line,
        phase=phase,
        operation=_operation(phase),
        started_unix_ns=_moment(section, "t_start") or base.started_unix_ns,
        operations=operations,
        duration_ns=None if seconds is None else round(seconds * NS_PER_S),
        rate_bytes_per_s=rate if is_bandwidth else rate * size if size and base.operation != "stat" else None,
        rate_operations_per_s=rate / size if is_bandwidth and size else None if is_bandwidth else rate,
        half_unit_per_s=line.value.half_unit * unit,
        matched=round(section["found"].number.value) if "found" in section else None,
        stonewall=_stonewall(section, base.stonewall),
        doubts=phase_doubts,
    )


def _base(parsed: Parsed, phase: str, line: _Line) -> Measurement:
    """The measurement in the phase's own file, or what the rules prescribe."""
    if phase in parsed.phases:
        phase_case, phase_measurement = parsed.phases[phase]
        # The IO500 makes the command lines, and its rules prevent cached reads: doubts about these do not apply.
        relevant_doubts = [
            doubt
            for doubt in phase_measurement.doubts
            if doubt.kind in ("does-not-add-up", "short-phase", "best-of-several", "ranks-missing")
        ]
        return replace(
            phase_measurement,
            doubts=relevant_doubts,
            ranks=phase_case.ranks,
            started_unix_ns=phase_case.started_unix_ns,
        )
    command = parsed.section(phase).get("exe")
    return Measurement(
        file=line.file,
        line=line.line,
        phase=phase,
        operation=_operation(phase),
        layout=_LAYOUTS.get(phase, ""),
        files=None if phase.startswith("ior-") else 0,
        transfer_bytes=47_008 if phase.startswith("ior-hard") else None,
        command=command.text if command else "",
    )


def _stonewall(section: Mapping[str, Value], of_file: Stonewall | None) -> Stonewall | None:
    """The rate in `result.txt` is the official one; the rest is in the phase's file."""
    bandwidth, rate = section.get("throughput-stonewall"), section.get("rate-stonewall")
    if bandwidth is None and rate is None:
        return of_file
    return replace(
        of_file or Stonewall(),
        rate_bytes_per_s=bandwidth.number.value * _GIB if bandwidth and bandwidth.number.value else None,
        rate_operations_per_s=rate.number.value * 1000 if rate and rate.number.value else None,
    )


def _doubts(parsed: Parsed, phase: str, line: _Line, base: Measurement) -> Iterator[Doubt]:
    if line.is_invalid:
        yield Doubt(
            kind="declared-invalid",
            message="the IO500 itself marked the phase as invalid",
            remedy="see the reason in result.txt; measure again",
            invalidates=True,
        )
    own_rate = _own_rate(phase, base)
    if phase in parsed.phases and own_rate is not None and not _fits(own_rate, base.summarised, line.value):
        unit = _unit(phase)
        yield doubts.does_not_add_up(
            f"the IO500 printed {line.value.text} {unit}, but {_tool(phase)} in the phase's file {own_rate:.6f} {unit}"
        )
    phase_s = line.seconds.value if line.seconds else 0.0
    if base.duration_ns is not None and phase_s > 0 and base.duration_ns / NS_PER_S > phase_s * _LONGER + 1:
        yield doubts.does_not_add_up(
            f"the tool ran for {base.duration_ns / NS_PER_S:,.1f} s by its own clock, but the whole phase took only "
            f"{phase_s:,.1f} s; the nodes' clocks may differ"
        )
    if (
        phase in _WALLED
        and base.duration_ns is not None
        and base.duration_ns < IO500_STONEWALL_NS <= phase_s * NS_PER_S
    ):
        yield _hidden_short_write(phase, base.duration_ns / NS_PER_S, phase_s)
    if phase == "find" and (excess := _visited_more(parsed)) is not None:
        yield excess


def _hidden_short_write(phase: str, own_s: float, took_s: float) -> Doubt:
    least_s = IO500_STONEWALL_NS // NS_PER_S
    return Doubt(
        kind="hidden-short-write",
        message=f"{_tool(phase)} wrote for {own_s:,.1f} s, but the rules require {least_s} s; the {took_s:,.1f} s that "
        "the IO500 printed for the phase include what is around it",
        remedy="measure again with a longer stonewall-time",
        evidence={"wrote_s": own_s, "phase_s": took_s},
    )


def _visited_more(parsed: Parsed) -> Doubt | None:
    """Doubts a find that visited far more than the phases had created: its directory was not empty before."""
    section = parsed.section("find")
    created = [parsed.phases[name][1].operations for name in _FOUND_IN if name in parsed.phases]
    if "total-files" not in section or len(created) < len(_FOUND_IN) or None in created:
        return None
    if "mdworkbench-create" in parsed.names:
        return None  # which creates files, too, and does not say how many
    visited = round(section["total-files"].number.value)
    files = sum(count or 0 for count in created)
    if visited <= files * _MORE_VISITED:
        return None
    return Doubt(
        kind="visited-more-than-created",
        message=f"find visited {visited:,} entries, but mdtest had created {files:,} files: the rest was there before",
        remedy="measure again in an empty directory",
        evidence={"visited": visited, "created": files},
    )


def _tool(phase: str) -> str:
    return "IOR" if phase.startswith("ior-") else "mdtest"


def _unit(phase: str) -> str:
    return "GiB/s" if phase.startswith("ior-") else "kIOPS"


def _own_rate(phase: str, base: Measurement) -> float | None:
    """The rate in the phase's own file, in the unit of the score."""
    if phase.startswith("ior-"):
        return None if base.rate_bytes_per_s is None else base.rate_bytes_per_s / _GIB
    return None if base.rate_operations_per_s is None else base.rate_operations_per_s / 1000


def _fits(own_rate: float, sums: Summarised | None, printed: Printed) -> bool:
    """True if the file's rate can be the printed one. IOR may have rounded it to whole MiB/s; old versions of mdtest
    print one rate per rank, of which scripts took the highest.
    """
    allowed = printed.half_unit + max(own_rate * 0.001, 0.0006)
    lowest, highest = (sums.lowest / 1000, sums.highest / 1000) if sums is not None else (own_rate, own_rate)
    return lowest - allowed <= printed.value <= highest + allowed


_UNITS: Mapping[Quantity, str] = MappingProxyType({"bandwidth": "GiB/s", "metadata": "kIOPS", "total": ""})

_KEYS: Mapping[str, Quantity] = MappingProxyType({"BW": "bandwidth", "MD": "metadata", "SCORE": "total"})
"""The names of the scores in `result.txt`."""


def printed(parsed: Parsed) -> list[PrintedScore]:
    """The printed scores: those of the summary, else those of `result.txt`."""
    if parsed.summary is not None:
        return [
            _score(parsed.summary_in, line.line, name, value, is_extended=line.is_extended)
            for line in parsed.summary.scores
            for name, value in line.values.items()
        ]
    return [
        _score(parsed.sections_in, value.line, _KEYS[key], value.number)
        for key, value in parsed.section("SCORE").items()
        if key in _KEYS
    ]


def _score(file: Path, line: int, name: Quantity, value: Printed, *, is_extended: bool = False) -> PrintedScore:
    return PrintedScore(
        list="extended" if is_extended else "standard",
        name=name,
        value=value.value,
        half_unit=value.half_unit,
        unit=_UNITS[name],
        file=str(file),
        line=line,
    )
