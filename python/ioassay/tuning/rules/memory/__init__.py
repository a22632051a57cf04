"""Rules about memory management and the caches of the kernel."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.memory import (
    dirty_limit,
    min_free_kbytes,
    swappiness,
    transparent_hugepage,
    vfs_cache_pressure,
    zone_reclaim_mode,
)

RULES: tuple[Rule, ...] = (
    transparent_hugepage.RULE,
    vfs_cache_pressure.RULE,
    dirty_limit.RULE,
    min_free_kbytes.RULE,
    swappiness.RULE,
    zone_reclaim_mode.RULE,
)
