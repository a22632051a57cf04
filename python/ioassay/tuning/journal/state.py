"""The state that the lines of a journal add up to: the previous value of each setting, and which values are ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ioassay.tuning.journal.records import (
    Checked,
    Closed,
    Failed,
    Header,
    LeftAlone,
    Record,
    Removed,
    Restored,
    Set,
    WillSet,
    WillWrite,
)


@dataclass
class Entry:
    """The state of one setting."""

    name: str
    before: str
    order: int
    wanted: str | None
    leader: str | None
    identity: dict[str, str]
    since: str
    ours: str | None = None
    """The value that was read back last."""
    earlier: set[str | None] = field(default_factory=set)
    """Our values before a change that has been announced and not confirmed."""
    is_pending: bool = False
    """A change is announced, and it is unknown whether it happened."""
    was_set: bool = False
    is_done: bool = False
    """Put back or given up: it is not ours any more."""
    seen: str | None = None
    """The value that a check read last."""

    def is_of_other(self, identity: Mapping[str, str], *, is_same_boot: bool = True) -> bool:
        """Whether something else has this name now. The kernel counts its disks anew at each boot."""
        return any(
            identity.get(key, was) != was for key, was in self.identity.items() if key != "diskseq" or is_same_boot
        )

    @property
    def is_untouched(self) -> bool:
        """Whether it might have changed with its leader, and has not."""
        return self.wanted is None and self.was_set and not self.is_pending and self.ours == self.before


@dataclass
class State:
    """The state of a journal, from all its lines."""

    header: Header
    entries: dict[str, Entry] = field(default_factory=dict)
    files: dict[str, WillWrite] = field(default_factory=dict)
    is_closed: bool = False

    @property
    def open_entries(self) -> list[Entry]:
        """The settings that are still to be put back, in the order in which they were first set."""
        return sorted((entry for entry in self.entries.values() if not entry.is_done), key=lambda entry: entry.order)

    def add(self, record: Record) -> None:
        """Takes a step into account. Raises `ValueError` for one that cannot follow."""
        match record:
            case WillSet():
                self._will_set(record)
            case Set(name=name, read_back=value):
                entry = self._entry(name)
                entry.ours = entry.seen = value
                entry.was_set, entry.is_pending, entry.earlier = True, False, set()
            case Failed(name=name):
                entry = self._entry(name)
                entry.is_pending, entry.earlier = False, set()
                entry.is_done = not entry.was_set
            case Checked(name=name, value=value):
                self._entry(name).seen = value
            case LeftAlone(name=name) if name in self.files:
                self.files.pop(name)
            case Restored(name=name) | LeftAlone(name=name):
                self._entry(name).is_done = True
            case WillWrite(path=path):
                self.files[path] = record
            case Removed(path=path):
                self.files.pop(path, None)
            case Closed():
                self.is_closed = True

    def _will_set(self, record: WillSet) -> None:
        known = self.entries.get(record.name)
        if known is None or known.is_done:
            self.entries[record.name] = known = Entry(
                record.name, record.before, record.order, record.wanted, record.leader, record.identity, record.moment
            )
        known.wanted, known.leader, known.since = record.wanted, record.leader, record.moment
        if known.was_set:
            known.earlier |= {known.ours}
        known.is_pending = True

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            raise ValueError(f"{name} was never announced")
        return self.entries[name]
