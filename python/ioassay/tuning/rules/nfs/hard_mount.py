"""What a client does when the server does not answer."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, each
from ioassay.tuning.rules.nfs.sources import NFS_MANUAL, NO_MOUNTS, mount_again
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import NfsMount, nfs_mounts


def _judge(system: System) -> Iterator[Judgement]:
    return each(nfs_mounts(system.mounts, system.target_mount), _mount, otherwise=NO_MOUNTS)


def _mount(mount: NfsMount) -> Iterator[Judgement]:
    now = next((option for option in ("soft", "softerr") if mount.has(option)), "hard")
    if now == "hard":
        yield Fine(mount.point, now)
    elif mount.has("ro"):
        yield NotApplicable(f"{mount.point} is read-only, so {now} can lose no writes")
    else:
        assignment = Assignment(f"mount:{mount.point}/{now}", "off")
        yield Change(mount.point, now, "hard", "", (assignment,), mount_again(mount, f"hard instead of {now}"))


RULE = Rule(
    name="nfs-hard-mount",
    title="Mount writable NFS file systems hard",
    area="NFS",
    reason="With soft a call fails after a few retries, also under load; cached writes that fail are lost, which "
    "corrupts data silently where the application does not check fsync() and close().",
    risk="While the server is down, processes wait and can only be killed. This rule protects data; it does not make "
    "anything faster.",
    sources=(NFS_MANUAL,),
    judge=_judge,
    parameters=("hard", "soft", "softerr"),
    weight="large",
    weight_reason="writes that fail are lost",
)
