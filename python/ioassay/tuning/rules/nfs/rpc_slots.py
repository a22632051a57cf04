"""How many calls can be under way on one connection."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, missing
from ioassay.tuning.rules.nfs.sources import AZURE_SLOTS, KERNEL_PARAMETERS, NO_MOUNTS
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import nfs_mounts

_WANTED = 128
_SESSIONS = (4, 1)


def _judge(system: System) -> Iterator[Judgement]:
    mounts = nfs_mounts(system.mounts, system.target_mount)
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
    elif all(mount.version >= _SESSIONS for mount in mounts):
        yield NotApplicable("all mounts use NFS 4.1 or later, where sessions set the limit; see nfs-session-slots")
    elif all(mount.transport != "tcp" for mount in mounts):
        yield NotApplicable("no mount uses TCP")
    else:
        yield from _limits(system)


def _limits(system: System) -> Iterator[Judgement]:
    most = system.snapshot.number("proc/sys/sunrpc/tcp_max_slot_table_entries")
    first = system.snapshot.number("proc/sys/sunrpc/tcp_slot_table_entries")
    if most is None:
        yield missing("/proc/sys/sunrpc/tcp_max_slot_table_entries")
    elif most >= _WANTED:
        yield Fine(system.host, f"up to {most} calls" + (f", {first} at first" if first is not None else ""))
    else:
        assignment = Assignment("sysctl:sunrpc.tcp_max_slot_table_entries", str(_WANTED))
        yield Change(system.host, f"{most} calls", f"{_WANTED} calls", "", (assignment,))


RULE = Rule(
    name="nfs-rpc-slots",
    title="Allow 128 RPCs at once on each NFS connection",
    area="NFS",
    reason="A client of NFS 3 or 4.0 queues calls beyond this number before they reach the network; rate = calls at "
    "once × transfer size ÷ latency.",
    risk="It holds for new connections only: unmount all file systems of the server first. Sources disagree: older "
    "guides raise tcp_slot_table_entries, but current kernels only start with that many and add slots up to the "
    "maximum of 65536; filers that process 128 calls per connection advise to lower the maximum to 128.",
    sources=(KERNEL_PARAMETERS, AZURE_SLOTS),
    judge=_judge,
    parameters=("tcp_max_slot_table_entries", "tcp_slot_table_entries"),
)
