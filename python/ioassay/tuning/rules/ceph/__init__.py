"""Rules about Ceph's clients in the kernel: CephFS and RBD."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.ceph import messenger, rbd_queue_depth, read_ahead, transfer_size

RULES: tuple[Rule, ...] = (transfer_size.RULE, read_ahead.RULE, messenger.RULE, rbd_queue_depth.RULE)
