"""Rules about OneFS (Dell PowerScale, Isilon), which only the cluster's administrator can follow."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.onefs import async_commit, coalescer, endurant_cache, multi_writer

RULES: tuple[Rule, ...] = (
    endurant_cache.RULE,
    coalescer.RULE,
    multi_writer.RULE,
    async_commit.RULE,
)

SETTINGS = tuple(name for rule in RULES for name in rule.parameters)
"""What `--storage-setting` may name."""
