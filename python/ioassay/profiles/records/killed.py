"""Whether a recording that says it goes on was killed: with SIGKILL it has no time to say that it ended.

`record` locks the directory of its tables, and each process that it records has its table in memory. Neither is seen
from another node: there it is taken to go on.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioassay.profiles.records.directory import RecordFile
    from ioassay.protocol.record import Record

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def is_killed(document: Record, live: Iterable[RecordFile]) -> bool:
    """True if neither the recording nor a process with one of the `live` tables is there any more."""
    boot_id = document["environment"].get("boot_id")
    if boot_id != _BOOT_ID.read_text().strip():
        return boot_id is not None and document["host"] == os.uname().nodename
    return not _is_locked(Path(document.get("tables") or "")) and not any(map(_is_in_use, live))


def _is_locked(directory: Path) -> bool:
    """True also where that is unknown, as in a directory of another user."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_in_use(table: RecordFile) -> bool:
    """True if the process that a table is named after has it in memory, or may have."""
    try:
        maps = Path("/proc", table.name.split("-")[0], "maps").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    return os.fsencode(table.path.name) in maps
