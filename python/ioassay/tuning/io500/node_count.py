"""Step 3: as many nodes as storage targets, as far as there are nodes.

Monnier et al. (PDSW 2019): "Set nodes used == to number of storage targets".
"""

from __future__ import annotations

from ioassay.store.tune_io500_document import NodesEntry
from ioassay.text.units import format_count
from ioassay.tuning.io500.facts import SourcedNumber


def node_count(targets: SourcedNumber, available: int) -> NodesEntry:
    """The number of nodes; `available` is at least 1."""
    nodes = min(targets.value, available)
    if nodes < targets.value:
        why = f"fewer than the {targets.value} storage targets, because no more are available"
    elif nodes < available:
        why = f"as many as storage targets; {format_count(available - nodes, 'node')} not used"
    else:
        why = "as many as storage targets"
    return NodesEntry(
        nodes=nodes,
        available=available,
        storage_targets=targets.value,
        storage_targets_source=targets.source,
        why=why,
    )
