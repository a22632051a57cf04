"""What several of these rules share: their documents, and which mounts they judge."""

from __future__ import annotations

from ioassay.tuning.rule import Source
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount

WEKA_MOUNTING = Source(
    "WEKA 3.14, Mounting Filesystems", "https://github.com/weka/docs-weka-io/blob/3.14/fs/mounting-filesystems.md"
)
WEKA_MODES = Source(
    "WEKA 3.14, Weka Client and Mount Modes",
    "https://github.com/weka/docs-weka-io/blob/3.14/overview/weka-client-and-mount-modes.md",
)

NO_WEKA = "no file system of WEKA is mounted here, or the target does not lie on it"


def weka_mounts(system: System) -> list[Mount]:
    """The mounts to judge: the target's, or without a target all."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    return [mount for mount in mounts if mount.file_system == "wekafs"]
