"""Files that give settings their values again after a reboot, or at the next mount or load of a module.

Each has a name of ours with the journal's ID in it, so none replaces another's, and removing it undoes it.

    forms       which file a setting belongs into, and its line there
    udev        rules for block devices, which name a device by what does not change
    unit        drop-ins and units for mounts
    tuned       a profile of TuneD, where that runs

Not here: when they are written, taking them away (`rollback`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.store.atomic import write_atomically
from ioassay.tuning.journal import WillWrite


@dataclass(frozen=True)
class PersistentFile:
    """A file to be written."""

    path: Path
    text: str
    mode: int = 0o644
    activation: str = ""
    """The command that makes it count before the next reboot, or at all."""

    def record(self) -> WillWrite:
        """The line of the journal about it."""
        missing = [str(above) for above in self.path.parents if not above.exists()]
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return WillWrite(path=str(self.path), sha256=digest, directories=missing[::-1])


@dataclass(frozen=True)
class PersistentForm:
    """The files for a plan, and what is to be known of them."""

    files: list[PersistentFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Settings that no file can make persistent, and caveats."""
    lasting: dict[str, str] = field(default_factory=dict)
    """By setting whether it survives a reboot with these files."""
    profile: str = ""
    """The profile of TuneD among the files that is activated once it is written; empty: none."""


def write_file(file: PersistentFile) -> None:
    """Writes a file that must not exist, whole or not at all. Raises `CannotRun`."""
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file.path, file.text.encode(), file.mode, is_new=True)
    except FileExistsError:
        raise CannotRun(f"{file.path} exists already.", "Move it away, or write elsewhere: --persist DIR.") from None
    except OSError as error:
        raise CannotRun(
            f"{file.path} cannot be written: {error.strerror}.", "Write elsewhere: --persist DIR."
        ) from None
