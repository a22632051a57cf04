"""The rules: a file for each area, which ends with its list of rules.

How to add a rule: docs/development/tuning.md.

A rule says nothing that was not published or documented: `sources` names where it was.
"""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules import (
    adapter,
    beegfs,
    block,
    btrfs,
    distributed,
    filesystem,
    gpfs,
    lustre,
    md,
    memory,
    network,
    nfs,
    onefs,
    processor,
    raid,
    zfs,
)

_AREAS = (
    gpfs,
    nfs,
    onefs,
    lustre,
    beegfs,
    distributed,
    memory,
    processor,
    network,
    filesystem,
    zfs,
    btrfs,
    md,
    block,
    adapter,
    raid,
)

RULES: tuple[Rule, ...] = tuple(rule for area in _AREAS for rule in area.RULES)
"""All rules, along the way of an I/O within each area."""
