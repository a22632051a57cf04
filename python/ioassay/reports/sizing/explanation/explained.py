"""A configuration with what is reported of it. Not: computing any of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ioassay.reports.document import Section
from ioassay.sizing.model import Size
from ioassay.sizing.packing import PackedRack


@dataclass(frozen=True)
class Explained:
    """What follows from a configuration, its racks, and what else is known of it."""

    size: Size
    racks: Sequence[PackedRack] = ()
    """Empty where they are not known: its bricks may not say how high they are."""
    sections: Sequence[Section] = ()
    """Sections of its own, such as times and what is published of it."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The same for other programs, under keys of their own."""
