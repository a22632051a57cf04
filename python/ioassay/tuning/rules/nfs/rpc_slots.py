"""How many calls can be under way on one connection."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.nfs.sources import AZURE_SLOTS, KERNEL_PARAMETERS, NO_MOUNTS
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import nfs_mounts

_WANTED = 128
_SESSIONS = (4, 1)
_PATH = "proc/sys/sunrpc/tcp_max_slot_table_entries"
_BOUNDS = Bounds(
    Source(
        "Linux 6.1, include/linux/sunrpc/xprt.h: RPC_MIN_SLOT_TABLE (2), RPC_DEF_SLOT_TABLE (16)",
        "https://github.com/torvalds/linux/blob/v6.1/include/linux/sunrpc/xprt.h",
    ),
    least=16,
    below="each connection carries fewer calls at once than the kernel has ever begun with, whatever sessions allow",
)


def _judge(system: System) -> Iterator[Judgement]:
    mounts = nfs_mounts(system.mounts, system.target_mount)
    most = system.snapshot.number(_PATH) if mounts else None
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
    elif most is not None and (breach := _BOUNDS.breach(most)) and any(one.transport == "tcp" for one in mounts):
        assignment = Assignment("sysctl:sunrpc.tcp_max_slot_table_entries", str(_WANTED))
        yield Change(system.host, f"{most} calls", f"{_WANTED} calls", breach, (assignment,), is_harmful=True)
    elif all(mount.version >= _SESSIONS for mount in mounts):
        yield NotApplicable("all mounts use NFS 4.1 or later, where sessions set the limit; see nfs-session-slots")
    elif all(mount.transport != "tcp" for mount in mounts):
        yield NotApplicable("no mount uses TCP")
    else:
        yield from _limits(system, most)


def _limits(system: System, most: int | None) -> Iterator[Judgement]:
    first = system.snapshot.number("proc/sys/sunrpc/tcp_slot_table_entries")
    if most is None:
        yield missing(f"/{_PATH}")
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
    bounds={"tcp_max_slot_table_entries": _BOUNDS},
    parameters=("tcp_max_slot_table_entries", "tcp_slot_table_entries"),
)
