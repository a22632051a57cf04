"""Runs the cases of a run one after another, until the last one, a failure or a signal.

A failed case ends the run, whatever the cause: a target that is full or gone, a killed rank or an engine that
does not start would fail the next case too, or worse, let it measure the aftermath. Earlier results are kept,
and `--resume` runs the remaining cases once the cause is fixed.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import nullcontext

from ioassay.errors import CannotRun
from ioassay.execution import accelerator_search
from ioassay.execution.clean import clean, remove_shared_datasets
from ioassay.execution.deadline import Deadline
from ioassay.execution.early_stop import EarlyStop
from ioassay.execution.engine_process import EngineProcess, follow
from ioassay.execution.engine_start import Start
from ioassay.execution.interruption import Interruption, signal_name
from ioassay.execution.node_probe import silent_nodes
from ioassay.execution.suspension import Suspension
from ioassay.execution.watcher import Watcher
from ioassay.launchers import failure_messages
from ioassay.processes import engine
from ioassay.store.document import CaseEntry
from ioassay.store.events import EventTail, ProgressTail
from ioassay.store.ingest import Row
from ioassay.store.moments import now
from ioassay.store.outcome import Outcome, outcome
from ioassay.store.point import SweepPoint
from ioassay.store.run_writer import RunWriter
from ioassay.store.states import RunState


def execute(
    run: RunWriter, watcher: Watcher, interruption: Interruption | None = None, deadline: Deadline | None = None
) -> None:
    """Runs every case that is neither complete nor skipped by a stop rule or the `deadline`.

    `run.document` says how it ended. `interruption` is given if the caller already counts signals.
    Errors of the engine and the target become states of cases. `CannotRun` is raised only when the control
    plane itself cannot go on, for example because the disk of the run directory is full.
    """
    document = run.document
    start = Start.of(document)
    if all(case.state == "pending" for case in document.cases):
        document.started = now()  # another run may have come between
    document.state, document.ended = "running", None
    with nullcontext(interruption) if interruption else Interruption() as signals:
        run.save()
        watcher.run_begins(document)
        try:
            if _is_clean(run, start, signals, watcher):
                _run_cases(run, start, signals, watcher, deadline)
                for reason in remove_shared_datasets(run, start):
                    watcher.notice(reason)
            # After an exception run.json stays as it is, as after a kill: the next reader completes it from the logs.
            document.state = _state(document.cases, signals)
            document.ended = now()
            run.save()
        except OSError as error:
            raise CannotRun(
                f"{error.filename or run.path}: {error.strerror}.",
                f"Stored results are kept. Fix the error, then resume with: ioassay run --resume {run.path}",
            ) from error
        finally:
            watcher.run_ends(document)


def _is_clean(run: RunWriter, start: Start, interruption: Interruption, watcher: Watcher) -> bool:
    """Removes leftovers of an earlier attempt; the engine accepts only a workspace that it creates itself."""
    if not run.document.leftovers:
        return True
    cleaned = clean(run, interruption, start)
    if cleaned.leftovers:
        watcher.notice(cleaned.why)
    return not cleaned.leftovers


def _state(cases: Sequence[CaseEntry], interruption: Interruption) -> RunState:
    if all(case.is_settled for case in cases):
        return "complete"
    return "interrupted" if interruption.first else "failed"


def _run_cases(
    run: RunWriter, start: Start, interruption: Interruption, watcher: Watcher, deadline: Deadline | None
) -> None:
    early_stop = EarlyStop(run)

    def settle(points: Sequence[SweepPoint] | None) -> None:
        for reason in early_stop.settle(points):
            watcher.notice(reason)

    settle(None)  # a killed control plane may not have done it
    for case in accelerator_search.in_turn(run, watcher.notice):
        if deadline and deadline.skips(case):
            continue
        began_s = time.monotonic()
        measurements = None if interruption.first else _run_case(run, case, start, interruption, watcher)
        if measurements is None:
            return
        if deadline:
            deadline.note(case, time.monotonic() - began_s)
        early_stop.note(case, measurements)
        settle([case.sweep_point])


def _run_case(
    run: RunWriter, case: CaseEntry, start: Start, interruption: Interruption, watcher: Watcher
) -> list[Row] | None:
    """Runs one case and stores its results. Returns its measurements if it is complete and the next one may follow."""
    files = run.files(case.id)
    run.begin(case)
    watcher.case_begins(case)
    progress = ProgressTail(files.progress)

    has_notified = False

    def look() -> None:
        nonlocal has_notified
        suspension.heed()
        for line in progress.new()[-1:]:
            watcher.progress(case, line)
        if interruption.first and not has_notified:
            has_notified = True
            watcher.notice(f"{interruption.name}: stopping and removing files; a second signal exits at once.")

    arguments = engine.run_arguments(files.events, files.progress, files.plan)
    record = files.record.absolute() if run.document.recorded else None
    command = start.together(arguments, case.clients, case.ranks_per_client, record)
    with (
        EngineProcess(
            command, files.stderr, [run.lock.descriptor], start.environment(), through=start.stands_between
        ) as process,
        Suspension(process, watcher) as suspension,
    ):
        events = follow(process, interruption, EventTail(files.events), lambda event: watcher.event(case, event), look)
    # A running engine creates the file of its events before anything else.
    end = outcome(events, run.document.workspace if files.events.exists() else None)
    case.state = end.state or ("interrupted" if interruption.first else "failed")
    case.error = end.error
    if end.state is None and end.failure is None:
        case.error = _without_last_word(process, interruption, start, case.clients)
    elif process.through and not interruption.first:
        case.error = _launcher_first(end, process.printed)
    run.document.leftovers = end.leftovers
    if end.leftovers and end.state is None and not interruption.first:
        run.document.leftovers = clean(run, interruption, start).leftovers
    measurements = run.end(case)
    watcher.case_ends(case)
    return measurements if case.state == "complete" and not run.document.leftovers else None


def _launcher_first(end: Outcome, printed: str) -> str | None:
    """The error of the engines; preceded by the launcher's output if that is the cause: it ended them, or they never
    met.
    """
    caused = end.failure is not None and (end.state == "interrupted" or end.failure["operation"] in _BEFORE_ALL_MET)
    return (
        f"{_quoted(printed)} The engine reported: {end.error}"
        if caused and failure_messages.losses(printed)
        else end.error
    )


_BEFORE_ALL_MET = ("begin MPI", "meet over MPI")
"""Operations of engines that do not yet know the other nodes."""


def _quoted(printed: str) -> str:
    """The launcher's output, with a remedy."""
    lines = "; ".join(failure_messages.telling(printed))
    explanation = failure_messages.meaning(printed)
    remedy = f" {explanation.message} {explanation.remedy.rstrip('.')}." if explanation else ""
    return f"The launcher printed: {lines.rstrip('.')}.{remedy}" if lines else ""


_PROBE_S = 4.0
"""How long a probed node may take to answer; a node that is up takes less than a second."""


def _without_last_word(process: EngineProcess, interruption: Interruption, start: Start, clients: int) -> str:
    """Why a case ended, if the engine could not report it."""
    if process.status is None:
        return (
            "The engine hangs in a system call and cannot be killed; its target does not respond. "
            "Check the target's server and the kernel log, then remove the rest with `ioassay clean`."
        )
    printed = process.printed
    if interruption.first and (process.killed or printed):
        # Its watchdog abandons a hanging rank, and first reports it.
        printed_first = [f"It printed: {line}." for line in printed.splitlines()[:1]]
        killed = "The engine was killed because it did not stop in time."
        if process.stopped_twice:
            again = "Ctrl-C" if interruption.first == signal.SIGINT else "signal"
            killed = f"The second {again} killed the engine while it was stopping."
        return " ".join([killed, *printed_first])
    if interruption.first:
        return f"{interruption.name} arrived before the engine started."
    if process.through and (process.killed or failure_messages.losses(printed)):
        quoted = _quoted(printed)
        # Some messages of ssh have no name in them.
        is_named = any(node.name in quoted for node in start.nodes)
        names = [] if is_named else silent_nodes(start, clients, interruption, _PROBE_S)
        return " ".join(
            part
            for part in (
                "The launcher could not reach all nodes, or lost one.",
                quoted,
                f"No engine answers on {', '.join(names)}." if names else "",
                "Check the nodes with `ioassay doctor`, then run the case again with --resume.",
            )
            if part
        )
    exit_text = f"exit status {process.status}"
    if process.status < 0:
        exit_text = f"killed by {signal_name(-process.status)}"
    return " ".join(
        [
            f"The engine exited without a `finished` event ({exit_text}).",
            *[f"It printed: {line}" for line in failure_messages.telling(printed)],
            "Check the kernel log (dmesg: out of memory?), then run the case again with --resume.",
        ]
    )
