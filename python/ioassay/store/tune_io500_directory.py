"""The directory of a procedure that tunes the IO500: `tune-io500.json` and the runs."""

from __future__ import annotations

from ioassay.store.experiment_directory import ExperimentDirectory
from ioassay.store.kinds import TUNE_IO500
from ioassay.store.tune_io500_document import TuneIo500Document


class TuneIo500Directory(ExperimentDirectory[TuneIo500Document]):
    """The directory of a procedure that this process writes to."""

    kind = TUNE_IO500
    noun = "tuning of the IO500"
    remedy = "Name the directory that `ioassay tune io500` printed."
