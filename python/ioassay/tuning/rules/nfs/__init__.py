"""Rules about NFS: mounts of a client, then the server."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.nfs import (
    attribute_cache,
    connections,
    export_sync,
    hard_mount,
    lookup_cache,
    read_ahead,
    rpc_slots,
    server_block_size,
    server_pool_mode,
    server_threads,
    session_slots,
    synchronous_writes,
    transfer_size,
    transport,
    trunking,
)

RULES: tuple[Rule, ...] = (
    transfer_size.RULE,
    connections.RULE,
    trunking.RULE,
    transport.RULE,
    hard_mount.RULE,
    synchronous_writes.RULE,
    attribute_cache.RULE,
    lookup_cache.RULE,
    read_ahead.RULE,
    rpc_slots.RULE,
    session_slots.RULE,
    server_threads.RULE,
    server_block_size.RULE,
    server_pool_mode.RULE,
    export_sync.RULE,
)
