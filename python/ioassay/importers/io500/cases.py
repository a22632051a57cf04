"""A submission as one case: every phase by its official name, with what IOR and mdtest printed in it.

The rate of a phase is what the IO500 printed, as that is what made the score; where another file says something else of
the same number, that is a doubt with both (`contradictions`). Bandwidths are GiB/s, also where they are labelled GB/s.
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
from ioassay.importers.model import Beside, Case, Doubt, Measured, Setting, Stonewall, Summarised
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
"""Phases whose text is called otherwise, in some versions."""

_LAYOUTS = {phase.name: phase.layout or "" for phase in IO500_PHASES}
"""What the rules fix, for submissions without the files of their phases."""

_WALLED = frozenset(phase.name for phase in IO500_PHASES if phase.walled)
"""Phases that end at a stonewall."""

_FOUND_IN = ("mdtest-easy-write", "mdtest-hard-write")
"""The phases that create what a find visits, but for the few files of IOR."""

_MORE_VISITED = 1.05
"""How many entries for each file a find may visit: there are directories, and the files of IOR."""

_LONGER = 1.05
"""How much longer than the whole phase its tool may say that it worked: the clocks of nodes differ a little."""


@dataclass
class Parsed:
    """What the files of a submission tell."""

    summary: Summary | None = None
    summary_in: Path = field(default_factory=Path)
    sections: Sections | None = None
    sections_in: Path = field(default_factory=Path)
    description: Description = field(default_factory=Description)
    """What the submission says of itself."""
    phases: dict[str, tuple[Case, Measured]] = field(default_factory=dict)
    """What the file of a phase tells of it, by the phase."""

    @property
    def is_empty(self) -> bool:
        """True if neither of the files with all phases could be read."""
        return self.summary is None and self.sections is None

    @property
    def names(self) -> list[str]:
        """The phases in the order in which they ran."""
        told = self.summary.phases if self.summary is not None else self.sections or {}
        return [
            name for name in told if name == "find" or name.startswith(("ior-", "mdtest-", "find-", "mdworkbench-"))
        ]

    def section(self, phase: str) -> Mapping[str, Value]:
        """What `result.txt` says of a phase."""
        return (self.sections or {}).get(phase, {})


def read_phases(directory: Path, files: Files, told: Parsed) -> None:
    """Reads the files of the phases that lie in `directory`."""

    def beside(name: str) -> Source | None:
        return files.open(directory / name) if (directory / name).is_file() else None

    for phase in told.names:
        for name in dict.fromkeys((phase, _FILES.get(phase, phase), phase.replace("-", "_"))):
            path = directory / f"{name}.txt"
            if not path.is_file() or phase.startswith("find") or (source := files.open(path)) is None:
                continue
            try:
                if (found := _of_phase(phase, source, beside, _line(told, phase))) is not None:
                    told.phases[phase] = found
            except Refused as error:
                files.refuse(path, error)
            break


def _of_phase(phase: str, source: Source, beside: Beside, line: _Line) -> tuple[Case, Measured] | None:
    """The measurement of a phase in what its tool printed: of several, which the rules do not allow, the one that
    counted.
    """
    read = ior.read if phase.startswith("ior-") else mdtest.read if phase.startswith("mdtest-") else None
    if read is None:
        return None
    wanted = _operation(phase)
    own = [
        (case, measured)
        for case in read_cases(read, source, beside)
        for measured in case.measured
        if measured.operation == wanted and not measured.phase.startswith("tree")
    ]
    if not own:
        raise Refused(f"has no result for {wanted}")
    case, measured = min(own, key=lambda one: abs((_own_rate(phase, one[1]) or 0.0) - line.value.value))
    if len(own) == 1:
        return case, measured
    rates = ", ".join(f"{_own_rate(phase, one) or 0.0:.6f}" for _, one in own)
    doubt = Doubt(
        kind="best-of-several",
        message=f"the phase ran {len(own)} times ({rates} {_unit(phase)}), but only one of them was scored",
        remedy="run each phase once, as the rules of the IO500 require",
    )
    return case, replace(measured, doubts=[*measured.doubts, doubt])


def _operation(phase: str) -> Operation:
    if phase.startswith("find"):
        return "find"
    last = phase.rpartition("-")[2]
    return "create" if phase.startswith("mdtest-") and last == "write" else _OPERATIONS[last]


def case(told: Parsed) -> Case:
    """The case. Its nodes and ranks are those that most phases had."""
    own = [case for case, _ in told.phases.values()]
    ranks = {case.ranks for case in own if case.ranks} | set(_procs(told))
    nodes = {case.clients for case in own if case.clients}
    sections = told.sections or {}
    doubted = contradictions.by_phase(_places(told), sections, told.sections_in, told.names)
    begins = [moment for section in sections.values() if (moment := _moment(section, "t_start")) is not None]
    ends = [moment for section in sections.values() if (moment := _moment(section, "t_end")) is not None]
    began = [case.started_unix_ns for case in own if case.started_unix_ns is not None]
    ended = [case.ended_unix_ns for case in own if case.ended_unix_ns is not None]
    return Case(
        tool_version=_version(told),
        settings=[Setting(name="benchmark", value="IO500")],
        amount="",
        clients=max(nodes, default=None),
        ranks=max(ranks, default=None),
        measured=[
            replace(one, doubts=[*one.doubts, *doubted.get(one.phase, ())])
            for one in (_measured(told, phase) for phase in told.names)
        ],
        target=next((case.target for case in own if case.target), None),
        facts=[*_of_phases(own), *told.description.facts, *_hash_facts(told)],
        started_unix_ns=min(begins or began, default=None),
        ended_unix_ns=max(ends or ended, default=None),
    )


def _of_phases(own: Sequence[Case]) -> list[Setting]:
    """What the phases' files tell of where they ran. Each has a path of its own."""
    wanted = ("machine", "API", "API version", "MPI-IO hints", "file system")
    told = [one for case in own for one in (*case.facts, *case.settings)]
    return [one for name in wanted for one in dict.fromkeys(told) if one.name == name]


def _hash_facts(told: Parsed) -> list[Setting]:
    """Which rule the hash of each score follows."""
    found = score_hash.hashes(told.sections or {})
    names = {"SCORE": "score hash", "SCOREX": "extended score hash"}
    return [
        Setting(
            name=names[one.section], value=f"{one.printed}, of {one.rule}" if one.rule else f"{one.printed}, fits none"
        )
        for one in found
    ]


def _places(told: Parsed) -> list[Place]:
    """Where a number of a phase, a time or a score is printed, by what it is of."""
    found: list[Place] = []
    if told.summary is not None:
        numbers = {name: phase.value for name, phase in told.summary.phases.items()}
        times = {f"time of {name}": phase.seconds for name, phase in told.summary.phases.items()}
        scores = {
            f"{'extended ' if line.is_extended else ''}{name}": value
            for line in told.summary.scores
            for name, value in line.values.items()
        }
        found.append(Place(told.summary_in, numbers | times | scores))
    if told.sections is not None:
        found.append(Place(told.sections_in, _of_sections(told.sections)))
    if told.description.file is not None:
        found.append(Place(told.description.file, told.description.scores))
    return found


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


def _version(told: Parsed) -> str | None:
    said = told.section("run").get("version")
    return said.text if said is not None else told.summary.version if told.summary is not None else None


def _procs(told: Parsed) -> Iterator[int]:
    for section, key in (("run", "procs"), ("find", "nproc")):
        value = told.section(section).get(key)
        if value is not None and value.text.isdigit():
            yield int(value.text)


def _moment(section: Mapping[str, Value], key: str) -> int | None:
    return moment_ns(section[key].text) if key in section else None


@dataclass(frozen=True)
class _Line:
    """The line that tells a phase's rate."""

    file: Path
    line: int
    value: Printed
    seconds: Printed | None
    is_invalid: bool = False


def _line(told: Parsed, phase: str) -> _Line:
    section = told.section(phase)
    if told.summary is not None:
        one: Phase = told.summary.phases[phase]
        return _Line(told.summary_in, one.line, one.value, one.seconds, one.is_invalid)
    score, time = section.get("score"), section.get("t_delta")
    if score is None:
        raise Refused(f"has no score for {phase}")
    return _Line(told.sections_in, score.line, score.number, time.number if time else None)


def _measured(told: Parsed, phase: str) -> Measured:
    line, section = _line(told, phase), told.section(phase)
    is_bandwidth = phase.startswith("ior-")
    unit = _GIB if is_bandwidth else 1000
    rate = line.value.value * unit
    base = _base(told, phase, line)
    size = base.transfer_bytes or 0
    found = [*base.doubts, *_doubts(told, phase, line, base)]
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
        doubts=found,
    )


def _base(told: Parsed, phase: str, line: _Line) -> Measured:
    """What the phase's own file tells, or what the rules fix."""
    if phase in told.phases:
        own_case, own = told.phases[phase]
        # The command lines are of IO500's making; doubts about caches are answered by its rules.
        kept = [
            doubt
            for doubt in own.doubts
            if doubt.kind in ("does-not-add-up", "short-phase", "best-of-several", "ranks-missing")
        ]
        return replace(own, doubts=kept, ranks=own_case.ranks, started_unix_ns=own_case.started_unix_ns)
    command = told.section(phase).get("exe")
    return Measured(
        file=line.file,
        line=line.line,
        phase=phase,
        operation=_operation(phase),
        layout=_LAYOUTS.get(phase, ""),
        files=None if phase.startswith("ior-") else 0,
        transfer_bytes=47_008 if phase.startswith("ior-hard") else None,
        command=command.text if command else "",
    )


def _stonewall(section: Mapping[str, Value], own: Stonewall | None) -> Stonewall | None:
    """The rate that `result.txt` has is that of the official program; the rest stands in the phase's file."""
    bandwidth, rate = section.get("throughput-stonewall"), section.get("rate-stonewall")
    if bandwidth is None and rate is None:
        return own
    return replace(
        own or Stonewall(),
        rate_bytes_per_s=bandwidth.number.value * _GIB if bandwidth and bandwidth.number.value else None,
        rate_operations_per_s=rate.number.value * 1000 if rate and rate.number.value else None,
    )


def _doubts(told: Parsed, phase: str, line: _Line, base: Measured) -> Iterator[Doubt]:
    if line.is_invalid:
        yield Doubt(
            kind="declared-invalid",
            message="the IO500 itself marked the phase as invalid",
            remedy="see the reason in result.txt; measure again",
            invalidates=True,
        )
    own = _own_rate(phase, base)
    if phase in told.phases and own is not None and not _fits(own, base.summarised, line.value):
        unit = _unit(phase)
        yield doubts.does_not_add_up(
            f"the IO500 printed {line.value.text} {unit}, but {_tool(phase)} in the phase's file {own:.6f} {unit}"
        )
    took = line.seconds.value if line.seconds else 0.0
    if base.duration_ns is not None and took > 0 and base.duration_ns / NS_PER_S > took * _LONGER + 1:
        yield doubts.does_not_add_up(
            f"the tool ran for {base.duration_ns / NS_PER_S:,.1f} s by its own clock, but the whole phase took only "
            f"{took:,.1f} s; the nodes' clocks may differ"
        )
    if phase in _WALLED and base.duration_ns is not None and base.duration_ns < IO500_STONEWALL_NS <= took * NS_PER_S:
        yield _hidden_short_write(phase, base.duration_ns / NS_PER_S, took)
    if phase == "find" and (excess := _visited_more(told)) is not None:
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


def _visited_more(told: Parsed) -> Doubt | None:
    """That a find visited far more than the phases had created: there was more in its directory."""
    section = told.section("find")
    created = [told.phases[name][1].operations for name in _FOUND_IN if name in told.phases]
    if "total-files" not in section or len(created) < len(_FOUND_IN) or None in created:
        return None
    if "mdworkbench-create" in told.names:
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


def _own_rate(phase: str, base: Measured) -> float | None:
    """What the phase's own file has, in the unit of the score."""
    if phase.startswith("ior-"):
        return None if base.rate_bytes_per_s is None else base.rate_bytes_per_s / _GIB
    return None if base.rate_operations_per_s is None else base.rate_operations_per_s / 1000


def _fits(own: float, sums: Summarised | None, printed: Printed) -> bool:
    """True if the file's rate can be the one that was printed. IOR may have rounded it to whole MiB/s, and old versions
    of mdtest have one for each rank, of which scripts took the greatest.
    """
    allowed = printed.half_unit + max(own * 0.001, 0.0006)
    lowest, highest = (sums.lowest / 1000, sums.highest / 1000) if sums is not None else (own, own)
    return lowest - allowed <= printed.value <= highest + allowed


_UNITS: Mapping[Quantity, str] = MappingProxyType({"bandwidth": "GiB/s", "metadata": "kIOPS", "total": ""})

_KEYS: Mapping[str, Quantity] = MappingProxyType({"BW": "bandwidth", "MD": "metadata", "SCORE": "total"})
"""What `result.txt` calls the scores."""


def printed(told: Parsed) -> list[PrintedScore]:
    """The scores that were printed: those of the summary, else those of `result.txt`."""
    if told.summary is not None:
        return [
            _score(told.summary_in, line.line, name, value, is_extended=line.is_extended)
            for line in told.summary.scores
            for name, value in line.values.items()
        ]
    return [
        _score(told.sections_in, value.line, _KEYS[key], value.number)
        for key, value in told.section("SCORE").items()
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
