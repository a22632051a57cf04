"""Rules about Lustre, its servers first and then its clients."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.lustre import (
    brw_size,
    checksums,
    default_layout,
    fragmented_bulk,
    max_dirty_mb,
    max_pages_per_rpc,
    max_read_ahead,
    max_rpcs_in_flight,
    oss_threads,
    read_cache,
    small_rpcs,
    statahead,
)

RULES: tuple[Rule, ...] = (
    oss_threads.RULE,
    brw_size.RULE,
    read_cache.RULE,
    fragmented_bulk.RULE,
    max_pages_per_rpc.RULE,  # The three raise max_dirty_mb, so it comes last.
    max_rpcs_in_flight.RULE,
    max_dirty_mb.RULE,
    checksums.RULE,
    max_read_ahead.RULE,
    statahead.RULE,
    default_layout.RULE,
    small_rpcs.RULE,
)
