"""Whether a client uses all addresses of a server."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, NotJudged, Rule, Source, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import configured_options
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts

_SESSIONS = (4, 1)
_MOST = 16


def _judge(system: System) -> Iterator[Judgement]:
    return each(
        nfs_mounts(system.mounts, system.target_mount),
        lambda mount: _mount(mount, system.snapshot),
        otherwise=NO_MOUNTS,
    )


def _mount(mount: NfsMount, snapshot: Snapshot) -> Iterator[Judgement]:
    if mount.version < _SESSIONS:
        yield NotApplicable(f"{mount.point} is mounted by NFS {mount.version[0]}; trunking came with sessions of 4.1")
        return
    # The kernel lists max_connect and not trunkdiscovery.
    limit, discovers = mount.number("max_connect") or 1, "trunkdiscovery" in configured_options(snapshot, mount.mount)
    if discovers and limit < 2:
        because = (
            "other addresses of the server are found and dropped, because max_connect allows no connection to them"
        )
        assignment = Assignment(f"mount:{mount.point}/max_connect", str(_MOST))
        command = mount_again(mount, f"max_connect={_MOST}")
        yield Change(mount.point, "max_connect not set", f"max_connect={_MOST}", because, (assignment,), command)
    elif discovers or limit > 1:
        how = "trunkdiscovery" if discovers else "mounts by other addresses"
        yield Fine(mount.point, f"up to {limit} addresses of the server, by {how}")
    else:
        why = (
            "depends on whether the server has several addresses: then set trunkdiscovery and max_connect in /etc/fstab"
        )
        yield NotJudged(mount.point, "one address of the server", why)


RULE = Rule(
    name="nfs-trunking",
    title="Let NFS 4.1 use all addresses of a server that has several",
    area="NFS",
    reason="nconnect opens connections to one address; with trunkdiscovery the client asks the server for its other "
    "addresses, and joins them to the mount as far as max_connect allows.",
    risk="A server that handles the question badly can make the mount fail or hang, which is why notrunkdiscovery is "
    "the default; addresses of different speed slow the faster one.",
    sources=(
        NFS_MANUAL,
        Source(
            "nfs-utils 2.6.4, nfs(5): max_connect, trunkdiscovery",
            "https://git.linux-nfs.org/?p=steved/nfs-utils.git;a=blob;f=utils/mount/nfs.man;hb=nfs-utils-2-6-4",
        ),
    ),
    judge=_judge,
    parameters=("trunkdiscovery", "max_connect"),
)
