"""The words for values, gains and verdicts of a sweep, for the report and for the lines that are shown meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ioassay.analysis.intervals import WANTED, Interval
from ioassay.store.sweep_document import ConstraintEntry, ObjectiveEntry, SweepDocument
from ioassay.text import format
from ioassay.text.rate_units import RateColumn, Unit, suited
from ioassay.text.units import format_count, format_duration
from ioassay.tuning.sweep.answer import Answer
from ioassay.tuning.sweep.cache import varies_page_cache
from ioassay.tuning.sweep.objective import is_latency
from ioassay.tuning.sweep.trials import Trial, todays

_NS_PER_MS = 1e6


class Scale:
    """The unit in which a sweep's objective is shown."""

    def __init__(self, document: SweepDocument) -> None:
        points = [point for measurement in document.measurements for point in measurement.points]
        values = [measurement.objective for measurement in document.measurements if measurement.objective]
        self.divisor, self.unit = 1.0, ""
        if is_latency(document.objective):
            self.divisor, self.unit = _NS_PER_MS, "ms"
        elif points:
            column: RateColumn = "rate_bytes_per_s" if points[0].unit == "B/s" else "rate_operations_per_s"
            unit: Unit = suited(column, points[0].operation, values)
            self.divisor, self.unit = unit.divisor, unit.name

    def shown(self, value: float | None) -> str:
        """A value with its unit, to three significant digits."""
        return format.ABSENT if value is None else f"{format.significant(value / self.divisor)} {self.unit}".strip()


def gain(interval: Interval | None, estimate: float | None = None) -> str:
    """A factor: `×1.93`."""
    value = interval.estimate if interval else estimate
    return format.ABSENT if value is None else f"×{format.significant(value)}"


def interval(bounds: Interval | None) -> str:
    """`×1.85 to ×2.01`."""
    if bounds is None:
        return format.ABSENT
    low, high = (f"×{format.significant(end)}" for end in (bounds.low, bounds.high))
    return format.interval(low, high, is_range=bounds.confidence < WANTED)


def values(of: Mapping[str, str | None], names: Iterable[str] | None = None) -> str:
    """`transfer 1MiB, ranks 4`."""
    named = ((name, of[name]) for name in (names or of))
    return ", ".join(f"{name} {value if value is not None else 'as in the study'}" for name, value in named)


def changes(answer: Answer, trial: Trial) -> str:
    """The values of a trial that differ from today's."""
    today = todays(answer.document)
    changed = [name for name, value in trial.values.items() if value != today[name]]
    return values(trial.values, changed) if changed else "today's values"


def objective(entry: ObjectiveEntry | ConstraintEntry) -> str:
    """`write rate`, `99th percentile of read latency`, `IO500 score`."""
    if entry.measure == "score":
        return "IO500 score"
    where = f"{entry.phase} of {entry.workload}" if entry.workload else f"{entry.phase}"
    if not is_latency(entry):
        return f"{where} rate"
    which = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile", "max": "maximum"}[entry.measure]
    return f"{which} of {where} latency"


def constraint(entry: ConstraintEntry) -> str:
    """A constraint as a sentence."""
    if is_latency(entry):
        return f"The {objective(entry)} must stay at or below {format_duration(entry.most_ns or 0)}."
    return f"The {objective(entry)} must stay at or above {format.share(entry.least_share or 0)} of today's."


def verdict(answer: Answer) -> str:
    """The answer in one sentence or two."""
    confirmed, what = answer.confirmed, objective(answer.document.objective)
    known = confirmed.gain if confirmed is not None else None
    if confirmed is not None and known is not None:
        pairs = format_count(len(confirmed.pairs), "fresh pair")
        span = f"{interval(known)} in {pairs}"
        if answer.verdict == "better":
            if is_latency(answer.document.objective):
                times = format.significant(known.estimate)
                return f"{changes(answer, confirmed)}: the {what} is {times} times lower, {span}."
            return f"{changes(answer, confirmed)}: {gain(known)} today's {what}, {span}."
        if answer.verdict == "worse":
            return (
                f"The best point of the search ({changes(answer, confirmed)}) is worse than today's settings: {span}."
            )
        return (
            f"No difference found between today's settings and the best point of the search "
            f"({changes(answer, confirmed)}): {span}."
        )
    return _without_confirmation(answer, what)


def _without_confirmation(answer: Answer, what: str) -> str:
    if answer.verdict == "withheld":
        measured = sum(measurement.objective is not None for measurement in answer.document.measurements)
        doubts = ", ".join(f"{kind} ({number} of {measured})" for kind, number in answer.void_doubts.items())
        return f"No answer: the measurements carry doubts that void a comparison of settings: {doubts}."
    if answer.verdict == "nothing better":
        tried = len(answer.trials)
        outcome = "The only other point did not improve" if tried == 1 else f"None of {tried} points improved"
        return f"{outcome} the {what}. Keep today's settings."
    return "The sweep has not finished, so there is no answer yet."


def changes_for_answer(answer: Answer) -> Iterator[str]:
    """Advice on what to change so that a sweep has an answer."""
    yield from answer.remedies
    settings = answer.document.study_settings
    if answer.document.study == "tune" and varies_page_cache(answer.document.parameters):
        yield "give it a target with more free space than memory: direct I/O would pass by the varied page cache"
        return
    if answer.document.study == "tune" and "direct=yes" not in settings:
        yield "measure past the page cache with --set direct=yes"
    if answer.document.study == "tune" and not any(setting.startswith("size=") for setting in settings):
        yield "make the files larger than what a phase moves, best larger than memory, with --set size=SIZE"


def trial_verdict(answer: Answer, trial: Trial) -> str:
    """The result of a trial."""
    if not trial.pairs:
        return _not_counted(trial)
    if trial.broken:
        return f"breaks a constraint: {'; '.join(trial.broken)}"
    if answer.best is not None and trial.number == answer.best.number:
        return "best"
    known = trial.gain
    if known is None:
        return "too few pairs"
    if known.low > 1:
        return "better than today's"
    return "worse than today's" if known.high < 1 else "no difference found"


def _not_counted(trial: Trial) -> str:
    invalid = trial.invalid("point") or trial.invalid("today")
    if not invalid:
        return "not measured"
    kinds = ", ".join(invalid[-1].void_doubts)
    return f"not counted: {kinds}" if invalid[-1].objective else f"not measured: {invalid[-1].why_invalid}"


COMMANDS = "commands.yaml"
"""The file in the directory of a sweep with its pairs of commands, as `ioassay tune apply` takes it."""


def apply_command(answer: Answer, setting_names: Mapping[str, str | None]) -> Sequence[tuple[str, str]]:
    """The command lines that make use of the answer, each with what it does."""
    recommended = answer.recommended
    settings = [f"{setting_names[name]}={value}" for name, value in recommended.items() if setting_names[name]]
    if any(parameter.set is not None and parameter.name in recommended for parameter in answer.document.parameters):
        settings.append(f"--commands {COMMANDS}")
    keys = [
        f"--set {parameter.key}={recommended[parameter.name]}"
        for parameter in answer.document.parameters
        if parameter.key is not None and parameter.name in recommended
    ]
    commands = []
    if settings:
        commands.append(("Apply the settings, with a way back", f"ioassay tune apply {' '.join(settings)}"))
    if keys:
        commands.append(
            ("Run the study like this", f"ioassay run {answer.document.study} --target DIR {' '.join(keys)}")
        )
    return commands
