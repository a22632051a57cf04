"""The settings that move others when they are set: in one place, because apply and rollback go by the same order.

A leader is set before its followers, forth and back, because setting it would undo them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ioassay.tuning.settings.files import readable
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system.tuned import LiveFiles, Option, active_profile

TUNED_PROFILE = "tuned:profile"
"""Another profile restores the previous value of everything that the active one sets, then sets its own."""


@dataclass(frozen=True)
class Coupling:
    """Settings whose names match `leader` move those of the names in `followers`, made with the groups of `leader`."""

    leader: re.Pattern[str]
    followers: tuple[str, ...]
    why: str


BTRFS_DATA_OPTIONS = ("nodatacow", "nodatasum", "compress", "compress-force")
"""`nodatacow` brings `nodatasum` and ends compression; `compress` ends both, and `datacow` leaves `nodatasum` behind
(Linux, fs/btrfs/super.c)."""

COUPLINGS = (
    Coupling(
        re.compile(r"block:([^/]+)/scheduler"),
        (r"block:\1/nr_requests", r"block:\1/wbt_lat_usec"),
        "a scheduler brings its own number of requests; bfq turns write-back throttling off",
    ),
    Coupling(
        re.compile(r"lctl:(osc\..+)\.(max_rpcs_in_flight|max_pages_per_rpc)"),
        (r"lctl:\1.max_dirty_mb",),
        "Lustre raises max_dirty_mb to what the RPCs in flight hold",
    ),
    *(
        Coupling(
            re.compile(rf"mount:(.+)/{option}"),
            tuple(rf"mount:\1/{other}" for other in BTRFS_DATA_OPTIONS if other != option),
            "btrfs compresses only data with checksums that is copied on write",
        )
        for option in BTRFS_DATA_OPTIONS
    ),
    Coupling(re.compile(r"mount:(.+)/noatime"), (r"mount:\1/relatime",), "noatime and relatime exclude each other"),
    Coupling(re.compile(r"mount:(.+)/relatime"), (r"mount:\1/noatime",), "noatime and relatime exclude each other"),
)

EXCLUSIVE = (
    ("sysctl:vm.dirty_bytes", "sysctl:vm.dirty_ratio"),
    ("sysctl:vm.dirty_background_bytes", "sysctl:vm.dirty_background_ratio"),
)
"""Setting one makes the other 0, and the first of each pair does not take 0: what was not 0 is written back."""

_OF_SCHEDULER = re.compile(r"block:([^/]+)/queue/iosched/.+")
_SCHEDULER = re.compile(r"block:([^/]+)/scheduler")


def followers(name: str, root: Path) -> list[tuple[str, str]]:
    """The names of the settings that setting this one may change, each with the reason."""
    moved: dict[str, str] = {}
    for coupling in COUPLINGS:
        if match := coupling.leader.fullmatch(name):
            moved |= {match.expand(follower): coupling.why for follower in coupling.followers}
    if name == TUNED_PROFILE:
        moved |= dict.fromkeys(tuned_options(root), "TuneD sets it when it changes its profile")
    if match := _SCHEDULER.fullmatch(name):
        directory = root / "sys/block" / match[1] / "queue/iosched"
        why = "a scheduler begins with its own defaults"
        moved |= {f"block:{match[1]}/queue/iosched/{parameter}": why for parameter in readable(directory)}
    if other := excluded(name):
        moved[other] = "setting one of them makes the other 0"
    return [*moved.items()]


def tuned_options(root: Path) -> dict[str, Option]:
    """The options that TuneD sets on this machine, by setting; empty where its profile cannot be read."""
    try:
        active = active_profile(LiveFiles(root))
    except Unreadable:
        return {}
    return {} if active is None else active.options


def belongs_to(name: str) -> str:
    """The setting whose value a setting comes and goes with; empty if it stays."""
    match = _OF_SCHEDULER.fullmatch(name)
    return f"block:{match[1]}/scheduler" if match else ""


def excluded(name: str) -> str:
    """The setting that is 0 while this one is not; empty if there is none."""
    return next((other for pair in EXCLUSIVE for setting, other in (pair, pair[::-1]) if setting == name), "")


def takes_no_zero(name: str) -> bool:
    """Whether 0 cannot be written: setting the other one of the pair makes it 0."""
    return any(name == first for first, _ in EXCLUSIVE)


def order(name: str, value: str | None) -> tuple[int, bool]:
    """The order of giving values, where it matters: leaders first; of two that exclude each other the one not 0."""
    return _rank(name), bool(excluded(name)) and value == "0"


def _rank(name: str) -> int:
    if name == TUNED_PROFILE:
        return -1
    if _SCHEDULER.fullmatch(name):
        return 0
    return 2 if re.fullmatch(r"lctl:osc\..+\.max_dirty_mb", name) else 1
