"""Where extended attributes are kept."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule, Source, each
from ioassay.tuning.rules.zfs.sources import NO_ZFS, ZFS_PROPERTIES
from ioassay.tuning.system import System
from ioassay.tuning.system.zfs import Dataset, concerned, is_used, version

_SA_IS_ON_SINCE = (2, 3)


def _judge(system: System) -> Iterator[Judgement]:
    if not is_used(system):
        yield NotApplicable(NO_ZFS)
        return
    release = version(system.snapshot)
    yield from each(concerned(system, "xattr"), lambda one: _dataset(one, release), otherwise=NO_ZFS)


def _dataset(one: Dataset, release: tuple[int, int] | None) -> Iterator[Judgement]:
    now = one.properties.get("xattr")
    if now is None:
        yield NotReadable(f"xattr of {one.name}", "zfs get does not list it")
    elif now == "on" and release is None:
        yield NotReadable(f"xattr of {one.name}", "`on` means `dir` before OpenZFS 2.3, and the release is not known")
    elif now in ("sa", "off") or (now == "on" and release is not None and release >= _SA_IS_ON_SINCE):
        yield Fine(one.name, f"xattr={now}")
    else:
        because = "each attribute is a file in a hidden directory" + (", as `on` means before 2.3" * (now == "on"))
        yield Change(one.name, f"xattr={now}", "xattr=sa", because, command=f"zfs set xattr=sa {one.name}")


RULE = Rule(
    name="zfs-extended-attributes",
    title="Keep extended attributes with the inode",
    area="ZFS",
    reason="ACLs, SELinux labels, Lustre and BeeGFS live in extended attributes; as system attributes they need far "
    "fewer I/Os than as files of a directory, the default before OpenZFS 2.3.",
    risk="It holds for new attributes. Other implementations of ZFS than OpenZFS cannot read them.",
    sources=(
        ZFS_PROPERTIES,
        Source("OpenZFS 2.1, zfsprops(7)", "https://openzfs.github.io/openzfs-docs/man/v2.1/7/zfsprops.7.html"),
    ),
    judge=_judge,
    parameters=("xattr",),
)
