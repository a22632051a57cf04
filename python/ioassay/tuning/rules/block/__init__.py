"""Rules about the queues of block devices."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.block import max_sectors_kb

RULES: tuple[Rule, ...] = (max_sectors_kb.RULE,)
