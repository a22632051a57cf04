"""Rules about OneFS (Dell PowerScale, Isilon), which only the cluster's administrator can follow."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount

# The settings are on the cluster, and no NFS client can read them. The recommendations come from a test of random I/O,
# and hold for that only: 4 KiB records, each client with its own file.
RANDOM_IO = Source(
    "Dell EMC Isilon F800 and H600 I/O performance for HPC, section Random I/O Performance Tests (N-to-N)"
)
ENDURANT_CACHE = Source("N. Trimbee, OneFS Endurant Cache", "http://unstructureddatatips.com/onefs-endurant-cache-2")

RANDOM_ONLY = "for random I/O in small records; the same study measured sequential I/O with the defaults"


def judge_setting(system: System, setting: str, wanted: str, read: str, write: str) -> Iterator[Judgement]:
    """The judgement of a setting of the cluster, from the user's statement alone."""
    if not is_onefs(system):
        yield NotApplicable("the storage is not known to be OneFS; an NFS mount does not show it, --storage onefs does")
        return
    now = system.storage_settings.get(setting)
    if now is None:
        yield NotReadable(setting, f"only the cluster shows it: {read}; {RANDOM_ONLY}, set it there with: {write}")
    elif now == wanted:
        yield Fine(setting, now)
    else:
        yield Change(setting, now, wanted, RANDOM_ONLY, command=write)


def _sysctl_off(system: System, name: str) -> Iterator[Judgement]:
    return judge_setting(system, name, "0", f"isi_sysctl_cluster {name}", f"isi_sysctl_cluster {name}=0")


def is_onefs(system: System) -> bool:
    """Whether the user said that the target lies on OneFS."""
    return system.storage == "onefs"


def target_path(system: System) -> str:
    """The target's path on the cluster, as far as the mount tells it."""
    mount = system.target_mount
    export = NfsMount(mount).export if mount is not None and mount.is_nfs else ""
    return export if export.startswith("/ifs") else "/ifs/PATH"


ONEFS_ENDURANT_CACHE = Rule(
    name="onefs-endurant-cache",
    title="Turn the endurant cache of OneFS off for random writes",
    area="OneFS",
    reason="The endurant cache writes each stable write to mirrored logs before the coalescer takes it. Small random "
    "writes that the cluster acknowledges early anyway pay for the logs without gaining latency.",
    risk="The endurant cache is what makes synchronous writes both fast and safe: without it they wait for the disks, "
    "or, with asynchronous commits, are lost when a node fails. Sources disagree: its developers describe it as the "
    "faster way for small synchronous writes at random offsets. It affects the whole cluster.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=lambda system: _sysctl_off(system, "efs.bam.ec.mode"),
    parameters=("efs.bam.ec.mode",),
)


def _coalescer(system: System) -> Iterator[Judgement]:
    """The write cache that joins writes before they are laid out."""
    path = target_path(system)
    return judge_setting(system, "coalescer", "coal_only", f"isi get -D {path}", f"isi set -c coal_only {path}")


ONEFS_COALESCER = Rule(
    name="onefs-coalescer",
    title="Let the coalescer of OneFS alone take random writes",
    area="OneFS",
    reason="The coalescer joins small writes in memory, so that OneFS lays out whole stripes instead of reading, "
    "changing and writing them.",
    risk="Data in the coalescer without the endurant cache is lost when the node that holds it fails. Sources "
    "disagree: the study says that the coalescer is off by default, while its developers say that it stays active as "
    "long as the endurant cache is on. New files inherit the attribute from their directory; files that exist need "
    "isi set -R.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=_coalescer,
    parameters=("coalescer",),
)


ONEFS_MULTI_WRITER = Rule(
    name="onefs-multi-writer",
    title="Turn multi-writer of OneFS off where each file has one writer",
    area="OneFS",
    reason="Multi-writer takes finer locks so that several clients can write one file. Where each client writes its "
    "own file, its bookkeeping gains nothing.",
    risk="Writers of one shared file wait for each other: leave it on for N-to-1. It affects the whole cluster.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=lambda system: _sysctl_off(system, "efs.bam.coalescer.multiwriter"),
    parameters=("efs.bam.coalescer.multiwriter",),
)


_ASYNC_COMMIT_SETTINGS = ("commit-async", "setattr-async")
_ASYNC_COMMIT_READ = "isi nfs settings export view"
_ASYNC_COMMIT_WRITE = "isi nfs settings export modify --setattr-async=1 --commit-async=1"


def _async_commit(system: System) -> Iterator[Judgement]:
    """Whether the cluster acknowledges commits and changes of attributes early."""
    for setting in _ASYNC_COMMIT_SETTINGS if is_onefs(system) else _ASYNC_COMMIT_SETTINGS[:1]:
        yield from judge_setting(system, setting, "1", _ASYNC_COMMIT_READ, _ASYNC_COMMIT_WRITE)


ONEFS_ASYNC_COMMIT = Rule(
    name="onefs-async-commit",
    title="Know what asynchronous commits of OneFS trade for speed",
    area="OneFS",
    reason="With commit-async and setattr-async the cluster answers COMMIT and SETATTR before data and attributes are "
    "on disk, so that small writes and creates do not wait.",
    risk="Acknowledged data is lost when a node fails, although clients have synced it and dropped their copies. Use "
    "it for scratch data only, and name it beside every rate that was measured with it. It changes the defaults of "
    "all exports.",
    sources=(RANDOM_IO,),
    judge=_async_commit,
    parameters=_ASYNC_COMMIT_SETTINGS,
)


RULES: tuple[Rule, ...] = (
    ONEFS_ENDURANT_CACHE,
    ONEFS_COALESCER,
    ONEFS_MULTI_WRITER,
    ONEFS_ASYNC_COMMIT,
)

SETTINGS = tuple(name for rule in RULES for name in rule.parameters)
"""The names that `--storage-setting` takes."""
