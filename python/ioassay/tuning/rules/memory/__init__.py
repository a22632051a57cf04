"""Rules about memory management and the caches of the kernel."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.memory import vfs_cache_pressure

RULES: tuple[Rule, ...] = (vfs_cache_pressure.RULE,)
