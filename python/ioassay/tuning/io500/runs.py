"""The runs of a procedure on its target: of the study `ior-easy` for step 4, of the study `io500` for step 5."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ioassay.execution.interruption import Interruption
from ioassay.execution.places import Place
from ioassay.store.tune_io500_document import Io500Stage, TuneIo500Document
from ioassay.tuning.io500.measurement import STUDY, Finished, finished, ior_easy_study
from ioassay.tuning.io500.prepare import easy_settings
from ioassay.tuning.io500.settings import of_run, typed, words
from ioassay.tuning.study_runs import StudyRuns


@dataclass(frozen=True)
class Io500Runs:
    """Runs on one place, as a document says."""

    document: TuneIo500Document
    place: Place

    def run(self, stage: Io500Stage, ranks: int, out: Path, interruption: Interruption) -> Finished:
        """Runs the phases of a stage into a new directory. Raises `UsageError`, `CannotRun`."""
        return finished(self._study(stage).run(out, self._settings(stage, ranks), interruption), stage)

    def check(self) -> None:
        """Checks that one rank per node could be measured. Writes nothing. Raises `UsageError`, `CannotRun`."""
        for stage in get_args(Io500Stage):
            self._study(stage).check(self._settings(stage, 1))

    def _settings(self, stage: Io500Stage, ranks: int) -> list[str]:
        nodes = self.document.nodes.nodes
        if stage == "ior-easy":
            easy = easy_settings(self.document, self.place.target.api)
            return words({"clients": str(nodes), "ranks": str(ranks), **easy})
        return words(of_run(typed(self.document.study_settings), nodes, ranks))

    def _study(self, stage: Io500Stage) -> StudyRuns:
        return StudyRuns(self.document, ior_easy_study() if stage == "ior-easy" else STUDY, self.place)
