"""What rules about OneFS share: its settings are on the cluster, and no NFS client can read them.

The recommendations come from a test of random I/O, and hold for that only: 4 KiB records, each client with its own
file.
"""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Source
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount

RANDOM_IO = Source(
    "Dell EMC Isilon F800 and H600 I/O performance for HPC, section Random I/O Performance Tests (N-to-N)"
)
ENDURANT_CACHE = Source("N. Trimbee, OneFS Endurant Cache", "http://unstructureddatatips.com/onefs-endurant-cache-2")

RANDOM_ONLY = "for random I/O in small records; the same study measured sequential I/O with the defaults"


def judge_setting(system: System, setting: str, wanted: str, read: str, write: str) -> Iterator[Judgement]:
    """What is known of a setting of the cluster: only what the user said."""
    if not is_onefs(system):
        yield NotApplicable("the storage is not known to be OneFS; an NFS mount does not tell, --storage onefs does")
        return
    now = system.storage_settings.get(setting)
    if now is None:
        yield NotReadable(setting, f"only the cluster shows it: {read}; {RANDOM_ONLY}, set it there with: {write}")
    elif now == wanted:
        yield Fine(setting, now)
    else:
        yield Change(setting, now, wanted, RANDOM_ONLY, command=write)


def is_onefs(system: System) -> bool:
    """Whether the user said that the target lies on OneFS."""
    return system.storage == "onefs"


def target_path(system: System) -> str:
    """The target's path on the cluster, as far as the mount tells it."""
    mount = system.target_mount
    export = NfsMount(mount).export if mount is not None and mount.is_nfs else ""
    return export if export.startswith("/ifs") else "/ifs/PATH"
