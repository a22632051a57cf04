"""Shows a run while it happens, on standard error.

`ioassay quick` has one line (`Brief`). `ioassay run` has a live view on a terminal: where the run stands, the running
phase, and a table of rates that fills as phases end; anywhere else a line per phase. All are watchers of `execution`;
none computes a number that is kept.
"""

from __future__ import annotations

import bisect
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ioassay.analysis import series
from ioassay.analysis.accelerator_sweeps import likely_cases
from ioassay.analysis.names import NOUNS, Names
from ioassay.cli.console import PlainTextConsole
from ioassay.cli.remaining_time import Of, Remaining, RemainingPhases, share_done, units_done, units_of
from ioassay.execution.plan_check import Need
from ioassay.execution.watcher import Watcher
from ioassay.processes.verbosity import is_quiet
from ioassay.store.document import CaseEntry, JobEntry, Operation, PhaseEntry, RunDocument
from ioassay.store.point import CLIENTS, RANKS_PER_CLIENT, ascending
from ioassay.text import format
from ioassay.text.control_characters import styled
from ioassay.text.rate_units import ON_DATA, suited
from ioassay.text.units import OPERATIONS_UNITS, RateUnit, format_about_bytes, format_count, format_rate

if TYPE_CHECKING:
    from ioassay.calibration.budget import Budget
    from ioassay.protocol.event import Event, EventPhase
    from ioassay.protocol.progress import Progress

NS_PER_S = 1_000_000_000

_RATE_WIDTH = len("12.3 kIOPS")
"""Width of most rates, in columns: a longer one moves what follows it."""

_AMOUNT_WIDTH = len("12.3 GB in 12.3 ms")


def watcher(need: Need | None, stream: TextIO = sys.stderr) -> Watcher:
    """The display that suits `stream`. `need` is what the run will write, where that has been asked."""
    console = PlainTextConsole(file=cast(TextIO, _SurvivingStream(styled(stream))), highlight=False, soft_wrap=False)
    if is_quiet():
        return Errors(console, need)
    return LiveView(console, need) if console.is_terminal and not console.is_dumb_terminal else Lines(console, need)


def brief(budget: Budget, stream: TextIO = sys.stderr) -> Brief:
    """The display of `ioassay quick` that suits `stream`."""
    console = PlainTextConsole(file=cast(TextIO, _SurvivingStream(styled(stream))), highlight=False, soft_wrap=False)
    is_live = console.is_terminal and not console.is_dumb_terminal and not is_quiet()
    return Brief(console, budget, is_live=is_live)


class Brief:
    """One line on a terminal: how much of the time has passed, and what is measured at which rate. Elsewhere nothing
    but what goes wrong.
    """

    def __init__(self, console: Console, budget: Budget, *, is_live: bool) -> None:
        self._console = console
        self._budget = budget
        self._live = self._line() if is_live else None
        self._is_probe = False
        self._units: dict[str, RateUnit] = {}
        self._doing = ""

    @contextlib.contextmanager
    def probing(self) -> Iterator[None]:
        """A context for the probes that choose sizes, which are not part of the run."""
        self._is_probe = True
        yield
        self._is_probe = False

    def run_begins(self, document: RunDocument) -> None:
        """Opens the line."""
        self._units = _units(document)
        if self._live:
            self._live.start()
            self._draw()

    def case_begins(self, case: CaseEntry) -> None:
        """Nothing: `progress` shows it."""
        self._draw()

    def progress(self, case: CaseEntry, progress: Progress) -> None:
        """Moves the line."""
        phase = _phase(case, progress["name"])
        if self._is_probe:
            self._doing = "finding sizes"
        elif phase and progress["operations"]:
            operations = [operation for job in phase.jobs for operation in job.operations]
            unit = _unit(phase.jobs, operations, self._units[case.workload])
            self._doing = f"{case.workload} {phase.name}  {_rate(progress, progress['elapsed_ns'], unit)}"
        self._draw()

    def event(self, case: CaseEntry, event: Event) -> None:
        """Nothing: the answer has it."""

    def case_ends(self, case: CaseEntry) -> None:
        """Nothing: the answer says why it failed, if it did."""
        self._draw()

    def notice(self, message: str) -> None:
        """Prints above the line."""
        self._console.print(message, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Removes the line, and begins another one."""
        if not self._live:
            yield
            return
        self._live.stop()
        yield
        self._live = self._line()
        self._live.start()

    def run_ends(self, document: RunDocument) -> None:
        """Removes the line."""
        if self._live:
            self._live.stop()

    def _line(self) -> Live:
        return Live(console=self._console, auto_refresh=False, transient=True)

    def _draw(self) -> None:
        if not self._live:
            return
        row = Table.grid(padding=(0, 2), expand=False)
        bar = ProgressBar(total=self._budget.limit_s, completed=self._budget.passed_s, width=24)
        times = f"{_clock(self._budget.passed_s)} of {_clock(self._budget.limit_s)}"
        row.add_row(times, bar, Text(self._doing, no_wrap=True, overflow="ellipsis"))
        self._live.update(row, refresh=True)


class Lines:
    """A line per phase, for logs and pipes."""

    def __init__(self, console: Console, need: Need | None) -> None:
        self._console = console
        self._need = need
        self._ended = 0
        self._count = 0
        self._document: RunDocument | None = None
        self._units: dict[str, RateUnit] = {}
        self._names: Names | None = None
        self._width = 0
        """Of what is measured where, in columns, so that the lines of a run stand below one another."""

    def run_begins(self, document: RunDocument) -> None:
        """Prints what runs where."""
        self._document = document
        self._ended = sum(len(case.measured) for case in document.cases if case.state == "complete")
        self._count = _count(document)
        self._units = _units(document)
        self._names = names = Names(document)
        self._width = max((len(label) for case in document.cases for label in _labels(names, case)), default=0)
        self._say(_headline(document))
        if self._need:
            self._say(self._need.text)

    def case_begins(self, case: CaseEntry) -> None:
        """Its phases are shown; a search may take more cases than it usually does."""
        if self._document is not None and _searches(self._document):
            self._count = _count(self._document)

    def progress(self, case: CaseEntry, progress: Progress) -> None:
        """Nothing: a log is no place for it."""

    def event(self, case: CaseEntry, event: Event) -> None:
        """A line for a phase that is complete; `case_ends` reports failures."""
        if event["event"] != "phase" or not event["complete"]:
            return
        assert self._document is not None
        assert self._names is not None
        self._ended += 1
        kinds = ", ".join(sorted({doubt["kind"] for doubt in event["doubts"]}))
        where = f"{_where(self._names, case)} {_label(event)}"
        unit = _unit_of(case, event, self._units[case.workload])
        amount = f"{_amount(case, event, unit)} in {format.duration(event['duration_ns'])}"
        self._say(
            f"[{self._ended:{len(str(self._count))}}/{self._count}] {where:{self._width}}  "
            f"{_rate(event, event['duration_ns'], unit):>{_RATE_WIDTH}}  {amount:{_AMOUNT_WIDTH if kinds else 0}}"
            + (f"  {kinds}" if kinds else "")
        )

    def case_ends(self, case: CaseEntry) -> None:
        """Why it failed, if it did."""
        if case.error:
            self._say(f"{case.id} {case.state}: {case.error}")

    def notice(self, message: str) -> None:
        """The message as a line."""
        if self._document is not None:  # cases may have been settled as not needed
            self._count = _count(self._document)
        self._say(message)

    def suspended(self) -> contextlib.AbstractContextManager[None]:
        """Nothing: the shell says so."""
        return contextlib.nullcontext()

    def run_ends(self, document: RunDocument) -> None:
        """Nothing: the command says how it ended."""

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


class Errors(Lines):
    """Prints only why a case failed."""

    def run_begins(self, document: RunDocument) -> None:
        """Nothing."""

    def event(self, case: CaseEntry, event: Event) -> None:
        """Nothing."""

    def notice(self, message: str) -> None:
        """Nothing."""


class LiveView:
    """A view that is redrawn in place a few times a second."""

    def __init__(self, console: Console, need: Need | None) -> None:
        self._console = console
        self._need = need
        self._live = self._new_view()
        self._remaining = Remaining()
        self._rates: dict[tuple[str, str], dict[_Place, list[float]]] = {}
        """The rates, in ascending order."""
        self._row_units: dict[tuple[str, str], _Unit] = {}
        self._doubts: Counter[str] = Counter()
        self._ended = 0
        self._count = 0
        self._document: RunDocument | None = None
        self._workloads: list[str] = []
        self._places: list[_Place] = []
        self._pending = 0
        """Cases that have not begun; counted once, because a run may have 10,000."""
        self._pending_phases = RemainingPhases()
        self._units: dict[str, RateUnit] = {}
        self._names: Names | None = None
        self._case: CaseEntry | None = None
        self._latest: _Place = ()
        self._phases_ended: set[str] = set()
        self._measured: Counter[str] = Counter()
        self._done: Counter[str] = Counter()
        """Units of the phases of the case."""
        self._progress: Progress | None = None
        self._began_s = self._case_began_s = time.monotonic()

    def run_begins(self, document: RunDocument) -> None:
        """Prints what runs where, and opens the view."""
        self._document = document
        self._units = _units(document)
        self._names = Names(document)
        self._ended = sum(len(case.measured) for case in document.cases if case.state == "complete")
        self._workloads = document.workloads
        self._places = sorted({_place(case) for case in document.cases}, key=lambda place: ascending(dict(place)))
        self._count_cases()
        self._began_s = time.monotonic()
        self._console.print(_headline(document), markup=False)
        if self._need:
            self._console.print(self._need.text, markup=False)
        self._live.start()
        self._draw()

    def case_begins(self, case: CaseEntry) -> None:
        """A new row or column may begin."""
        self._case, self._progress, self._phases_ended = case, None, set()
        if self._document is not None and _searches(self._document):
            self._count_cases()
        else:
            self._pending -= 1
            self._pending_phases.add(case, case.phases, -1)
        self._measured, self._done = Counter(), Counter()
        self._latest = _place(case)
        self._case_began_s = time.monotonic()
        self._draw()

    def progress(self, case: CaseEntry, progress: Progress) -> None:
        """Moves the line of the running step."""
        self._progress = progress if progress["name"] not in self._phases_ended else None
        self._draw()

    def event(self, case: CaseEntry, event: Event) -> None:
        """Enters the rate of a phase that is complete."""
        if event["event"] != "phase":
            return
        self._progress = None
        self._phases_ended.add(event["name"])
        if not event["complete"]:
            return
        self._ended += 1
        self._doubts.update(doubt["kind"] for doubt in event["doubts"])
        phase = _phase(case, event["name"])
        assert phase is not None
        self._measured[phase.name] += 1
        self._done[phase.name] += units_done(phase, event["bytes"], event["operations"])
        if self._measured[phase.name] == sum(len(job.operations) for job in phase.jobs):
            self._remaining.phase_took(case, phase, event["duration_ns"] / NS_PER_S, self._done[phase.name])
        by_place = self._rates.setdefault((case.workload, _label(event)), {})
        unit = _unit_of(case, event, self._units[case.workload])
        self._row_units[case.workload, _label(event)] = unit
        bisect.insort(by_place.setdefault(_place(case), []), _per_second(event, event["duration_ns"], unit))
        self._draw()

    def case_ends(self, case: CaseEntry) -> None:
        """Prints above the view why it failed, if it did."""
        self._remaining.case_took(time.monotonic() - self._case_began_s)
        self._case = self._progress = None
        if case.error:
            self.notice(f"{case.id} {case.state}: {case.error}")
        self._draw()

    def notice(self, message: str) -> None:
        """Prints above the view."""
        if self._document is not None:  # cases may have been settled as not needed
            self._count_cases()
        self._console.print(Text(message, style="yellow"))

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Leaves the view as it stands, and opens another one below what was done meanwhile."""
        self._live.stop()
        yield
        self._live = self._new_view()
        self._live.start()
        self._draw()

    def run_ends(self, document: RunDocument) -> None:
        """Leaves the view as it stands."""
        self._case = self._progress = None
        self._draw()
        self._live.stop()

    def _new_view(self) -> Live:
        return Live(console=self._console, auto_refresh=False, vertical_overflow="crop")

    def _count_cases(self) -> None:
        assert self._document is not None
        pending = [case for case in likely_cases(self._document) if not case.is_settled and case is not self._case]
        self._count = _count(self._document)
        self._pending = len(pending)
        self._pending_phases = RemainingPhases()
        for case in pending:
            self._pending_phases.add(case, case.phases)

    def _draw(self) -> None:
        self._live.update(self._view(), refresh=True)

    def _view(self) -> RenderableType:
        assert self._document is not None
        parts = [self._overall()]
        if self._document.state == "running":
            parts.append(self._current())
        if self._rates:
            parts += ["", self._table()]
        if self._doubts:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self._doubts.most_common())
            text = f"{format_count(self._doubts.total(), 'doubt')}: {kinds}"
            parts.append(Text(text, style="yellow", no_wrap=True, overflow="ellipsis"))
        parts.append("")  # where a terminal echoes ^C; on a full line it would wrap and shift the view
        return Group(*parts)

    def _overall(self) -> RenderableType:
        assert self._document is not None
        count = self._count
        times = f"{_clock(time.monotonic() - self._began_s)} elapsed"
        left = self._remaining.seconds(*self._left())
        if left is not None and self._ended < count:
            pending = {workload for (workload, _), count in self._pending_phases.phases.items() if count}
            spares = any(entry.stops_early for entry in self._document.study.workloads if entry.name in pending)
            times += f", {'at most ' if spares else ''}about {_clock(left)} left"
        row = Table.grid(padding=(0, 2), expand=False)
        bar = ProgressBar(
            total=max(1, count), completed=self._ended + (self._share() or 0), width=max(10, self._console.width - 54)
        )
        row.add_row(f"{self._ended} of {count} measured", bar, times)
        return row

    def _share(self) -> float | None:
        """The share of the running phase that is done, from 0 to 1. `None` where the amount is unknown."""
        if self._case is None or self._progress is None:
            return None
        phase = _phase(self._case, self._progress["name"])
        return share_done(phase, self._progress["bytes"], self._progress["operations"]) if phase else None

    def _left(self) -> tuple[int, RemainingPhases, tuple[Of, float, int] | None]:
        """The arguments of `Remaining.seconds`: cases and phases that have not begun, and the running phase."""
        left, begun = RemainingPhases(self._pending_phases.phases.copy(), self._pending_phases.units.copy()), None
        if self._case:
            running = self._progress["name"] if self._progress else None
            for phase in self._case.phases:
                if phase.name == running:
                    begun = (self._case.workload, phase.name), 1 - (self._share() or 0), units_of(phase)
                elif phase.name not in self._phases_ended:
                    left.add(self._case, [phase])
        return self._pending, left, begun

    def _current(self) -> RenderableType:
        if self._case is None:
            return Text("")
        assert self._names is not None
        text = Text(no_wrap=True, overflow="ellipsis").append(_where(self._names, self._case), style="bold")
        if self._progress is None:
            return text
        text.append(f"  {self._progress['name']}")
        share = self._share()
        if share is not None:
            text.append(f"  {share:4.0%}")
        phase = _phase(self._case, self._progress["name"])
        if phase and self._progress["operations"]:
            operations = [operation for job in phase.jobs for operation in job.operations]
            unit = _unit(phase.jobs, operations, self._units[self._case.workload])
            text.append(f"  {_rate(self._progress, self._progress['elapsed_ns'], unit)}")
        return text.append(f"  {self._progress['elapsed_ns'] / NS_PER_S:.0f} s", style="dim")

    def _table(self) -> RenderableType:
        """Rates by workload and phase against the points of the sweep, the median where a case was repeated."""
        assert self._document is not None
        rows = sorted(self._rates, key=lambda row: self._workloads.index(row[0]))  # randomised cases come in any order
        places = self._places
        label = max([len(workload) for workload, _ in rows] + [len("clients")])
        # Of a sweep wider than the terminal, the part up to the latest case is shown.
        fitting = max(1, (self._console.width - label - 14) // 8)
        first = max(0, places.index(self._latest) + 1 - fitting)
        assert self._names is not None
        headings = _headings(places, self._names)
        places = places[first : first + fitting]
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=True, header_style="dim")
        table.add_column(headings.pop(()), no_wrap=True)
        table.add_column("", no_wrap=True)
        table.add_column("", no_wrap=True, style="dim")
        for place in places:
            table.add_column(headings[place], justify="right", min_width=7, no_wrap=True)
        before = None
        for workload, measured in rows:
            unit = self._row_units[workload, measured]
            rates = self._rates[workload, measured]
            cells = [
                format_rate(_median(rates[place]), unit.rate).split()[0] if place in rates else "" for place in places
            ]
            table.add_row(escape(workload) if workload != before else "", escape(measured), unit.word, *cells)
            before = workload
        return table


def _median(ordered: Sequence[float]) -> float:
    return (ordered[len(ordered) // 2] + ordered[~(len(ordered) // 2)]) / 2


class _SurvivingStream:
    """A stream that may go away, for example with its terminal: what is written then is lost, and nothing else.

    The run goes on, or ends in order if the hang-up was meant for it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes what can be written."""
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flushes what can be flushed."""
        try:
            self._stream.flush()
        except OSError:
            return


_Place = tuple[tuple[str, int | str], ...]
"""A point of the sweep: the value on each axis. Empty: the names of the axes."""


def _place(case: CaseEntry) -> _Place:
    return tuple(case.point.items())


def _headings(places: Sequence[_Place], names: Names) -> dict[_Place, str]:
    """A heading for each point, of the axes in which points differ; for the empty point the names of these axes."""
    values: dict[str, set[int | str]] = {}
    for place in places:
        for axis, value in place:
            values.setdefault(axis, set()).add(value)
    distinguishing = [axis for axis, axis_values in values.items() if len(axis_values) > 1] or [CLIENTS]
    headings = {
        place: "×".join(names.value(axis, value) for axis, value in place if axis in distinguishing) or format.ABSENT
        for place in places
    }
    return headings | {(): "×".join("ranks" if axis == RANKS_PER_CLIENT else axis for axis in distinguishing)}


def _label(event: EventPhase) -> str:
    return series.label(series.Series(event["name"], event["job"], event["operation"]))


def _phase(case: CaseEntry, name: str) -> PhaseEntry | None:
    """The phase of this name; `None` for other steps."""
    return next((phase for phase in case.phases if phase.name == name), None)


class _Unit(NamedTuple):
    """The unit of a rate, and its label."""

    rate: RateUnit
    word: str
    """The label: `MB/s`, `creates/s`."""


def _unit_of(case: CaseEntry, event: EventPhase, wanted: RateUnit) -> _Unit:
    """The unit of a measurement."""
    return _unit([case.job(event["name"], event["job"])], [event["operation"]], wanted)


def _unit(jobs: Sequence[JobEntry], operations: Sequence[Operation], wanted: RateUnit) -> _Unit:
    """`wanted`, but for metadata and steps: bytes per second do not describe them, even where items hold some."""
    if any(job.files for job in jobs) and not set(operations).isdisjoint(ON_DATA):
        return _Unit(wanted, wanted)
    rate: RateUnit = wanted if wanted in OPERATIONS_UNITS else "ops/s"
    noun = NOUNS[operations[0]] if len(set(operations)) == 1 else "ops"
    return _Unit(rate, format.counting(rate, noun))


def _labels(names: Names, case: CaseEntry) -> Iterator[str]:
    """The labels of the lines of a case's phases."""
    where = _where(names, case)
    for phase in case.phases:
        for job in phase.jobs:
            for operation in job.operations:
                yield f"{where} {series.label(series.Series(phase.name, job.name, operation))}"


def _amount(case: CaseEntry, event: EventPhase, unit: _Unit) -> str:
    """The amount in the base of the rate: MB beside MB/s, MiB beside MiB/s; MB beside a rate of operations."""
    if not case.job(event["name"], event["job"]).files or event["operation"] not in ON_DATA:
        return format_count(event["operations"], "operation")
    if unit.rate.endswith("iB/s"):
        return format_about_bytes(event["bytes"])
    moved = event["bytes"]
    return format_rate(moved, suited("rate_bytes_per_s", event["operation"], [moved]).name).removesuffix("/s")


def _headline(document: RunDocument) -> str:
    scale = f" ({document.study.scale})" if document.study.scale else ""
    at_most = "at most " if document.stops_early else ""
    return f"{document.study.name}{scale} on {document.where}: {at_most}{format_count(len(document.cases), 'case')}"


def _searches(document: RunDocument) -> bool:
    """True if the number of cases follows from what they measure."""
    return any(entry.search for entry in document.study.workloads)


def _count(document: RunDocument) -> int:
    """Measurements of all cases that are needed, as far as that is known now."""
    return sum(len(case.measured) for case in likely_cases(document))


def _where(names: Names, case: CaseEntry) -> str:
    """The place as in reports, but with the short name of the workload."""
    repetition = f", repetition {case.repetition}" if case.repetition > 1 else ""
    return f"{case.workload}, {names.point(case.id)}{repetition}"


def _units(document: RunDocument) -> dict[str, RateUnit]:
    """The unit of each workload's rates: the one of the study's summary, where it has one."""
    wanted: dict[str, RateUnit] = {row.workload: row.unit for row in document.study.summary}
    return {case.workload: wanted.get(case.workload, "MB/s") for case in document.cases}


def _per_second(moved: EventPhase | Progress, took_ns: int, unit: _Unit) -> float:
    amount = moved["operations"] if unit.rate in OPERATIONS_UNITS else moved["bytes"]
    return float(amount * NS_PER_S / max(1, took_ns))


def _rate(moved: EventPhase | Progress, took_ns: int, unit: _Unit) -> str:
    return f"{format_rate(_per_second(moved, took_ns, unit), unit.rate).split()[0]} {unit.word}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
