"""Rules about RAID controllers, whose settings only the user can say (`--raid`)."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.raid import cache_block, cache_flush, read_cache, segment, write_cache

RULES: tuple[Rule, ...] = (segment.RULE, cache_block.RULE, cache_flush.RULE, write_cache.RULE, read_cache.RULE)
