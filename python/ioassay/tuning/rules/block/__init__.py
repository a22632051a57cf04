"""Rules about the queues of block devices."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.block import (
    async_depth,
    max_sectors_kb,
    nomerges,
    nr_requests,
    read_ahead_kb,
    rq_affinity,
    scheduler,
    wbt_lat_usec,
    write_cache,
)

RULES: tuple[Rule, ...] = (
    scheduler.RULE,  # First, because it resets nr_requests.
    nr_requests.RULE,
    async_depth.RULE,  # It is capped at nr_requests.
    max_sectors_kb.RULE,
    nomerges.RULE,
    read_ahead_kb.RULE,
    rq_affinity.RULE,
    wbt_lat_usec.RULE,
    write_cache.RULE,
)
"""In the order in which their settings are to be set."""
