"""Documents that several of these rules go by."""

from __future__ import annotations

from ioassay.tuning.rule import Source

MD_MANUAL = Source("md(4)", "https://man7.org/linux/man-pages/man4/md.4.html")
MD_GUIDE = Source("Linux, RAID arrays", "https://docs.kernel.org/admin-guide/md.html")

NO_ARRAYS = "no array of the kernel's RAID driver (md) lies below the target"
