"""The size of a page of memory, which limits in pages and segments count in."""

from __future__ import annotations

from ioassay.tuning.snapshot import Snapshot, Unreadable

_USUAL = 4096
_BY_HUGE_PAGE = {2 << 20: 4 << 10, 32 << 20: 16 << 10, 512 << 20: 64 << 10}
"""A huge page is one full page table of entries of eight bytes, so its size tells that of a page."""


def page_bytes(snapshot: Snapshot) -> int:
    """A page of the node that the snapshot was taken of; 4 KiB where nothing tells."""
    try:
        huge = snapshot.number("sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
    except Unreadable:
        return _USUAL
    return _BY_HUGE_PAGE.get(huge or 0, _USUAL)
