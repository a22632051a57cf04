"""Whether I/O of DFuse bypasses the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Judgement, NotApplicable, NotJudged, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    found = [mount for mount in mounts if mount.file_system == "fuse.daos"]
    if not found:
        yield NotApplicable("no DFuse is mounted here, or the target does not lie on it")
    yield from each(found, _mount)


def _mount(mount: Mount) -> Iterator[Judgement]:
    why = (
        "depends on the application's environment: set LD_PRELOAD=libioil.so, or libpil4dfs.so for metadata, too; "
        "D_IL_REPORT=1 shows whether it is used"
    )
    yield NotJudged(mount.point, "DFuse, through the kernel unless a library intercepts I/O", why)


RULE = Rule(
    name="daos-interception",
    title="Use DAOS's interception library with DFuse",
    area="DAOS",
    reason="Each read and write of DFuse passes the kernel and a daemon; the library sends it to the servers from the "
    "application. DAOS's manual shows 4.3 instead of 1.5 GB/s for one stream of dd.",
    risk="The kernel's cache is bypassed, so that reading again is not faster. Statically linked programs are not "
    "intercepted.",
    sources=(
        Source(
            "DAOS 2.8, File System: Interception Library libioil",
            "https://github.com/daos-stack/daos/blob/v2.8.0/docs/user/filesystem.md",
        ),
    ),
    judge=_judge,
    parameters=("LD_PRELOAD",),
    weight="large",
    weight_reason="its source measured a factor of 2.9",
)
