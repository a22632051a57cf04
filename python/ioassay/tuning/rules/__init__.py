"""What is known of settings: a module for each rule, in a package for each area; to add one, write it and a line there.

A rule says nothing that was not published or documented: `sources` names where it was.
"""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules import block, memory

RULES: tuple[Rule, ...] = (*block.RULES, *memory.RULES)
"""All rules, along the way of an I/O within each area."""
