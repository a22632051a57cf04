"""Whose journal it is: this machine's, and of this boot."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.journal.records import Header
from ioassay.tuning.settings.files import first_line

_SALT = b"ioassay tuning journal\0"


class OtherMachine(UsageError):
    """A journal of another machine."""


def machine(root: Path = Path("/")) -> str:
    """An identifier of this machine that does not reveal its machine-id."""
    machine = (
        first_line(root / "etc/machine-id") or first_line(root / "var/lib/dbus/machine-id") or socket.gethostname()
    )
    return hashlib.sha256(_SALT + machine.encode()).hexdigest()


def boot_id(root: Path = Path("/")) -> str:
    """The kernel's identifier of this boot."""
    return first_line(root / "proc/sys/kernel/random/boot_id")


def refuse_other_machine(header: Header, path: Path, root: Path = Path("/"), host: str | None = None) -> None:
    """Raises `OtherMachine`. Images give many nodes one machine-id: the name counts too."""
    if header.machine != machine(root):
        raise OtherMachine(f"{path} was written on another machine, {header.host}.", f"Roll it back on {header.host}.")
    if header.host not in (socket.gethostname(), host):
        raise OtherMachine(
            f"{path} was written on {header.host}, and this is {socket.gethostname()}.",
            f"Roll it back on {header.host}; if this machine was renamed since, add --host {header.host}.",
        )
