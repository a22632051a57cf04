"""The output when runs have ended: their summaries or documents, how each of them ended, and an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ioassay.cli.output import say_undrawn, show
from ioassay.errors import CannotRun
from ioassay.processes import keyboard_interrupt
from ioassay.text.units import format_count

if TYPE_CHECKING:
    from pathlib import Path

    from ioassay.reports.run import RunReport
    from ioassay.reports.run.storage import Storage
    from ioassay.store.document import RunDocument
    from ioassay.store.loaded import LoadedRun

_NOT_AS_ASKED = 1


class RunReporter:
    """Reports runs, one after the other."""

    def __init__(self, as_json: bool, storage: Storage | None = None) -> None:
        """With `storage`, prints the few lines of `reports.run.answer`, otherwise those of `ioassay run`."""
        self._storage = storage
        self._documents: list[str] | None = [] if as_json else None
        self._codes: list[int] = []

    def keep(self, path: Path, document: RunDocument) -> None:
        """From now until the run at `path` is reported, Ctrl-C says that it is stored and what to do next."""
        is_complete = document.state == "complete"
        following = f"Write its report with: ioassay report {path}" if is_complete else _resume(path)
        keyboard_interrupt.note_kept(f"The run {_end_text(document)}: {path}\n{following}")

    def report(self, path: Path, run: LoadedRun) -> None:
        """Writes the report of the run at `path`, unless it was interrupted, and says how it ended."""
        self.keep(path, run.document)
        from ioassay.figures.drawing import drawing  # noqa: PLC0415

        if run.document.state != "interrupted":
            drawing.start()  # it gets ready while the rest is imported
        from ioassay import reports  # noqa: PLC0415
        from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
        from ioassay.reports.run import RunReport  # noqa: PLC0415
        from ioassay.store.run_files import REPORT  # noqa: PLC0415
        from ioassay.store.stored_directory import add_file  # noqa: PLC0415

        loaded = doubted(run)
        run_report = RunReport(loaded)
        if loaded.document.state != "interrupted":
            report = path / REPORT
            try:
                if self._documents is None:
                    self._show(run_report)  # first: figures take a while
            finally:  # also where nobody reads on
                add_file(path, REPORT, reports.build(run_report, "html"))
            if self._documents is None:
                print(f"Report: {report}", flush=True)
            else:
                self._documents.append(self._document(run_report, report))
        _print_end(path, loaded)
        self._codes.append(exit_code(run_report))
        keyboard_interrupt.note_kept("")

    def _show(self, run_report: RunReport) -> None:
        """Prints the summary."""
        from ioassay.reports.document.terminal import rendered  # noqa: PLC0415
        from ioassay.reports.run import answer  # noqa: PLC0415

        if self._storage is None:
            show("", rendered(run_report.terminal()))
            print()
        else:
            show(answer.shown(run_report.content, self._storage))

    def _document(self, run_report: RunReport, report: Path) -> str:
        from ioassay import reports  # noqa: PLC0415
        from ioassay.reports.run import answer  # noqa: PLC0415

        if self._storage is None:
            return reports.build(run_report, "json").decode()
        return reports.json_text(answer.data(run_report.content, self._storage, str(report)))

    def finish(self) -> int:
        """Prints the documents, where these were asked for: of several runs a list. Returns the highest exit code."""
        if self._documents:
            print(self._documents[0] if len(self._documents) == 1 else f"[{','.join(self._documents)}]")
        return max(*self._codes, say_undrawn())


def _print_end(path: Path, loaded: LoadedRun) -> None:
    """On standard error, unless all went well."""
    document = loaded.document
    for left in document.leftovers:
        print(f"Left on the target: {left}", file=sys.stderr)
    if document.leftovers:
        print(f"Remove it with: ioassay clean {path}", file=sys.stderr)
    if document.state == "complete":
        return
    done = sum(case.state == "complete" for case in document.cases)
    skipped = sum(case.state == "not needed" for case in document.cases)
    not_needed = f", {skipped} not needed" if skipped else ""
    print(
        f"The run {_end_text(document)}: {done} of {format_count(len(document.cases), 'case')} complete{not_needed}; "
        "results so far are kept.\n" + _resume(path),
        file=sys.stderr,
    )


def _end_text(document: RunDocument) -> str:
    return {"complete": "is complete", "interrupted": "was interrupted"}.get(document.state, "failed")


def _resume(path: Path) -> str:
    return f"Resume with: ioassay run --resume {path}"


def exit_code(report: RunReport) -> int:
    """The exit code of a command that made this run: 0 if it is complete, valid and accepted."""
    loaded = report.run
    if loaded.document.state == "interrupted" or loaded.measurements.is_empty():
        return CannotRun.exit_code
    believed = loaded.document.state == "complete" and loaded.measurements["valid"].all()
    believed &= all(score.is_valid for score in report.content.scores)
    if loaded.document.leftovers or not believed or report.content.accepted == "failed":
        return _NOT_AS_ASKED
    return 0
