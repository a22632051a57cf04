"""Rules about BeeGFS 7 and 8: clients, then servers. What its servers' disks need is in the rules about queues."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.beegfs import (
    client_cache,
    connections,
    durability,
    metadata_attributes,
    metadata_raid,
    rdma,
    worker_buffers,
    workers,
)

RULES: tuple[Rule, ...] = (
    client_cache.RULE,
    durability.RULE,
    connections.RULE,
    rdma.RULE,
    workers.RULE,
    worker_buffers.RULE,
    metadata_attributes.RULE,
    metadata_raid.RULE,
)
