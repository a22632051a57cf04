"""The score of the IO500, computed from the measurements of phases with the official names.

The official program (IO500/io500 at 02091cf; `src/main.c`, `src/phase_*.c`) takes for `ior-*` all bytes in GiB over
the time until the last rank has closed its file, and for the others all items, or visited files, in thousands over
the time until the last rank is done: the last-finished rates, wear-out, fsync and sync included. A score is the
geometric mean of its group's phases, and the total that of both groups.

This is stricter in one point: the official means leave out phases whose score is 0, so a failed phase can raise them.
Here a phase that failed, is missing or has an invalid number counts as 0, and so does the total.

Other rules are checked as far as tables allow: sizes, layouts, stonewalls, whether reads read everything. Anything that
an imported submission does not state breaks no rule, nor do amounts that follow from rounded numbers; its stonewall
times are only known roughly, so its phases are judged by their length. Not: whether a submission would be accepted,
which only the IO500's committee decides; whether printed scores follow (`printed_scores`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from ioassay.protocol.facts import IO500_PHASES, IO500_STONEWALL_NS, DoubtKind, Io500Phase
from ioassay.store.document import Operation, RunDocument
from ioassay.store.loaded import LoadedRun
from ioassay.store.measurement import Measurement
from ioassay.text.units import PER_SECOND, RateUnit, format_bytes

_UNSYNCED: DoubtKind = "unsynced-write"

_ROUNDED = 0.01
"""Relative error of amounts of an imported submission, which follow from a rate and a rounded time."""

Group = Literal["bandwidth", "metadata"]

List = Literal["standard", "extended"]
"""The lists of phases, each with its score. The extended one contains all phases of the standard one."""

UNITS: Mapping[Group, RateUnit] = {"bandwidth": "GiB/s", "metadata": "kIOPS"}


@dataclass(frozen=True)
class Rule:
    """The rules for a phase. `None`: no rule."""

    phase: str
    group: Group
    operation: Operation
    layout: str | None = None
    moves: int | None = None
    """Bytes of one operation."""
    walled: bool = False
    """True if it ends at a stonewall, with wear-out."""
    all_of: str | None = None
    """The phase that created the files or items it works on; it must use all of them."""
    besides: tuple[Operation, ...] = ()
    """Other operations of the phase, which count together with `operation`."""
    lists: tuple[List, ...] = ("standard", "extended")
    """The lists in whose score it counts. A phase that counts in none is reported beside the others."""

    def amount(self) -> str:
        """The column with the amount of work."""
        return "bytes" if self.group == "bandwidth" else "operations"


def _rule(phase: Io500Phase) -> Rule:
    *besides, operation = phase.operations
    return Rule(
        phase.name,
        "bandwidth" if phase.unit == UNITS["bandwidth"] else "metadata",
        operation,
        layout=phase.layout,
        moves=phase.moves,
        walled=phase.walled,
        all_of=phase.all_of,
        besides=tuple(besides),
        lists=phase.lists,
    )


RULES = tuple(map(_rule, IO500_PHASES))
"""All phases, in the order in which they run."""

STANDARD = tuple(rule for rule in RULES if "standard" in rule.lists)
"""The phases in the score of the standard list."""


@dataclass(frozen=True)
class PhaseScore:
    """A phase with its score, in the unit of its group."""

    rule: Rule
    score: float
    """0 without a valid number."""
    duration_ns: int | None
    reasons: tuple[str, ...]
    """Why it is invalid; empty if it is valid."""
    place: Measurement | None
    """The measurement that it rests on."""
    note: str = ""
    """Why the score differs from the measured rate; empty if it does not."""


@dataclass(frozen=True)
class Score:
    case: str
    list: List
    phases: tuple[PhaseScore, ...]
    """Phases that count, and other measured ones."""
    bandwidth: float
    """GiB/s"""
    metadata: float
    """kIOPS"""
    reasons: tuple[str, ...]
    """Why the whole is invalid, apart from its phases."""
    printed: float | None = None
    """The total that another program printed, for an imported submission."""

    @property
    def total(self) -> float:
        """The geometric mean of both, without a unit."""
        return math.sqrt(self.bandwidth * self.metadata)

    def counts(self, phase: PhaseScore) -> bool:
        """True if the phase is in the list."""
        return self.list in phase.rule.lists

    @property
    def is_valid(self) -> bool:
        """True if the rules were kept, as far as tables show."""
        return not self.reasons and not any(phase.reasons for phase in self.phases if self.counts(phase))


def scores(run: LoadedRun) -> list[Score]:
    """The scores of every case with phases of the IO500, if the study or command line asks for them: the standard list,
    and the extended one if any phase that only it has was measured.
    """
    if run.document.study.scores != "io500":
        return []
    names = {rule.phase for rule in STANDARD}
    return [
        score
        for case in run.document.cases
        if not names.isdisjoint(phase.name for phase in case.phases)
        for score in _scores(run, case.id)
    ]


def _scores(run: LoadedRun, case: str) -> Iterator[Score]:
    measured, doubts = run.measurements.filter(case=case), run.doubts.filter(case=case)
    rows = {rule.phase: row for rule in RULES if (row := _row(measured, rule, run.document)) is not None}
    slack = 0.0 if run.document.imported is None else _ROUNDED
    lists: tuple[List, ...] = ("standard", "extended")
    for name in lists if any(rule.lists == ("extended",) and rule.phase in rows for rule in RULES) else lists[:1]:
        phases = tuple(
            _phase(rule, rows, doubts.filter(phase=rule.phase), slack)
            for rule in RULES
            if name in rule.lists or rule.phase in rows
        )
        counting = [phase for phase in phases if name in phase.rule.lists]
        yield Score(
            case=case,
            list=name,
            phases=phases,
            bandwidth=_mean(counting, "bandwidth"),
            metadata=_mean(counting, "metadata"),
            reasons=tuple(_about_the_whole(run.document, rows)),
            printed=_printed_total(run.document, name),
        )


def _printed_total(document: RunDocument, list_name: List) -> float | None:
    """The total of a list that a submission printed."""
    printed = document.imported.printed if document.imported is not None else ()
    return next((score.value for score in printed if score.list == list_name and score.name == "total"), None)


def _row(measured: pl.DataFrame, rule: Rule, document: RunDocument) -> dict[str, Any] | None:
    """The measurement of a phase; several operations are summed, as in imported results."""
    rows = measured.filter(pl.col("operation").is_in([rule.operation, *rule.besides]), phase=rule.phase, job=rule.phase)
    if rows.is_empty():
        return None
    row = rows.sort(pl.col("operation") != rule.operation).row(0, named=True)
    if rule.besides and document.imported is None:
        row["operations"] = rows["operations"].sum()
        row["rate_operations_per_s"] = rows["rate_operations_per_s"].sum()
        row["valid"] = bool(rows["valid"].all()) and rows.height == 1 + len(rule.besides)
    return row


def _phase(rule: Rule, rows: Mapping[str, dict[str, Any]], doubts: pl.DataFrame, slack: float) -> PhaseScore:
    """The score of a phase. `slack` is the share by which amounts may be off; 0 for runs of ioassay."""
    row = rows.get(rule.phase)
    if row is None:
        return PhaseScore(rule, 0.0, None, ("it was not measured",), None)
    rate = row["rate_bytes_per_s"] if rule.group == "bandwidth" else row["rate_operations_per_s"]
    score = (rate or 0.0) / PER_SECOND[UNITS[rule.group]] if row["valid"] else 0.0
    note = ""
    if rule.operation == "find" and score and (files := _files(rows, rule.phase)) is not None and row["operations"]:
        counted = min(row["operations"], files) / row["operations"]
        if counted < 1 - _ROUNDED:
            note = (
                f"counts {100 * counted:.3g} % of {score:.6g} kIOPS: it visited {row['operations']} entries, but there "
            )
            note += f"were {files} files"
        score *= counted
    reasons = (*_why_invalid(row, score, doubts), *(_breaks(rule, row, rows, doubts, slack) if score else ()))
    return PhaseScore(rule, score, row["duration_ns"], reasons, Measurement.of(row), note)


def _why_invalid(row: Mapping[str, Any], score: float, doubts: pl.DataFrame) -> Iterator[str]:
    """Why the phase has no valid number."""
    if row["valid"]:
        if score <= 0:
            yield "it did no countable operation"
        return
    messages = doubts.filter("invalidates")["message"].to_list()
    yield from messages or ["not every rank completed its work"]


def _breaks(
    rule: Rule, row: Mapping[str, Any], rows: Mapping[str, dict[str, Any]], doubts: pl.DataFrame, slack: float
) -> Iterator[str]:
    """The rules that the phase breaks."""
    if rule.walled:
        yield from _about_stonewall(row, slack)
    if rule.layout is not None and row["layout"] != rule.layout and (row["layout"] or not slack):
        yield f"the layout is {row['layout']}, but the rules require {rule.layout}"
    if rule.moves is not None and row["transfer_bytes"] not in (rule.moves, *([None] if slack else [])):
        moved = "nothing" if row["transfer_bytes"] is None else format_bytes(row["transfer_bytes"])
        yield f"an operation moves {moved}, but the rules require {format_bytes(rule.moves)}"
    if rule.group == "bandwidth" and not doubts.filter(kind=_UNSYNCED).is_empty():
        yield "its files were not synced to stable storage, but the rules include that in its time"
    made = rows.get(rule.all_of or "")
    times = 1 + len(rule.besides)
    if made is not None and _differs(row[rule.amount()], made[rule.amount()], times, slack):
        done, there = _amount(rule, row[rule.amount()] // times), _amount(rule, made[rule.amount()])
        yield f"it did {done} of what {rule.all_of} created, {there}"
    visited, files = row["operations"], _files(rows, rule.phase) if rule.operation == "find" else None
    if visited is not None and files is not None and visited < files * (1 - slack):
        yield f"it visited {visited} entries, but there were {files} files"
    if rule.operation == "find" and row["matched"] == 0:
        yield "it found nothing"


def _differs(done: int | None, made: int | None, times: int, slack: float) -> bool:
    """True if the done amount is not the created one; `slack` is the share by which amounts may be off."""
    return done is not None and made is not None and abs(done - made * times) > made * times * slack


def _files(rows: Mapping[str, dict[str, Any]], walk: str) -> int | None:
    """The number of files that a find phase walks; it also visits directories, but does not count them."""
    below = {"find-easy": "mdtest-easy-write", "find-hard": "mdtest-hard-write"}
    made = {rule.phase: "files" for rule in RULES if rule.operation == "write"}
    made |= {rule.phase: "operations" for rule in RULES if rule.operation == "create" and not rule.besides}
    there = [rows[phase][made[phase]] for phase in made if phase in rows and below.get(walk, phase) == phase]
    return None if None in there else sum(there)


def _about_stonewall(row: Mapping[str, Any], slack: float) -> Iterator[str]:
    wall_ns, duration_ns = row["stonewall_ns"], row["duration_ns"]
    if wall_ns is not None and wall_ns < IO500_STONEWALL_NS and not slack:
        yield f"its stonewall came at {_time(wall_ns)}, but the rules require {_time(IO500_STONEWALL_NS)}"
    elif duration_ns is not None and duration_ns < IO500_STONEWALL_NS:
        more = ", because its work was done" if wall_ns is None and not slack else ""
        yield f"it took {_time(duration_ns)}{more}, but the rules require at least {_time(IO500_STONEWALL_NS)}"
    if None in (wall_ns, row["operations"], row["ranks"], row["stonewall_most_operations"]):
        return
    if row["operations"] < row["ranks"] * row["stonewall_most_operations"] * (1 - slack):
        yield "after the stonewall, not every rank did as much as the fastest (wear-out)"


def _about_the_whole(document: RunDocument, rows: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    if document.front_end is not None and document.study.scale is not None:
        yield f"its amounts were divided, scale {document.study.scale}"
    starts = [rows[rule.phase]["started_unix_ns"] for rule in RULES if rule.phase in rows]
    began = [moment for moment in starts if moment is not None]
    if began != sorted(began):
        yield "its phases did not run in the order that the rules require"


def _amount(rule: Rule, amount: int) -> str:
    return format_bytes(amount) if rule.group == "bandwidth" else f"{amount} items"


def _time(duration_ns: int) -> str:
    """In seconds, as the rules are: `300 s`, `0.725 s`."""
    return f"{duration_ns / 1e9:g} s"


def _mean(phases: Iterable[PhaseScore], group: Group) -> float:
    return geometric_mean(phase.score for phase in phases if phase.rule.group == group)


def geometric_mean(scores: Iterable[float]) -> float:
    """The geometric mean; 0 for no scores, or if any of them is 0."""
    values = list(scores)
    return math.exp(sum(map(math.log, values)) / len(values)) if values and min(values) > 0 else 0.0
