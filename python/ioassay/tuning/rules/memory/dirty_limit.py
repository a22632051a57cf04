"""How much unwritten data the page cache may hold."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay import units
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, VM_SYSCTL
from ioassay.tuning.system import System

_NFS_CLIENT_BYTES = 629145600
_NFS_CLIENT_BACKGROUND_BYTES = 314572800
_LARGE_MEMORY_BYTES = 8 << 30
_SERVER_BACKGROUND_PERCENT = 5


def _judge(system: System) -> Iterator[Judgement]:
    ratio, background = _number(system, "dirty_ratio"), _number(system, "dirty_background_ratio")
    limit = _number(system, "dirty_bytes") or system.memory_bytes * ratio // 100
    shown = f"{units.format_about_bytes(limit)} ({_setting(system, ratio)})"
    role = server_role.serves(system)
    if role == "Lustre":
        yield NotApplicable("servers of Lustre write past the page cache; its clients have max_dirty_mb")
    elif role == "NFS":
        yield _server(system, background)
    elif not any(mount.is_nfs for mount in system.mounts):
        yield NotApplicable("the node neither mounts nor exports NFS; the limits of the kernel suit local disks")
    elif system.memory_bytes <= _LARGE_MEMORY_BYTES:
        yield NotApplicable(
            f"with memory of {units.format_about_bytes(system.memory_bytes)} the default is small enough"
        )
    elif limit <= _NFS_CLIENT_BYTES:
        yield Fine(system.host, shown)
    else:
        yield Change(
            system.host,
            shown,
            f"{units.format_about_bytes(_NFS_CLIENT_BYTES)} (vm.dirty_bytes)",
            assignments=(
                Assignment("sysctl:vm.dirty_background_bytes", str(_NFS_CLIENT_BACKGROUND_BYTES)),
                Assignment("sysctl:vm.dirty_bytes", str(_NFS_CLIENT_BYTES)),
            ),
        )


def _server(system: System, background: int) -> Judgement:
    in_bytes = _number(system, "dirty_background_bytes")
    if in_bytes or background <= _SERVER_BACKGROUND_PERCENT:
        shown = units.format_about_bytes(in_bytes) if in_bytes else f"{background} % of memory"
        return Fine(system.host, f"writes in the background from {shown}")
    assignment = Assignment("sysctl:vm.dirty_background_ratio", str(_SERVER_BACKGROUND_PERCENT))
    return Change(
        system.host,
        f"writes in the background from {background} % of memory",
        f"from {_SERVER_BACKGROUND_PERCENT} %",
        assignments=(assignment,),
    )


def _setting(system: System, ratio: int) -> str:
    return "vm.dirty_bytes" if _number(system, "dirty_bytes") else f"vm.dirty_ratio {ratio}"


def _number(system: System, name: str) -> int:
    return system.snapshot.number(f"proc/sys/vm/{name}") or 0


RULE = Rule(
    name="dirty-limit",
    title="Start writing early on nodes with much memory and NFS",
    area="memory",
    reason="Of a large memory 20 % is more than a server takes in minutes. Programs then stall while it is written, "
    "all at once, instead of a little all the time.",
    risk="Short bursts are no longer absorbed by memory, and a fast server may be kept less busy: measure where it "
    "takes more than 1 GB/s from this node. Setting bytes sets the ratio to 0, and vice versa.",
    sources=(
        Source(
            "SUSE 7010287: Low write performance on Linux servers with large RAM",
            "https://www.suse.com/support/kb/doc/?id=000017857",
        ),
        BEEGFS_STORAGE,
        VM_SYSCTL,
    ),
    judge=_judge,
    parameters=("dirty_ratio", "dirty_background_ratio", "dirty_bytes", "dirty_background_bytes"),
)
