"""Whether a node serves storage to others, which several rules about memory depend on."""

from __future__ import annotations

from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre
from ioassay.tuning.system.nfs import NfsServer


def serves(system: System) -> str:
    """What the node serves: `Lustre` or `NFS`; empty where it serves nothing that can be seen."""
    if lustre.is_server(system.lustre):
        return "Lustre"
    try:
        return "NFS" if NfsServer(system.snapshot).is_running else ""
    except Unreadable:
        return ""
