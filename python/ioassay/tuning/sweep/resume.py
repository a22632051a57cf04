"""Before a sweep goes on: settings that a killed attempt left are put back, and today's are those of its beginning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ioassay.errors import CannotRun, UsageError
from ioassay.store.sweep_document import SweepDocument
from ioassay.tuning.journal import Journal, default_place, find
from ioassay.tuning.rollback import exit_code, roll_back
from ioassay.tuning.settings import parse
from ioassay.tuning.sweep.prepare import definitions, setting_name, todays_value


def restore_today(document: SweepDocument, place: Path | None, say: Callable[[str], None]) -> None:
    """Puts today's settings back where a killed attempt left others. `place`: the directory of journals.

    Raises `CannotRun` where that cannot be done, `UsageError` where a setting has changed since the sweep began.
    """
    if document.journal is not None:
        _roll_back(document.journal, place or default_place(), say)
    for parameter in document.parameters:
        name = setting_name(parameter)
        if name is None or not document.measurements:
            continue
        now = todays_value(name, parse(name, definitions(document.parameters)).instances())
        if now != parameter.today:
            raise UsageError(
                f"{name} was {parameter.today} when the sweep began, and is {now} now.",
                f"Set it back with: ioassay tune apply {name}={parameter.today}. Or begin a new sweep.",
            )


def _roll_back(identifier: str, place: Path, say: Callable[[str], None]) -> None:
    try:
        path = find(place, identifier)
    except UsageError:
        return
    with Journal.reopen(path) as journal:
        if journal.state.is_closed:
            return
        done = roll_back(journal)
    say(f"Put back the settings that an earlier attempt left ({identifier}).")
    if exit_code(done):
        raise CannotRun(
            f"Not all settings of {identifier} are back.", f"See them with: ioassay tune rollback {identifier}"
        )
