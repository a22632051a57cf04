"""Rules about clients of WEKA."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.weka import cache_mode, network_mode, read_ahead

RULES: tuple[Rule, ...] = (network_mode.RULE, cache_mode.RULE, read_ahead.RULE)
