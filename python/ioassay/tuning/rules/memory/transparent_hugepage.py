"""Transparent huge pages."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.choices import chosen
from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, Source, missing
from ioassay.tuning.rules.memory import server_role
from ioassay.tuning.rules.sources import BEEGFS_STORAGE, LINUX_LARGE_IO
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system import System
from ioassay.tuning.system.nfs import kernel_version

_PLACES = ("kernel/mm/redhat_transparent_hugepage", "kernel/mm/transparent_hugepage")
"""Red Hat's name in its kernel 2.6.32, and Linux's."""
_DIRECT_COMPACTION_BEFORE = (4, 6)
"""From this version on page faults of programs that did not ask for huge pages no longer wait for compaction."""


def _judge(system: System) -> Iterator[Judgement]:
    place = next((one for one in _PLACES if system.snapshot.text(f"sys/{one}/enabled") is not None), None)
    role = server_role.serves(system)
    if place is None:
        yield NotApplicable("this kernel has no transparent huge pages, or the snapshot lacks them")
        return
    now = chosen(system.snapshot.text(f"sys/{place}/enabled") or "")
    if now not in ("always", "madvise", "never"):
        raise Unreadable(f"/sys/{place}/enabled", f"holds {now[:40]!r}, which is no choice of the kernel")
    text = system.snapshot.text(f"sys/{place}/defrag")
    if text is None and now == "always":
        yield missing(f"/sys/{place}/defrag")
        return
    defrag = chosen(text or "")
    if role:
        yield _server(system, place, now, defrag)
    elif now == defrag == "always" and "madvise" in (text or ""):
        because = "every page fault of every program may wait while memory is compacted"
        assignment = Assignment(f"sys:{place}/defrag", "madvise")
        yield Change(system.host, "always, with defrag at always", "defrag at madvise", because, (assignment,))
    elif now == "always":
        yield Fine(system.host, f"always, with defrag at {defrag}")
    else:
        yield NotApplicable("the node serves no storage; applications with large arrays gain from huge pages")


def _server(system: System, place: str, now: str, defrag: str) -> Judgement:
    if now != "always":
        return Fine(system.host, now)
    if place == _PLACES[0] or kernel_version(system.snapshot) < _DIRECT_COMPACTION_BEFORE:
        wanted, because = "never", "this kernel compacts memory while threads wait for a page"
    elif defrag == "always":
        wanted, because = "madvise", "with defrag at always threads wait for memory to be compacted"
    else:
        return Fine(system.host, f"always, with defrag at {defrag}: page faults do not wait")
    assignment = Assignment(f"sys:{place}/enabled", wanted)
    return Change(system.host, now, wanted, because, (assignment,))


RULE = Rule(
    name="transparent-hugepage",
    title="Keep storage servers from compacting memory for huge pages",
    area="memory",
    reason="A storage server fills its memory with pages of file data, and compacting it for huge pages stalls service "
    "threads that gain nothing from them. The study's `never` is for kernel 2.6.32; since Linux 4.6 page faults wait "
    "only where `defrag` is `always`.",
    risk="Programs with large arrays on the same node lose speed. Guides disagree: BeeGFS recommends `always` for its "
    "storage servers, so measure.",
    sources=(
        LINUX_LARGE_IO,
        Source("Linux, Transparent Hugepage Support", "https://docs.kernel.org/admin-guide/mm/transhuge.html"),
        BEEGFS_STORAGE,
    ),
    judge=_judge,
    parameters=("transparent_hugepage", "redhat_transparent_hugepage", "defrag"),
)
