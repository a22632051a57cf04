"""What a study is and what it needs, in a few lines: for choosing one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ioassay.results.plan_sizes import is_walled, writes_again
from ioassay.studies.cases import expand
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve, scales
from ioassay.studies.target import Target
from ioassay.units import format_about_bytes, format_count
from ioassay.yaml_models.source import Source


@dataclass(frozen=True)
class Need:
    """What one scale of a study takes."""

    scale: str | None
    """`None` for a study without scales."""
    cases: int
    at_once_bytes: int
    """The largest file set: cases follow one another and remove their files."""
    written_bytes: int
    """By all cases together, in one pass over the files of each phase."""
    walled: bool
    """Stonewalls may end phases before that."""
    again: bool
    """Phases with a minimum time may write their files more than once."""
    stops_early: bool
    """Stop rules may spare some of the cases."""


@dataclass(frozen=True)
class Overview:
    """A study, for choosing one."""

    name: str
    title: str
    question: str
    yaml: str
    needs: list[Need]

    def text(self) -> str:
        """The overview for a terminal."""
        lines = [self.name, f"  {self.title}"]
        for need in self.needs:
            size = f"{format_about_bytes(need.at_once_bytes)} at once, {format_about_bytes(need.written_bytes)} written"
            scale = f"--scale {need.scale}: " if need.scale else "needs "
            less = ", less where a stonewall comes earlier" if need.walled else ""
            more = ", more where a minimum time needs further passes" if need.again else ""
            at_most = "at most " if need.stops_early else ""
            lines.append(f"  {scale}{size} in {at_most}{format_count(need.cases, 'case')}{less}{more}")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """The overview as a JSON document."""
        return {
            "name": self.name,
            "title": self.title,
            "question": self.question,
            "needs": [vars(need) for need in self.needs],
            "yaml": self.yaml,
        }


def judge(source: Source) -> None:
    """Has the engine judge the study at each of its scales. Raises `SourceError`, `CannotRun`."""
    for scale in _scales(source):
        refuse(resolve(source, scale, []))


def overview(source: Source) -> Overview:
    """What the study needs at each of its scales. Raises `SourceError`."""
    study = resolve(source, None, []).study
    needs = [_need(source, scale) for scale in _scales(source)]
    return Overview(study.name, study.title, study.question, source.text, needs)


def _scales(source: Source) -> list[str | None]:
    return [*scales(source)] or [None]


def _need(source: Source, scale: str | None) -> Need:
    resolved = resolve(source, scale, [])
    # Neither run nor target nor launcher change what a case takes.
    expanded = expand(resolved, "run", Target("directory", "/"), "local")
    cases = [case for case, _ in expanded]
    return Need(
        scale=scale,
        cases=len(cases),
        at_once_bytes=max(case.file_set_bytes for case in cases),
        written_bytes=sum(case.written_bytes for case in cases),
        walled=any(is_walled(plan) for _, plan in expanded),
        again=any(writes_again(plan) for _, plan in expanded),
        stops_early=any(entry.until for entry in resolved.entry.workloads),
    )
