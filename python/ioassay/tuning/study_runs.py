"""The runs of an experiment: of one study on one target, each a run directory like any other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.execution.execute import execute
from ioassay.execution.interruption import Interruption
from ioassay.execution.places import Place
from ioassay.execution.prepare import Request, prepare
from ioassay.store.experiment_document import ExperimentDocument
from ioassay.store.loaded import LoadedRun

if TYPE_CHECKING:
    from ioassay.protocol.event import Event
    from ioassay.protocol.progress import Progress
    from ioassay.store.document import CaseEntry, RunDocument


@dataclass(frozen=True)
class StudyRuns:
    """The runs of a study on one target, all alike but for settings."""

    document: ExperimentDocument
    """How they are started."""
    study: str
    place: Place
    settings: Sequence[str] = ()
    """`KEY=VALUE` each, in every run."""

    def run(self, out: Path, settings: Sequence[str], interruption: Interruption) -> LoadedRun:
        """Runs the study into a new directory, with more settings. How it ended stands in its document.

        Raises `UsageError` for settings that cannot be meant, `CannotRun`.
        """
        (prepared,) = prepare(self._request(out, settings))
        with prepared.create() as run:
            execute(run, _Silent(), interruption)
            return run.loaded()

    def check(self, settings: Sequence[str]) -> None:
        """Checks that a run with these settings could be done. Writes nothing.

        Raises `UsageError` for settings that cannot be meant, `CannotRun` for what the target will not hold.
        """
        prepare(self._request(None, settings))

    def _request(self, out: Path | None, settings: Sequence[str]) -> Request:
        return Request(
            study=self.study,
            places=[self.place.again()],
            scale=self.document.scale,
            settings=[*self.settings, *settings],
            launcher=self.document.launcher,
            hosts=self.document.hosts,
            launcher_options=self.document.launcher_options,
            time_limit_ns=None,
            ceilings=None,
            out=out,
            recorded=False,
            command=self.document.command,
        )


class _Silent:
    """Shows nothing of a run: an experiment has a line for each, and what went wrong is in its document."""

    def run_begins(self, document: RunDocument) -> None:
        """Shows nothing."""

    def case_begins(self, case: CaseEntry) -> None:
        """Shows nothing."""

    def progress(self, case: CaseEntry, progress: Progress) -> None:
        """Shows nothing."""

    def event(self, case: CaseEntry, event: Event) -> None:
        """Shows nothing."""

    def case_ends(self, case: CaseEntry) -> None:
        """Shows nothing."""

    def notice(self, message: str) -> None:
        """Shows nothing."""

    def suspended(self) -> AbstractContextManager[None]:
        """Shows nothing."""
        return nullcontext()

    def run_ends(self, document: RunDocument) -> None:
        """Shows nothing."""
