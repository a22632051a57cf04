"""The journal of changed settings: one file per apply, a line for each step, on the disk before the step is taken.

Whatever ends the process, the journal says what each setting was before and what it was set to. A line that was torn
by a kill or a power cut is the last one, and announces a step that was not taken yet.

    records     the lines of the file and their form, which a new version would change
    state       what the lines add up to: per setting its previous value, which values are ours, what is left to do
    reader      a file → its state; refuses what is damaged or what others could have written
    writer      `Journal`: lines that are on the disk when `write` returns
    lock        one process at a time
    origin      whose journal it is: this machine's, of this boot
    place       the directory of journals: where it is, which are in it, which are open

Not here: reading and writing settings, which values are still ours on the machine (`rollback`, `verify`).
"""

from __future__ import annotations

from ioassay.tuning.journal.origin import OtherMachine, boot_id, machine
from ioassay.tuning.journal.place import OpenJournals, default_place, find, journals, new_id, open_journals
from ioassay.tuning.journal.reader import read
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
    StoredCommand,
    WillSet,
    WillWrite,
    commands,
    now,
    stored,
)
from ioassay.tuning.journal.state import Entry, State
from ioassay.tuning.journal.writer import Journal

__all__ = [
    "Checked",
    "Closed",
    "Entry",
    "Failed",
    "Header",
    "Journal",
    "LeftAlone",
    "OpenJournals",
    "OtherMachine",
    "Record",
    "Removed",
    "Restored",
    "Set",
    "State",
    "StoredCommand",
    "WillSet",
    "WillWrite",
    "boot_id",
    "commands",
    "default_place",
    "find",
    "journals",
    "machine",
    "new_id",
    "now",
    "open_journals",
    "read",
    "stored",
]
