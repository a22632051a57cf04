"""Every verdict in words: what it is about, what became of it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ioassay.analysis.acceptance import Judgement
from ioassay.analysis.check.criteria import CriterionCheck, Measure
from ioassay.analysis.check.regression import PointCheck
from ioassay.analysis.compare.ratios import Compared, Ratio
from ioassay.analysis.intervals import FEWEST
from ioassay.reports import format
from ioassay.reports.compare import wording

_MEASURES: dict[Measure, str] = {
    "peak": "peak",
    "sustained": "sustained",
    "every_point": "every point",
    "slow_samples": "samples below half of the median",
}


@dataclass(frozen=True)
class Line:
    """A verdict. `group` and `name` tell it apart from all others of a run, also in later runs."""

    group: str
    name: str
    judgement: Judgement
    says: str


def accepted(lines: Sequence[Line]) -> bool:
    """True if something passed and nothing failed. Where nothing at all could be judged, nothing is accepted."""
    judgements = {line.judgement for line in lines}
    return "passed" in judgements and "failed" not in judgements


def of_point(check: PointCheck, baseline: str) -> Line:
    """The verdict on a point of the baseline of that name."""
    group = check.curve.title
    if check.compared is None or check.point is None:
        return Line(group, "the series", check.judgement, f"{baseline} has it, and this run has nothing like it")
    name = wording.at(check.point, check.compared)
    if check.ratio is None:
        return Line(group, name, check.judgement, f"{baseline} has it, and this run has no valid measurement of it")
    return Line(group, name, check.judgement, _says(check, check.compared, check.ratio, baseline))


def _says(check: PointCheck, one: Compared, ratio: Ratio, baseline: str) -> str:
    rates = f"{wording.rate(one, ratio.other.median)} against {wording.rate(one, ratio.reference.median)} of {baseline}"
    known = ratio.interval
    interval = ""
    if known is not None:
        ends = format.interval(wording.times(known.low), wording.times(known.high), known.confidence)
        interval = f", interval {ends}"
    said = f"{rates}: {wording.times(ratio.value)} times{interval}"
    match check.reason:
        case "scatter":
            return f"{said}; repetitions scatter too much to tell this from chance"
        case "too few repetitions":
            return f"{said}; it takes {FEWEST} valid repetitions on both sides to judge that"
        case "unlike":
            differing = [wording.CONDITIONS[unlike.what] for unlike in ratio.unlike if unlike.is_told]
            return f"{said}; not measured alike: {', '.join(differing)}"
        case _:
            return said


def of_criterion(check: CriterionCheck) -> Line:
    """The verdict on a limit of a criterion."""
    criterion = check.criterion
    group = f"{criterion.name}: {check.curve.title}" if check.curve else criterion.name
    name = _MEASURES[check.measure]
    if criterion.from_clients > 1:
        name += f", from {criterion.from_clients} clients on"
    limit = f"at {'most' if check.column is None else 'least'} {_amount(check, check.limit)}"
    if check.value is None:
        return Line(group, name, check.judgement, f"{limit}; nothing valid was measured that it could rest on")
    because = f" ({criterion.because})" if criterion.because else ""
    return Line(group, name, check.judgement, f"{_amount(check, check.value)}, {limit}{because}")


def _amount(check: CriterionCheck, value: float) -> str:
    if check.column is None:
        return format.share(value)
    return format.rate(value) if check.column == "rate_bytes_per_s" else format.operations_rate(value)
