"""Whether a node serves storage to others, which several rules about memory depend on."""

from __future__ import annotations

import re

from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System, lustre


def serves(system: System) -> str:
    """What the node serves: `Lustre` or `NFS`; empty where it serves nothing that can be seen."""
    if lustre.is_server(system.lustre):
        return "Lustre"
    return "NFS" if _nfs_threads(system) else ""


def _nfs_threads(system: System) -> int:
    try:
        text = system.snapshot.text("proc/net/rpc/nfsd") or ""
    except Unreadable:
        return 0
    found = re.search(r"^th (\d{1,9})\b", text, re.MULTILINE)
    return int(found[1]) if found else 0
