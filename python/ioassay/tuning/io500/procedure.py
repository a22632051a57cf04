"""Steps 4 and 5 from their beginning, or from where they were interrupted, to the answer.

What was measured is in the document, and what comes next follows from it (`history.next_turns`): to resume is to begin
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from ioassay.errors import CannotRun
from ioassay.execution.interruption import Interruption
from ioassay.store.moments import now
from ioassay.store.tune_io500_directory import TuneIo500Directory
from ioassay.store.tune_io500_document import Io500Measurement
from ioassay.tuning.attempt import Interrupted, attempt, heed, keep, left_by
from ioassay.tuning.io500 import history, progress_text
from ioassay.tuning.io500.history import Turn
from ioassay.tuning.io500.measurement import Runs


class Procedure:
    """The procedure at work in a directory."""

    def __init__(
        self, directory: TuneIo500Directory, runs: Runs, say: Callable[[str], None], interruption: Interruption
    ) -> None:
        self._directory = directory
        self._document = directory.document
        self._runs = runs
        self._say = say
        self._interruption = interruption

    def run(self) -> None:
        """Measures what is left. The state is in the document then. Raises `CannotRun` where it cannot go on."""
        document = self._document
        with attempt(self._directory, self._interruption):
            while turns := history.next_turns(document):
                self._refuse_lost()
                self._say(progress_text.begins(document, turns))
                for turn in turns:
                    self._measure(turn)
                self._say(progress_text.known(document, turns))
            self._refuse_lost()

    def _refuse_lost(self) -> None:
        """Raises `CannotRun` where several invalid measurements leave nothing to compare with."""
        if (last := history.lost(self._document)) is not None:
            raise CannotRun(
                f"No valid measurement with {last.ranks} ranks per node: {last.why_invalid}",
                f"Look at {self._directory.run(last.run)} with `ioassay report`.",
            )

    def _measure(self, turn: Turn) -> None:
        heed(self._interruption)
        number = len(self._document.measurements) + 1
        path = self._directory.new_run(f"{number:04}-{turn.stage}-{turn.ranks}")
        started = now()
        run = self._runs.run(turn.stage, turn.ranks, path, self._interruption)
        if run.is_interrupted:
            raise Interrupted(left_by(path, run.leftovers))
        measurement = Io500Measurement(
            run=path.name,
            stage=turn.stage,
            step=turn.step,
            turn=turn.turn,
            ranks=turn.ranks,
            started=started,
            **asdict(run.observed),
        )
        keep(self._directory, measurement, run.leftovers, self._say)
