"""How many calls can be under way in one session of NFS 4.1."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, missing
from ioassay.tuning.rules.nfs.sources import AZURE_SLOTS, KERNEL_PARAMETERS, NO_MOUNTS
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import nfs_mounts

_ENOUGH = 128
_WANTED = 180
_SESSIONS = (4, 1)
_PATH = "sys/module/nfs/parameters/max_session_slots"


def _judge(system: System) -> Iterator[Judgement]:
    mounts = nfs_mounts(system.mounts, system.target_mount)
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
        return
    if all(mount.version < _SESSIONS for mount in mounts):
        yield NotApplicable("no mount uses NFS 4.1 or later, which introduced sessions; see nfs-rpc-slots")
        return
    now = system.snapshot.number(_PATH)
    if now is None:
        yield missing(f"/{_PATH}")
    elif now >= _ENOUGH:
        yield Fine(system.host, f"up to {now} calls")
    else:
        yield Change(
            system.host,
            f"{now} calls",
            f"{_WANTED} calls",
            "all connections of nconnect share the session",
            (Assignment("module:nfs/max_session_slots", str(_WANTED)),),
        )


RULE = Rule(
    name="nfs-session-slots",
    title="Ask for more than 64 slots in a session of NFS 4.1",
    area="NFS",
    reason="A client has one session with a server, by default of 64 slots, so 64 calls at most are under way from "
    "all of its processes and connections.",
    risk="The server grants what it supports, often less. It holds for new sessions only: unmount all file systems of "
    "the server first, and keep it in /etc/modprobe.d.",
    sources=(KERNEL_PARAMETERS, AZURE_SLOTS),
    judge=_judge,
    parameters=("max_session_slots",),
)
