"""Every verdict in words: what it is about, the result, and why; and the numbers that it says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ioassay.analysis.acceptance import Judgement, Verdict
from ioassay.analysis.compare import units
from ioassay.analysis.compare.ratios import Compared, Ratio
from ioassay.analysis.compare.subject import Subject
from ioassay.analysis.doubts import kinds
from ioassay.analysis.intervals import FEWEST, WANTED
from ioassay.analysis.names import Names
from ioassay.analysis.regression import PointCheck
from ioassay.criteria.verdicts import UNIT_OF, CriterionCheck, Measure
from ioassay.reports.compare import wording
from ioassay.store.document import RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.text import format
from ioassay.text.units import format_count

CHECK_VERSION = 1

_MEASURES: dict[Measure, str] = {
    "peak": "peak",
    "sustained": "sustained",
    "every_point": "every point",
    "slow_samples": "samples below half of the median",
    "p99_latency": "p99 latency",
    "slowest_operation": "slowest operation",
    "utilisation": "utilisation of accelerators",
    "accelerators": "accelerators that are fed",
}

_SHARES = ("slow_samples", "spread_between_repetitions", "utilisation")
"""Measures that are reported in percent."""


@dataclass(frozen=True)
class Line:
    """A verdict. `group` and `name` identify it within a run, also in later runs."""

    group: str
    name: str
    judgement: Judgement
    says: str
    value: float | None = None
    """The measured value in `unit`; `None` without a valid measurement."""
    at_least: float | None = None
    """The smallest value that passes, in `unit`. Of a baseline: its median less the tolerance."""
    at_most: float | None = None
    """The largest value that passes, in `unit`."""
    unit: str | None = None
    """`bytes/s`, `operations/s`, `s` or `1`."""
    doubts: tuple[str, ...] = ()
    """The kinds of doubts about what it rests on."""
    smallest_detectable_drop: float | None = None
    """The loss against a baseline, a share of it, that is detected in 8 of 10 runs; `None` where nothing is tested."""


def data(run: RunDocument, lines: Sequence[Line]) -> dict[str, Any]:
    """For other programs: `version`, `run`, `study`, `target`, `accepted`, and every check as a `Line` has it."""
    return {
        "version": CHECK_VERSION,
        "run": run.run,
        "study": run.study.name,
        "target": run.target,
        "accepted": accepted(lines),
        "checks": lines,
    }


def accepted(lines: Sequence[Line]) -> bool:
    """True if something passed and nothing failed. Where nothing at all could be judged, nothing is accepted."""
    judgements = {line.judgement for line in lines}
    return "passed" in judgements and "failed" not in judgements


def with_failure_if_unjudged(lines: Sequence[Line], group: str) -> list[Line]:
    """The verdicts, and one more that fails where none of them could be judged."""
    if any(line.judgement != "not judged" for line in lines):
        return list(lines)
    return [
        *lines,
        Line(group, "anything judged", "failed", "no criterion could be judged, so the run is not accepted"),
    ]


def study_verdict(verdict: Verdict, run: LoadedRun) -> Line:
    """The verdict on a criterion of the run's study."""
    criterion = verdict.criterion
    workload = "all workloads" if criterion.of == "all" else Names(run.document).workload(criterion.of)
    operation = None if criterion.operation == "all" else criterion.operation
    doubts = kinds(run.doubts, verdict.rests_on)
    says = [_value_with_limits(verdict.value, criterion.at_least, criterion.at_most, criterion.measure, criterion.unit)]
    if verdict.missing:
        says.append(verdict.missing)
    return Line(
        group=", ".join(filter(None, (workload, criterion.phase, operation))),
        name=criterion.measure.replace("_", " "),
        judgement=verdict.judgement,
        says=_joined(says, verdict.judgement, criterion.because, doubts),
        value=verdict.value,
        at_least=criterion.at_least,
        at_most=criterion.at_most,
        unit=criterion.unit,
        doubts=doubts,
    )


def criterion_verdict(check: CriterionCheck) -> Line:
    """The verdict on a limit of a criterion in a file."""
    criterion = check.criterion
    says = [_value_with_limits(check.value, check.at_least, check.at_most, check.measure, check.unit)]
    if check.title is None:
        says.append("it matches no series of this run")
    elif check.value is None:
        says.append("there is no valid measurement to judge")
    elif check.missing:
        says.append(f"{format_count(check.missing, 'phase')} without a valid measurement")
    from_clients = f", from {criterion.from_clients} clients on" if criterion.from_clients > 1 else ""
    return Line(
        group=f"{criterion.name}: {check.title}" if check.title else criterion.name,
        name=_MEASURES[check.measure] + from_clients,
        judgement=check.judgement,
        says=_joined(says, check.judgement, criterion.because, check.doubts),
        value=check.value,
        at_least=check.at_least,
        at_most=check.at_most,
        unit=check.unit,
        doubts=check.doubts,
    )


def baseline_verdicts(checks: Iterable[PointCheck], baseline: Subject, tolerance: float) -> list[Line]:
    """The verdicts on the points and series of a baseline, and one that fails where none of them was judged."""
    every = list(checks)
    points = sum(check.tested is not None for check in every)
    lines = [_point_verdict(check, baseline.name, tolerance, points) for check in every]
    return with_failure_if_unjudged(
        [*lines, *(_given_rate_verdict(curve.title) for curve in baseline.given)], "baseline"
    )


def _given_rate_verdict(series: str) -> Line:
    """The verdict on a series whose rate the study sets."""
    says = "the study sets its rate or pauses; `ioassay compare` shows the rates that were kept, and the latencies"
    return Line(series, "the series", "not judged", says)


def _point_verdict(check: PointCheck, baseline: str, tolerance: float, points: int) -> Line:
    """The verdict on a point; `points` were tested together."""
    group = check.curve.title
    if check.compared is None or check.point is None:
        return Line(
            group, "the series", check.judgement, f"{baseline} has this series, but this run has no matching one"
        )
    name, at_least = wording.point_name(check.point, check.compared), check.point.median * (1 - tolerance)
    unit = UNIT_OF[check.compared.column]
    if check.ratio is None:
        says = f"{baseline} has this series, but this run has no valid measurement of it"
        return Line(group, name, check.judgement, says, at_least=at_least, unit=unit)
    doubts = tuple(sorted({*check.ratio.reference.doubts, *check.ratio.other.doubts}))
    says = _joined([_point_text(check, check.compared, check.ratio, baseline, points)], check.judgement, None, doubts)
    detectable = check.tested.detectable if check.tested else None
    value = check.ratio.other.median
    return Line(group, name, check.judgement, says, value, at_least, None, unit, doubts, detectable)


def _point_text(check: PointCheck, compared: Compared, ratio: Ratio, baseline: str, points: int) -> str:
    unit = units.of_series([compared])[compared.column]
    now, before = (wording.rate(compared, unit, point.median) for point in (ratio.other, ratio.reference))
    rates = f"{now} against {before} of {baseline}"
    known = ratio.interval
    interval = ""
    if known is not None:
        ends = format.interval(wording.times(known.low), wording.times(known.high), is_range=known.confidence < WANTED)
        interval = f", interval {ends}"
    differing = [wording.CONDITIONS[unlike.what] for unlike in ratio.unlike if unlike.is_stated]
    unlike = f"; different conditions: {', '.join(differing)}" if differing else ""
    comparison = f"{rates}: {wording.times(ratio.value)} times{interval}{unlike}"
    if check.tested is None:
        return f"{comparison}; a verdict needs {FEWEST} valid repetitions on both sides"
    if check.reason == "slower":
        runs = "runs" if points == 1 else f"runs of {points} points"
        return f"{comparison}; chance alone does this in {format.share(check.tested.chance)} of {runs}"
    among = "" if points == 1 else f" among {points} points"
    chance = f"; may be chance{among}: repetitions scatter" if check.reason == "scatter" else ""
    is_too_large = check.reason == "insensitive"
    return (
        f"{comparison}{chance}; {smallest_drop(check.tested.detectable, is_too_large=is_too_large, of='repetitions')}"
    )


def smallest_drop(drop: float, *, is_too_large: bool, of: str) -> str:
    """`smallest detectable drop: 8.2 %`; of one that is too large to judge what to do. `of`: what scatters."""
    return f"smallest detectable drop: {format.share(drop)}{f', too large for a verdict: add more {of}' * is_too_large}"


def _value_with_limits(
    value: float | None, at_least: float | None, at_most: float | None, measure: str, unit: str
) -> str:
    """`1.20 GB/s, at least 1 GB/s`."""
    limits = (("least", at_least), ("most", at_most))
    is_share = measure in _SHARES
    wanted = " and ".join(
        f"at {which} {format.share(limit) if is_share else format.limit(limit, unit)}"
        for which, limit in limits
        if limit is not None
    )
    if value is None:
        return wanted
    return f"{format.share(value) if is_share else format.in_unit(value, unit)}, {wanted}"


def _joined(says: Sequence[str], judgement: Judgement, because: str | None, doubts: Sequence[str]) -> str:
    """The verdict's text; the reason of a limit is added where it is exceeded."""
    doubted = [f"doubted: {', '.join(doubts)}"] if doubts else []
    reason = f" ({because})" if because and judgement == "failed" else ""
    return "; ".join([*says, *doubted]) + reason
