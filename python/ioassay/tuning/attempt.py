"""One attempt at an experiment: from its beginning, or from where an earlier one stopped, to whatever ends it.

What was measured is in the document, and what comes next follows from it: to resume is to begin another attempt. Not:
which run comes next (`sweep.loop`, `io500.procedure`), the runs themselves (`study_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ioassay.errors import CannotRun, IoassayError
from ioassay.execution.interruption import Interruption
from ioassay.store.experiment_directory import ExperimentDirectory
from ioassay.store.experiment_document import ExperimentMeasurement
from ioassay.store.moments import now


class Interrupted(Exception):
    """A signal has come, before a run or during one."""

    def __init__(self, left: CannotRun | None = None) -> None:
        """`left`: what that run left on the target."""
        super().__init__()
        self.left = left


@contextmanager
def attempt(directory: ExperimentDirectory[Any], interruption: Interruption) -> Iterator[None]:
    """The attempt is the body of the `with`. Its outcome stands in the document afterwards; `Interrupted` ends here."""
    document = directory.document
    document.state, document.reason, document.ended = "running", None, None
    directory.save()
    try:
        yield
        document.state = "complete"
    except Interrupted as error:
        left = f". {error.left.message} {error.left.remedy}".removesuffix(".") if error.left else ""
        document.state, document.reason = "interrupted", f"interrupted by {interruption.name}{left}"
    except IoassayError as error:
        document.state, document.reason = "failed", error.message
        raise
    finally:
        document.ended = now()
        directory.save()


def heed(interruption: Interruption) -> None:
    """Raises `Interrupted` if a signal has come."""
    if interruption.first is not None:
        raise Interrupted


def left_by(run: Path, leftovers: Sequence[str]) -> CannotRun | None:
    """The error about files that a run left on the target, which fill it run by run; `None` where it left none."""
    if not leftovers:
        return None
    return CannotRun(
        f"The run left {', '.join(leftovers)} on the target.", f"Remove it with `ioassay clean {run}`, then resume."
    )


def keep(
    directory: ExperimentDirectory[Any],
    measurement: ExperimentMeasurement,
    leftovers: Sequence[str],
    say: Callable[[str], None],
) -> None:
    """Stores a measurement. Raises `CannotRun` where its run left files on the target."""
    directory.document.measurements.append(measurement)
    directory.save()
    if (left := left_by(directory.run(measurement.run), leftovers)) is not None:
        raise left
    if measurement.why_invalid:
        say(f"  not valid ({measurement.run}): {measurement.why_invalid}")
