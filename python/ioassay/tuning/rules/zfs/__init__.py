"""Rules about ZFS: its pools, then the module, then data sets. OpenZFS 2.1 to 2.4."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.zfs import (
    arc_limit,
    cache_flush,
    compression,
    direct_io,
    extended_attributes,
    pool_completeness,
    pool_space,
    prefetch,
    record_size,
    sector_size,
    special_vdev,
    synchronous_writes,
)

RULES: tuple[Rule, ...] = (
    record_size.RULE,
    direct_io.RULE,
    synchronous_writes.RULE,
    compression.RULE,
    extended_attributes.RULE,
    special_vdev.RULE,
    prefetch.RULE,
    arc_limit.RULE,
    cache_flush.RULE,
    sector_size.RULE,
    pool_completeness.RULE,
    pool_space.RULE,
)
