"""Rules about local file systems: where they begin, XFS, ext4, times."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.filesystem import (
    access_times,
    ext4_journal_mode,
    ext4_journal_size,
    ext4_stripe,
    lazy_times,
    partition_alignment,
    write_barriers,
    xfs_allocation_groups,
    xfs_inode_numbers,
    xfs_log_buffers,
    xfs_stripe,
)

RULES: tuple[Rule, ...] = (
    partition_alignment.RULE,
    xfs_stripe.RULE,
    xfs_log_buffers.RULE,
    xfs_allocation_groups.RULE,
    xfs_inode_numbers.RULE,
    ext4_stripe.RULE,
    ext4_journal_mode.RULE,
    ext4_journal_size.RULE,
    write_barriers.RULE,
    access_times.RULE,
    lazy_times.RULE,
)
