"""Rules about btrfs, of Linux 5.14 and later."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.btrfs import (
    completeness,
    compression,
    copy_on_write,
    discard,
    raid_profile,
    space_cache,
    write_barriers,
)

RULES: tuple[Rule, ...] = (
    raid_profile.RULE,
    copy_on_write.RULE,
    write_barriers.RULE,
    compression.RULE,
    discard.RULE,
    space_cache.RULE,
    completeness.RULE,
)
