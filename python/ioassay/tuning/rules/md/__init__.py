"""Rules about arrays of the kernel's RAID driver (md)."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.md import chunk_size, completeness, equal_members, stripe_cache, sync_speed, worker_threads

RULES: tuple[Rule, ...] = (
    completeness.RULE,
    sync_speed.RULE,
    stripe_cache.RULE,
    worker_threads.RULE,
    chunk_size.RULE,
    equal_members.RULE,
)
