"""Verdicts as blocks of a document: the failed ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ioassay.analysis.acceptance import Judgement
from ioassay.reports.check.lines import Line, accepted
from ioassay.reports.document import Block, Column, Paragraph, Span, Table
from ioassay.text import format
from ioassay.text.units import format_count

_ORDER: tuple[Judgement, ...] = ("failed", "not judged", "passed")


def blocks(lines: Sequence[Line]) -> list[Block]:
    """Every verdict and how many of each there are."""
    rows = [
        (Span(line.judgement, line.judgement), f"{line.group}, {line.name}: {line.says}")
        for line in sorted(lines, key=lambda line: _ORDER.index(line.judgement))
    ]
    return [Table([Column(wraps=False), Column()], rows, has_head=False), *counted(lines)]


def counted(lines: Sequence[Line]) -> list[Paragraph]:
    """The number of verdicts of each kind."""
    counts = Counter(line.judgement for line in lines)
    summary = ", ".join(f"{counts[judgement]} {judgement}" for judgement in _ORDER if counts[judgement])
    parts = [Paragraph(f"{format_count(len(lines), 'check')}: {summary or 'none'}.")]
    drops = sorted(line.smallest_detectable_drop for line in lines if line.smallest_detectable_drop is not None)
    if drops:
        least, most = format.share(drops[0]), format.share(drops[-1])
        size = least if least == most else f"{least} to {most}, depending on the point"
        parts.append(Paragraph(f"Smallest detectable drop against the baseline: {size}."))
    if not accepted(lines) and not counts["failed"]:
        parts.append(Paragraph(Span("No criterion could be judged, so the run is not accepted.", "failed")))
    return parts
