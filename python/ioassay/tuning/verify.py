"""What has drifted from what was applied: udev, daemons and people change settings behind one's back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import IoassayError
from ioassay.tuning.journal import State, commands
from ioassay.tuning.settings import ROOT, Vanished, instance_named


@dataclass(frozen=True)
class Standing:
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
    """What keeps it from being read, or why it counts as drifted though it has a value."""

    @property
    def has_drifted(self) -> bool:
        """Whether it is other than it was applied."""
        return bool(self.why) or self.applied != self.now

    @property
    def drift(self) -> str:
        """What has become of one that has drifted, as the end of a sentence."""
        if self.why:
            return self.why.rstrip(".")
        return "it is gone" if self.now is None else f"something else changed it from {self.applied} to {self.now}"


Drift = Standing
"""A standing that has drifted."""


def standings(state: State, root: Path = ROOT) -> list[Standing]:
    """Everything that a journal has applied and not put back."""
    found = [_standing(state, entry.name, root) for entry in state.open_entries if not entry.is_untouched]
    return found + [_file(state, path) for path in state.files]


def drifted(state: State, root: Path = ROOT) -> list[Drift]:
    """What is other than it was applied."""
    return [standing for standing in standings(state, root) if standing.has_drifted]


def _standing(state: State, name: str, root: Path) -> Standing:
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
    return Standing(name, entry.ours, now, entry.since, state.header.id, why)


def _file(state: State, path: str) -> Standing:
    written = state.files[path]
    try:
        is_same = hashlib.sha256(Path(path).read_bytes()).hexdigest() == written.sha256
    except OSError:
        return Standing(path, "written", None, state.header.started, state.header.id)
    return Standing(path, "written", "written" if is_same else "changed", state.header.started, state.header.id)
