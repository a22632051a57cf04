"""What is known of settings: a module for each rule, in a package for each area.

How to add one: docs/development/tuning.md.

A rule says nothing that was not published or documented: `sources` names where it was.
"""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules import (
    adapter,
    beegfs,
    block,
    btrfs,
    ceph,
    daos,
    fabrics,
    filesystem,
    gpfs,
    lustre,
    md,
    memory,
    nfs,
    onefs,
    processor,
    raid,
    weka,
    zfs,
)

RULES: tuple[Rule, ...] = (
    *gpfs.RULES,
    *nfs.RULES,
    *onefs.RULES,
    *lustre.RULES,
    *beegfs.RULES,
    *ceph.RULES,
    *weka.RULES,
    *daos.RULES,
    *memory.RULES,
    *processor.RULES,
    *filesystem.RULES,
    *zfs.RULES,
    *btrfs.RULES,
    *md.RULES,
    *block.RULES,
    *fabrics.RULES,
    *adapter.RULES,
    *raid.RULES,
)
"""All rules, along the way of an I/O within each area."""
