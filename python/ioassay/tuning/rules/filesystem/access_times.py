"""Whether reading a file writes its access time."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, each
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount
from ioassay.tuning.system.nfs import exports


def _judge(system: System) -> Iterator[Judgement]:
    mounts = system.local_mounts
    if not mounts:
        yield NotApplicable("no local file system is mounted here, or the target does not lie on one")
        return
    exported = {export.path for export in exports(system.snapshot)}
    yield from each(mounts, lambda mount: _mount(mount, exported))


def _mount(mount: Mount, exported: set[str]) -> Iterator[Judgement]:
    is_exported = any(path == mount.point or path.startswith(mount.point.rstrip("/") + "/") for path in exported)
    assignment = Assignment(f"mount:{mount.point}/noatime", "on")
    if "noatime" in mount.options or "ro" in mount.options:
        yield Fine(mount.point, "noatime" if "noatime" in mount.options else "read-only")
    elif "relatime" not in mount.options:
        yield Change(mount.point, "strictatime", "noatime", "every read changes an inode", (assignment,))
    elif is_exported and mount.point != "/":
        because = "it is exported, and clients that read many small files make the server write as many inodes a day"
        yield Change(mount.point, "relatime", "noatime", because, (assignment,))
    else:
        yield Fine(mount.point, "relatime")


RULE = Rule(
    name="access-times",
    title="Do not write access times",
    area="file system",
    reason="With strictatime every read changes an inode, which is written later; relatime, the default, still writes "
    "it once a day and after each change, which a file server pays for all of its clients.",
    risk="Programs that go by access times fail: tools that remove or migrate unused files, some mail readers.",
    sources=(Source("mount(8)", "https://man7.org/linux/man-pages/man8/mount.8.html"),),
    judge=_judge,
    weight="small",
    weight_reason="reads write an inode at most once a day, as Linux mounts by default",
    parameters=("noatime", "relatime", "strictatime"),
)
