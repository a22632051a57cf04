"""Rules about processors, NUMA nodes, and the links that data takes between them and the storage."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.processor import (
    energy_preference,
    governor,
    interrupt_affinity,
    isolated_processors,
    network_link,
    numa_placement,
    packet_size,
    pcie_link,
    socket_limits,
    tcp_buffers,
)

RULES: tuple[Rule, ...] = (
    governor.RULE,
    energy_preference.RULE,
    numa_placement.RULE,
    interrupt_affinity.RULE,
    isolated_processors.RULE,
    pcie_link.RULE,
    network_link.RULE,
    packet_size.RULE,
    tcp_buffers.RULE,
    socket_limits.RULE,
)
