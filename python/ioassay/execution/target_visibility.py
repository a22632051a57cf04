"""Whether this node sees the target of a run, by what the run noted of its nodes: nothing is asked of a file system.

Not here: who is to see it instead.
"""

from __future__ import annotations

from pathlib import Path

from ioassay.mounts import mount_of
from ioassay.results.document import RunDocument

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def sees_target(run: RunDocument) -> bool:
    """True if the target of `run` is here what it was for the run's first node; False where that is not known."""
    if run.target_kind == "url":
        return True
    if run.target_kind != "directory" or not run.environment:
        return False
    node = run.environment[0]
    # A file system on a device is another one on another machine, whatever they are called.
    same_machine = node.get("boot_id") == _BOOT_ID.read_text().strip()
    if node.get("block_device") is not None and not same_machine:
        return False
    noted, mount = node.get("mount"), mount_of(run.target)
    if noted is None or mount is None:
        return False
    here = (mount.point, mount.source, mount.file_system)
    return here == (noted["mount_point"], noted["source"], noted["file_system"])
