"""Puts the values of a sweep in force through the journal of settings, or does nothing where it varies none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ioassay.store.sweep_document import SweepDocument
from ioassay.tuning.apply import Applied, applied
from ioassay.tuning.settings import Assignment
from ioassay.tuning.sweep.loop import Switch
from ioassay.tuning.sweep.prepare import definitions, setting_name


class _Settings:
    """Settings under one journal."""

    def __init__(self, done: Applied, names: Mapping[str, str]) -> None:
        self._done = done
        self._names = names

    def switch(self, values: Mapping[str, str]) -> None:
        """Sets every setting, by the name of its parameter. Raises `CannotRun`."""
        self._done.switch([Assignment(self._names[name], value) for name, value in values.items()])

    def drifted(self) -> list[str]:
        """The settings that something else has changed since, each with its value now."""
        return [f"{setting.name}: {setting.drift}" for setting in self._done.check()]


class _Nothing:
    """Where only settings of the study are varied."""

    def switch(self, values: Mapping[str, str]) -> None:
        """There is nothing to set."""

    def drifted(self) -> list[str]:
        """Nothing is set, so nothing drifts."""
        return []


@contextmanager
def settings_of(document: SweepDocument, place: Path | None) -> Iterator[Switch]:
    """The switch of a sweep. At the end, however it comes, all settings have today's values again.

    `place`: the directory of journals. Notes the journal in the document. Raises `CannotRun`.
    """
    names = {parameter.name: name for parameter in document.parameters if (name := setting_name(parameter)) is not None}
    if not names:
        yield _Nothing()
        return
    with applied((), place, definitions=definitions(document.parameters), command=document.command) as done:
        document.journal = done.journal.id
        yield _Settings(done, names)
