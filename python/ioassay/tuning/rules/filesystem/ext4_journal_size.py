"""How large the journal of ext4 is."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source, each, missing
from ioassay.tuning.rules.filesystem.geometry import NO_EXT4, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.filesystem import ext_superblock
from ioassay.tuning.system.mounts import Mount

_LARGE = 128 << 30
_WANTED = 1 << 30


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "ext4"), lambda mount: _mount(system, mount), otherwise=NO_EXT4)


def _mount(system: System, mount: Mount) -> Iterator[Judgement]:
    superblock = ext_superblock(system.snapshot, mount)
    if superblock is None:
        yield missing(f"dumpe2fs -h {mount.source}")
    elif not superblock.has_journal:
        yield NotApplicable(f"{mount.point} has no journal")
    elif superblock.journal_bytes is None:
        yield NotApplicable(f"the journal of {mount.point} lies on another device")
    elif superblock.size_bytes < _LARGE or superblock.journal_bytes >= _WANTED:
        yield Fine(mount.point, f"{superblock.journal_bytes >> 20} MiB")
    else:
        because = f"a file system of {superblock.size_bytes >> 30} GiB is made with 1024 MiB today"
        command = (
            f"umount {mount.point}; tune2fs -O ^has_journal {mount.source}; e2fsck -f {mount.source}; "
            f"tune2fs -J size=1024 {mount.source}"
        )
        yield Change(mount.point, f"{superblock.journal_bytes >> 20} MiB", "1024 MiB", because, command=command)


RULE = Rule(
    name="ext4-journal-size",
    title="Give a large ext4 a journal of 1 GiB",
    area="file system",
    reason="When the journal is full, all changes of metadata wait until some of it is written back. File systems "
    "that were made by old tools, or small and then grown, have journals of 128 MiB and less.",
    risk="The file system has to be unmounted, and while it has no journal a crash means a full check. Replaying a "
    "larger journal takes longer, and it pins more memory.",
    sources=(
        Source("mke2fs(8), option -J size", "https://man7.org/linux/man-pages/man8/mke2fs.8.html"),
        Source(
            "e2fsprogs, lib/ext2fs/mkjournal.c: ext2fs_default_journal_size",
            "https://git.kernel.org/pub/scm/fs/ext2/e2fsprogs.git/tree/lib/ext2fs/mkjournal.c",
        ),
    ),
    judge=_judge,
    parameters=("journal size",),
)
