"""How many connections a client opens to a server."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.network import fastest_megabits
from ioassay.tuning.system.nfs import NfsMount, kernel_version, nfs_mounts

_FAST_MEGABITS = 10_000
_VERY_FAST_MEGABITS = 100_000
_ENOUGH = 4
_SINCE = (5, 3)


def _judge(system: System) -> Iterator[Judgement]:
    mounts = nfs_mounts(system.mounts, system.target_mount)
    if not mounts:
        yield NotApplicable(NO_MOUNTS)
    elif (0, 0) < kernel_version(system.snapshot) < _SINCE:
        yield NotApplicable("the kernel is older than 5.3, which introduced nconnect")
    else:
        link = fastest_megabits(system.snapshot)
        yield from each(mounts, lambda mount: _mount(mount, mounts, link))


def _mount(mount: NfsMount, all_mounts: list[NfsMount], link_megabits: int) -> Iterator[Judgement]:
    now = mount.number("nconnect") or 1
    if mount.transport != "tcp":
        yield NotApplicable(f"{mount.point} uses {mount.transport.upper()}; nconnect is judged for TCP only")
    elif now >= _ENOUGH:
        yield Fine(mount.point, _connections(now))
    elif not link_megabits:
        yield NotReadable(f"{mount.point} nconnect", "no network interface says its speed, which decides the value")
    elif link_megabits < _FAST_MEGABITS:
        yield NotApplicable(f"the fastest link has {link_megabits / 1000:g} Gb/s, which one connection can fill")
    else:
        wanted = 16 if link_megabits >= _VERY_FAST_MEGABITS else 8
        because = f"the fastest link has {link_megabits / 1000:g} Gb/s"
        others = [one.point for one in all_mounts if one.server == mount.server and one.point != mount.point]
        if others:
            because += f"; the first mount of {mount.server} decides for all, so set it for {', '.join(others)} as well"
        assignment = Assignment(f"mount:{mount.point}/nconnect", str(wanted))
        command = mount_again(mount, f"nconnect={wanted}")
        yield Change(mount.point, _connections(now), str(wanted), because, (assignment,), command)


def _connections(number: int) -> str:
    return "1 connection" if number == 1 else f"{number} connections"


RULE = Rule(
    name="nfs-connections",
    title="Open several TCP connections to an NFS server on fast links",
    area="NFS",
    reason="By default all calls to a server share one TCP connection, whose packets one core receives and one "
    "network path carries; several connections spread over queues, cores and bonded links.",
    risk="Sources disagree on the number: Microsoft measured 8 as best, the manual allows up to 16. The server holds "
    "state per connection: many clients with 16 each can exhaust it. All mounts of a server share the connections of "
    "the first one, so every mount of it has to be unmounted first.",
    sources=(
        NFS_MANUAL,
        Source(
            "Microsoft, Linux NFS mount options best practices for Azure NetApp Files",
            "https://learn.microsoft.com/en-us/azure/azure-netapp-files/performance-linux-mount-options",
        ),
    ),
    judge=_judge,
    parameters=("nconnect",),
)
