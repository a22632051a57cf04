"""How much unwritten data the page cache may hold, and when it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ioassay.text import units
from ioassay.tuning.rule import Assignment, Bounds, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, VM_SYSCTL
from ioassay.tuning.system import System

_NFS_CLIENT_BYTES = 629145600
_NFS_CLIENT_BACKGROUND_BYTES = 314572800
_LARGE_MEMORY_BYTES = 8 << 30
_SERVER_BACKGROUND_PERCENT = 5
_DEFAULT_PERCENT, _DEFAULT_BACKGROUND_PERCENT, _DEFAULT_WRITEBACK, _DEFAULT_EXPIRE = 20, 10, 500, 3000
"""Linux's own values, in mm/page-writeback.c."""
_HOUR = 360000

_WRITEBACK = Source(
    "Linux 6.1, mm/page-writeback.c: domain_dirty_limits, and fs/fs-writeback.c: MIN_WRITEBACK_PAGES",
    "https://github.com/torvalds/linux/blob/v6.1/mm/page-writeback.c",
)
_BYTES = Bounds(
    _WRITEBACK,
    least=8 << 20,
    below="the kernel writes chunks of 4 MiB from half of the limit on, so every writer waits for the disk",
    unit="bytes",
)
_PERCENT = Bounds(
    VM_SYSCTL,
    least=1,
    below="every write waits for the disk",
    most=80,
    above="hardly a page of memory is clean, so that all that need memory wait for the disk",
    unit="%",
)
_INTERVAL = Bounds(
    VM_SYSCTL,
    least=1,
    below="data is never written because of its age, and a crash loses all since the last sync",
    most=_HOUR,
    above="written data may stay in memory for more than an hour, and a crash loses it",
    unit="hundredths of a second",
)
_AGE = Bounds(VM_SYSCTL, most=_HOUR, above=_INTERVAL.above, unit="hundredths of a second")


@dataclass(frozen=True)
class _Limits:
    """A limit and the amount from which the kernel writes in the background."""

    system: System
    value: int
    in_bytes: bool
    background: int
    background_in_bytes: bool

    @property
    def bytes(self) -> int:
        """The limit; of a ratio, that of all memory, of which less is available."""
        return self.value if self.in_bytes else self.system.memory_bytes * self.value // 100

    @property
    def background_bytes(self) -> int:
        """The background limit, likewise."""
        return self.background if self.background_in_bytes else self.system.memory_bytes * self.background // 100

    @property
    def text(self) -> str:
        """The limit with the setting that it comes from."""
        setting = "vm.dirty_bytes" if self.in_bytes else f"vm.dirty_ratio {self.value}"
        return f"{units.format_about_bytes(self.bytes)} ({setting})"

    @property
    def breach(self) -> str:
        """What is wrong with them on any node; empty where nothing is."""
        if reason := (_BYTES if self.in_bytes else _PERCENT).breach(self.value):
            return reason
        if self.in_bytes and _PERCENT.breach(100 * self.value // max(1, self.system.memory_bytes)) == _PERCENT.above:
            return _PERCENT.above
        if self.bytes and self.background_bytes >= self.bytes:
            return (
                f"the background limit, {units.format_about_bytes(self.background_bytes)}, is not below it: the kernel "
                "ignores it and takes half of the limit"
            )
        return ""


def _judge(system: System) -> Iterator[Judgement]:
    limits = _limits(system)
    if not isinstance(limits, _Limits):
        yield limits
        return
    yield from _intervals(system)
    role = server_role.serves(system)
    is_nfs_client = any(mount.is_nfs for mount in system.mounts)
    is_large = system.memory_bytes > _LARGE_MEMORY_BYTES
    if breach := limits.breach:
        yield _sane(limits, breach, by_bytes=not role and is_nfs_client and is_large)
    elif role == "Lustre":
        yield NotApplicable(f"servers of Lustre write past the page cache; its clients have max_dirty_mb{_WITHIN}")
    elif role == "NFS":
        yield _server(limits)
    elif not is_nfs_client:
        yield NotApplicable(
            f"the node neither mounts nor exports NFS; the limits of the kernel suit local disks{_WITHIN}"
        )
    elif not is_large:
        memory = units.format_about_bytes(system.memory_bytes)
        yield NotApplicable(f"with memory of {memory} the default is small enough{_WITHIN}")
    elif limits.bytes <= _NFS_CLIENT_BYTES:
        yield Fine(system.host, limits.text)
    else:
        wanted = f"{units.format_about_bytes(_NFS_CLIENT_BYTES)} (vm.dirty_bytes)"
        yield Change(system.host, limits.text, wanted, assignments=_FOR_NFS)


_WITHIN = "; they are within the bounds for any node"
_FOR_NFS = (
    Assignment("sysctl:vm.dirty_background_bytes", str(_NFS_CLIENT_BACKGROUND_BYTES)),
    Assignment("sysctl:vm.dirty_bytes", str(_NFS_CLIENT_BYTES)),
)
_DEFAULTS = (
    Assignment("sysctl:vm.dirty_background_ratio", str(_DEFAULT_BACKGROUND_PERCENT)),
    Assignment("sysctl:vm.dirty_ratio", str(_DEFAULT_PERCENT)),
)


def _limits(system: System) -> _Limits | Judgement:
    """What is in force; of each pair the one that is not 0, by which the other one is known to be 0."""
    limit = _pair(system, "dirty_bytes", "dirty_ratio")
    background = _pair(system, "dirty_background_bytes", "dirty_background_ratio")
    if not isinstance(limit, tuple):
        return limit
    if not isinstance(background, tuple):
        return background
    return _Limits(system, *limit, *background)


def _pair(system: System, in_bytes: str, in_percent: str) -> tuple[int, bool] | Judgement:
    amount = system.snapshot.number(f"proc/sys/vm/{in_bytes}")
    if amount:
        return amount, True
    percent = system.snapshot.number(f"proc/sys/vm/{in_percent}")
    if percent is None or (percent == 0 and amount is None):
        return missing(f"/proc/sys/vm/{in_percent if percent is None else in_bytes}")
    return percent, False


def _intervals(system: System) -> Iterator[Judgement]:
    """How often the kernel looks for data to be written, and from which age on it writes it."""
    for subject, name, bounds, default, shown in (
        ("periodic write-back", "dirty_writeback_centisecs", _INTERVAL, _DEFAULT_WRITEBACK, "every {:g} s"),
        ("age at write-back", "dirty_expire_centisecs", _AGE, _DEFAULT_EXPIRE, "{:g} s"),
    ):
        now = system.snapshot.number(f"proc/sys/vm/{name}")
        if now is not None and (breach := bounds.breach(now)):
            yield Change(
                f"{subject} of {system.host}",
                shown.format(now / 100) if now else "off",
                shown.format(default / 100),
                breach,
                (Assignment(f"sysctl:vm.{name}", str(default)),),
                is_harmful=True,
            )
        elif now is not None:
            yield Fine(f"{subject} of {system.host}", shown.format(now / 100))


def _sane(limits: _Limits, breach: str, *, by_bytes: bool) -> Change:
    """Back to values that work on any node: the kernel's, or where NFS needs less those for it."""
    now = f"{limits.text}, background {units.format_about_bytes(limits.background_bytes)}"
    if by_bytes:
        wanted, assignments = f"{units.format_about_bytes(_NFS_CLIENT_BYTES)} (vm.dirty_bytes)", _FOR_NFS
    else:
        background = _DEFAULT_BACKGROUND_PERCENT
        if server_role.serves(limits.system) == "NFS":
            background = _SERVER_BACKGROUND_PERCENT
        wanted = f"vm.dirty_ratio {_DEFAULT_PERCENT}, background {background}"
        assignments = (Assignment("sysctl:vm.dirty_background_ratio", str(background)), _DEFAULTS[1])
    return Change(limits.system.host, now, wanted, breach, assignments, is_harmful=True)


def _server(limits: _Limits) -> Judgement:
    host, background = limits.system.host, limits.background
    if limits.background_in_bytes or background <= _SERVER_BACKGROUND_PERCENT:
        shown = units.format_about_bytes(background) if limits.background_in_bytes else f"{background} % of memory"
        return Fine(host, f"writes in the background from {shown}")
    assignment = Assignment("sysctl:vm.dirty_background_ratio", str(_SERVER_BACKGROUND_PERCENT))
    return Change(
        host,
        f"writes in the background from {background} % of memory",
        f"from {_SERVER_BACKGROUND_PERCENT} %",
        assignments=(assignment,),
    )


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
        _WRITEBACK,
    ),
    judge=_judge,
    parameters=(
        "dirty_ratio",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_background_bytes",
        "dirty_writeback_centisecs",
        "dirty_expire_centisecs",
    ),
    bounds={
        "dirty_bytes": _BYTES,
        "dirty_ratio": _PERCENT,
        "dirty_writeback_centisecs": _INTERVAL,
        "dirty_expire_centisecs": _AGE,
    },
)
