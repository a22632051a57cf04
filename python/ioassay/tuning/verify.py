"""Drift from what was applied: udev, daemons and people change settings behind one's back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import IoassayError
from ioassay.tuning.journal import State, commands
from ioassay.tuning.settings import ROOT, Vanished, instance_named


@dataclass(frozen=True)
class AppliedSetting:
    """A setting that was applied, or a persistent file, and what it is now."""

    name: str
    applied: str | None
    """`None`: gone with its leader's old value, or unknown because the apply was interrupted."""
    now: str | None
    """`None`: gone."""
    since: str
    """When it was applied."""
    journal: str
    why: str = ""
    """The reason why it cannot be read, or counts as drifted though it has a value."""

    @property
    def has_drifted(self) -> bool:
        """Whether it is other than it was applied."""
        return bool(self.why) or self.applied != self.now

    @property
    def drift(self) -> str:
        """The drift, as the end of a sentence."""
        if self.why:
            return self.why.rstrip(".")
        return "it is gone" if self.now is None else f"something else changed it from {self.applied} to {self.now}"


Drift = AppliedSetting
"""A setting that has drifted."""


def applied_settings(state: State, root: Path = ROOT) -> list[AppliedSetting]:
    """Everything that a journal has applied and not put back."""
    settings = [_applied_setting(state, entry.name, root) for entry in state.open_entries if not entry.is_untouched]
    return settings + [_file(state, path) for path in state.files]


def drifted(state: State, root: Path = ROOT) -> list[Drift]:
    """The settings that differ from what was applied."""
    return [setting for setting in applied_settings(state, root) if setting.has_drifted]


def _applied_setting(state: State, name: str, root: Path) -> AppliedSetting:
    entry = state.entries[name]
    now: str | None = None
    why = ""
    try:
        instance = instance_named(name, commands(state.header), root)
        now = instance.read()
        if entry.is_of_other(instance.identity()):
            why = "another device has this name now, or the machine was rebooted"
    except Vanished:
        pass
    except IoassayError as error:
        why = error.message
    if entry.is_pending:
        why = f"apply was interrupted while it was set to {entry.wanted}" if entry.wanted else "apply was interrupted"
    return AppliedSetting(name, entry.ours, now, entry.since, state.header.id, why)


def _file(state: State, path: str) -> AppliedSetting:
    written = state.files[path]
    try:
        is_same = hashlib.sha256(Path(path).read_bytes()).hexdigest() == written.sha256
    except OSError:
        return AppliedSetting(path, "written", None, state.header.started, state.header.id)
    return AppliedSetting(path, "written", "written" if is_same else "changed", state.header.started, state.header.id)
