"""Rules about GPFS (IBM Storage Scale): the daemon of a node, then file systems."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.gpfs import (
    access_times,
    allocation_map,
    block_size,
    file_cache,
    numa_interleave,
    page_pool,
    rdma,
    throughput_estimate,
    worker_threads,
)

RULES: tuple[Rule, ...] = (
    page_pool.RULE,
    throughput_estimate.RULE,
    worker_threads.RULE,
    file_cache.RULE,
    rdma.RULE,
    numa_interleave.RULE,
    block_size.RULE,
    allocation_map.RULE,
    access_times.RULE,
)
