"""What ext4 puts into its journal."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, Source, each
from ioassay.tuning.rules.filesystem.geometry import EXT4_MANUAL, NO_EXT4, of_type
from ioassay.tuning.system import System
from ioassay.tuning.system.mounts import Mount


def _judge(system: System) -> Iterator[Judgement]:
    return each(of_type(system, "ext4"), _mount, otherwise=NO_EXT4)


def _mount(mount: Mount) -> Iterator[Judgement]:
    now = mount.options.get("data", "ordered")
    if now == "ordered":
        yield Fine(mount.point, "data=ordered")
        return
    because = {
        "journal": "all data is written twice, and O_DIRECT falls back to buffered I/O",
        "writeback": "after a crash, files can contain what other files held before",
    }.get(now, "")
    command = f"set data=ordered for {mount.point}, then unmount it and mount it again"
    yield Change(mount.point, f"data={now}", "data=ordered", because, command=command)


RULE = Rule(
    name="ext4-journal-mode",
    title="Journal metadata of ext4 and order data before it",
    area="file system",
    reason="data=journal writes all data to the journal first, which halves throughput; data=ordered writes data "
    "once, and before the metadata that points to it.",
    risk="Small synchronous writes can be faster with data=journal, above all with a journal on flash. data=writeback "
    "is rumoured to be fastest, as its manual puts it, at the cost of stale data in files after a crash. The mode "
    "cannot be changed by a remount.",
    sources=(EXT4_MANUAL, Source("Linux, ext4", "https://docs.kernel.org/admin-guide/ext4.html")),
    judge=_judge,
    parameters=("data",),
)
