"""Rules about adapters and the paths behind them."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.adapter import max_queue_depth, max_sgl_entries, multipath_paths, path_selector, queue_depth

RULES: tuple[Rule, ...] = (
    max_sgl_entries.RULE,
    max_queue_depth.RULE,
    queue_depth.RULE,
    path_selector.RULE,
    multipath_paths.RULE,
)
