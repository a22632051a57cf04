"""Rules about NVMe over fabrics, as a host sees it: TCP, RDMA and Fibre Channel."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.fabrics import connection_state, path_policy, queue_count, queue_size

RULES: tuple[Rule, ...] = (connection_state.RULE, path_policy.RULE, queue_count.RULE, queue_size.RULE)
