"""The sentences that a report writes itself: how the run ended, what came out, what is missing.

Numbers in them are formatted by `format`; nothing is computed here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ioassay.analysis import rates, series
from ioassay.analysis.doubts import Place
from ioassay.analysis.intervals import FEWEST
from ioassay.analysis.names import Names
from ioassay.analysis.stop_rule import WidePoint, Width
from ioassay.reports.run.content import Content
from ioassay.reports.run.io500 import INVALID
from ioassay.reports.run.workloads import WorkloadPart
from ioassay.store.document import CaseEntry, CaseState, RunDocument
from ioassay.store.origin import ImportOrigin
from ioassay.text import format
from ioassay.text.units import format_count, format_link_rate

_ENDS: dict[str, str] = {
    "running": "The run had not ended.",
    "complete": "The run is complete.",
    "failed": "The run failed.",
    "interrupted": "The run was interrupted.",
}

_STATES: tuple[tuple[CaseState, str], ...] = (
    ("failed", "failed"),
    ("interrupted", "interrupted"),
    ("running", "still running"),
    ("pending", "never started"),
    ("not needed", "not needed (intervals narrow enough, or no time left)"),
)


def state(content: Content) -> str:
    """How the run ended and how much of it there is."""
    cases = content.document.cases
    counts = Counter(case.state for case in cases)
    at = content.document.live_at
    end = _ENDS[content.document.state] if at is None else f"The run is in progress; results are as of {at}."
    sentence = f"{end} {counts['complete']} of {format_count(len(cases), 'case')} complete"
    rest = [f"{counts[name]} {words}" for name, words in _STATES if counts[name]]
    return ", ".join([sentence, *rest]) + "."


def asked(content: Content) -> tuple[str, str]:
    """What was run, as a row of the opening: (`Study` or `Front end`, its name and scale)."""
    document = content.document
    scale = f", scale {document.study.scale}" if document.study.scale else ""
    source = f"; method of: {document.study.source}" if document.study.source else ""
    if document.imported is not None:
        return "Imported", imported(document.imported)
    return "Study" if document.front_end is None else "Front end", f"{document.study.name}{scale}{source}"


def imported(entry: ImportOrigin) -> str:
    """The tool that results were imported from, and its versions."""
    versions = ", ".join(entry.versions)
    return versions if versions.startswith(entry.tool) else f"{entry.tool} {versions}".strip()


def lab(content: Content) -> str:
    """The lab that it was measured in, or nothing."""
    entry = content.document.lab
    if entry is None:
        return ""
    hosts = format_count(len(entry.hosts), "host")
    links = f" with links of {format_link_rate(entry.link_bits_per_s)}" if entry.link_bits_per_s else ""
    return "; ".join(part for part in (entry.about, f"{hosts} of one machine{links}") if part)


def no_nodes(document: RunDocument) -> str:
    """Why nothing is reported of nodes, where none has reported itself."""
    if document.imported is None:
        return "No node reported its environment: the engine did not start."
    also = "; see the settings for the rest of the configuration" if document.study.settings else ""
    return f"The imported results do not describe the nodes{also}."


def errors(content: Content) -> list[tuple[str, str]]:
    """(case in words, why it failed) of every case that has an error."""
    return [(content.names.case(case.id), case.error) for case in content.document.cases if case.error]


def missing(content: Content) -> str:
    """What the run did not measure, or nothing."""
    if not content.missing:
        return ""
    planned = sum(len(case.measured) for case in content.document.cases)
    were = "was" if len(content.missing) == 1 else "were"
    sentence = f"{len(content.missing)} of {format_count(planned, 'measurement')} {were} not made."
    if content.document.front_end is not None:
        return sentence
    return f"{sentence} Figures, peaks and sustained rates rest on the others and may change with the missing ones."


def wide(content: Content) -> list[str]:
    """What stayed wide after the most repetitions of a stop rule: a sentence for all, then one for each point."""
    if not content.wide:
        return []
    rules = sorted({(point.rule.at_most, point.rule.share) for point in content.wide})
    asked = " and ".join(f"{most} repetitions for an interval of ±{100 * share:g} %" for most, share in rules)
    points = format_count(len(content.wide), "point")
    return [
        f"{points} of the sweep still spread too much after the most repetitions that the study allows ({asked}).",
        *(_wide_point(content, point) for point in content.wide),
    ]


def _wide_point(content: Content, wide: WidePoint) -> str:
    case = next(case for case in content.document.cases if case.sweep_point == wide.point)
    where = f"{content.names.workload(case.workload)}, {content.names.point(case.id)}"
    return f"{where}: {', '.join(f'{series.label(one.series)} {_known(one)}' for one in wide.wide)}."


def _known(width: Width) -> str:
    repetitions = format_count(width.repetitions, "valid repetition")
    return f"±{format.share(width.share)} ({repetitions})" if math.isfinite(width.share) else repetitions


def trust(content: Content) -> str:
    """How many of the numbers are valid and how many have doubts, in a sentence."""
    total = content.doubts.measurements
    if total == 0:
        return "Nothing was measured."
    invalid = sum(not row["valid"] for part in content.workloads for row in part.measurements)
    doubted = sum(bool(row["marks"]) for part in content.workloads for row in part.measurements)
    are = "is" if invalid == 1 else "are"
    every = "The only measurement is" if total == 1 else f"All {total} measurements are"
    valid = f"{every} valid{_but_not_the_score(content)}"
    if invalid:
        valid = f"{invalid} of {format_count(total, 'measurement')} {are} invalid and left out"
    if doubted == 0:
        return f"{valid}; {'it has no doubts' if total == 1 else 'none has a doubt'}."
    if doubted == total:
        return f"{valid}; {'it has' if total == 1 else 'all have'} doubts."
    return f"{valid}; {doubted} {'has' if doubted == 1 else 'have'} doubts."


def _but_not_the_score(content: Content) -> str:
    """A score may be invalid although every number that it is made of is right: it has rules of its own."""
    invalid = sum(not score.is_valid for score in content.scores)
    if not invalid:
        return ""
    which = "the IO500 score is" if len(content.scores) == 1 else f"{invalid} of {len(content.scores)} IO500 scores are"
    return f" as a measurement, but {which} {INVALID} by the rules of the IO500"


def acceptance(content: Content) -> str:
    """The verdict on the run in a sentence, or nothing without criteria."""
    if content.accepted is None:
        return ""
    counts = Counter(verdict.judgement for verdict in content.verdicts)
    parts = [f"{counts[name]} {name}" for name in ("passed", "failed") if counts[name]]
    return f"Acceptance: {content.accepted}. Criteria: {', '.join(parts)}."


def intervals(content: Content) -> str:
    """What an interval below a rate means, where there is one; with a space at its end."""
    told = [cell.interval for line in content.summary for cell in line.cells]
    told += [line.peak.interval for line in content.by_series] + [line.interval for line in content.medians]
    if not any(told):
        return ""
    lucky = any(cell.luck for line in content.summary for cell in line.cells) or any(
        line.peak.luck for line in content.by_series
    )
    luck = (
        "Points are alike if repetitions cannot distinguish them from the best; the highest of several equal medians "
        "is too high by the given share on average. "
        if lucky
        else ""
    )
    return (
        "Below each median: its 95 % confidence interval, or the range of too few repetitions; below each peak: that "
        f"of the highest rate of the sweep. {luck}"
    )


def measured(content: Content) -> str:
    """When it was measured."""
    document = content.document
    if not document.started:
        return "date unknown"
    ended = f" to {format.moment(document.ended)}" if document.ended else ""
    zone = "UTC" if document.imported is None else "time zone unknown"
    return f"{format.moment(document.started)}{ended} ({zone})"


MOST_SOURCES = 100
"""Files of an import that a report lists; `run.json` has all of them."""


def sources(content: Content) -> list[tuple[str, str]]:
    """(file, its SHA-256, or why it was refused) of the files that were imported, the refused ones first."""
    entry = content.document.imported
    if entry is None:
        return []
    told = [
        (one.path if one.line is None else f"{one.path}:{one.line}", f"refused: {one.reason}") for one in entry.refused
    ]
    told += [(one.path, one.sha256) for one in entry.files]
    more = len(told) - MOST_SOURCES
    return told[:MOST_SOURCES] + ([(f"and {format_count(more, 'more file')}", "see run.json")] if more > 0 else [])


def commands_title(content: Content) -> tuple[str, str]:
    """What the commands of the appendix are, and what they are good for."""
    if content.document.imported is not None:
        return "Command lines", "The tool's command lines, from its output."
    return "Equivalent commands", "IOR and mdtest commands that repeat a phase."


def equivalent(content: Content, part: WorkloadPart, cases: Sequence[CaseEntry]) -> list[tuple[str, str]]:
    """(where, equivalent command line) of every job of these cases of a workload that has one."""
    return [
        (", ".join([part.title, content.names.point(case.id), *dict.fromkeys((phase.name, job.name))]), job.command)
        for case in cases
        for phase in case.phases
        for job in phase.jobs
        if job.command
    ]


def gaps(content: Content) -> list[str]:
    """What the run cannot tell because of how it was measured, whatever its numbers are."""
    told = []
    document = content.document
    if document.imported is not None:
        told.append(
            f"The numbers were read from what {document.imported.tool} printed; "
            "ioassay could not check the measurements."
        )
    if content.missing:
        told.append(missing(content))
    medians = rates.medians(content.points, "rate_operations_per_s")
    few = medians.filter(medians["repetitions"] < FEWEST).height
    if few:
        which = "No median" if few == medians.height else f"{few} of {format_count(medians.height, 'median')}"
        have = "has" if few in (1, medians.height) else "have"
        no = "a" if few == medians.height else "no"
        told.append(
            f"{which} {have} {no} confidence interval, which needs {FEWEST} valid repetitions: how far another run "
            "would differ is unknown."
        )
    if document.ceilings is None and len(document.environment) > 1:
        told.append("The network was not measured, so rates are not compared with its throughput (`ioassay net`).")
    return told


_TERMS = {
    "Rate": "last-finished, as IOR's: all bytes, or all operations, over the time until the slowest rank is done, "
    "open, fsync and close included",
    "First-finished rate": "the amount moved when the first rank finished, over that time",
    "Rate at the stonewall": "the work done at the time limit of the phase, over that time, with the operations "
    "of the slowest and of the fastest rank; all other rates go on to the end of the last rank",
    "Peak": "the best median of the sweep",
    "Sustained": "the median over all points from the first that reaches 90 % of the peak",
    "Interval": "the 95 % confidence interval of the median, by order statistics of the repetitions; `range`: from the "
    "lowest to the highest of fewer than 6 repetitions, which is less sure",
    "Of ceiling": "the share of the lowest ceiling of the network on the path",
    "Open, transfer, fsync, close": "shares of the time of all ranks",
    "Apart at start, at end": "how long after the first rank the last one started, and ended",
    "In memory": "the share of the file set that the page cache held before a read",
}


def terms(content: Content) -> list[tuple[str, str]]:
    """The terms of the tables with their meaning: those that this report uses."""
    columns = {key for part in content.workloads for key in part.columns}
    has = {
        "First-finished rate": "first_rate" in columns,
        "Rate at the stonewall": "stonewall" in columns,
        "Peak": bool(content.levels),
        "Sustained": bool(content.levels),
        "Interval": bool(intervals(content)),
        "Of ceiling": "ceiling" in columns,
        "Open, transfer, fsync, close": "transfer" in columns,
        "Apart at start, at end": bool({"start_spread", "finish_spread"} & columns),
        "In memory": "resident" in columns,
    }
    return [(term, f"{meaning}.") for term, meaning in _TERMS.items() if has.get(term, True)]


def day(iso: str) -> str:
    """The day of an ISO time: `2026-02-02`."""
    return iso[:10]


def setting(value: object) -> str:
    """The value of a setting: lists with commas, everything else as it was typed."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def doubt(kind: str) -> str:
    """What a kind of doubt is called where a line begins with it: `Cache resident`."""
    return kind.replace("-", " ").capitalize()


def by_message(places: Iterable[Place], names: Names) -> list[tuple[str, str]]:
    """(where, message) of the doubts of a group; what has the same message is reported together."""
    where: dict[str, dict[str, list[str]]] = {}
    for (case, *measured), message, _ in places:
        where.setdefault(message, {}).setdefault(case, []).append(names.measurement(*measured))
    return [(_where(cases, names), message) for message, cases in where.items()]


MOST_PLACES = 100
"""Cases that are named one by one where many have the same doubt."""


def _where(cases: Mapping[str, list[str]], names: Names) -> str:
    told = [f"{names.case(case)}: {', '.join(phases)}" for case, phases in itertools.islice(cases.items(), MOST_PLACES)]
    more = len(cases) - MOST_PLACES
    return "; ".join([*told, f"and {format_count(more, 'more case')}"] if more > 0 else told)


def shown(part: WorkloadPart) -> str:
    """How many of a workload's measurements a table shows, or nothing where it shows all."""
    if len(part.measurements) == part.measured:
        return ""
    return (
        f"{len(part.measurements)} of {part.measured} measurements are shown: of each point of the sweep the "
        "repetition nearest the median, what is invalid, and what a finding rests on. `ioassay report --format csv` "
        "has all."
    )
