"""Verdicts on the terminal: the failed ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ioassay.analysis.acceptance import Judgement
from ioassay.reports import format
from ioassay.reports.check.lines import Line, accepted
from ioassay.reports.terminal import STYLES
from ioassay.units import format_count

_ORDER: tuple[Judgement, ...] = ("failed", "not judged", "passed")


def summary(lines: Sequence[Line]) -> Group:
    """Every verdict and how many of each there are."""
    table = Table(box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in sorted(lines, key=lambda line: _ORDER.index(line.judgement)):
        judgement = Text(line.judgement, style=STYLES[line.judgement])
        table.add_row(judgement, Text(f"{line.group}, {line.name}: {line.says}"))
    return Group(table, *counted(lines))


def counted(lines: Sequence[Line]) -> list[Text]:
    """How many verdicts of each kind there are."""
    counts = Counter(line.judgement for line in lines)
    said = ", ".join(f"{counts[judgement]} {judgement}" for judgement in _ORDER if counts[judgement])
    parts = [Text(f"{format_count(len(lines), 'check')}: {said or 'none'}.")]
    drops = sorted(line.smallest_detectable_drop for line in lines if line.smallest_detectable_drop is not None)
    if drops:
        least, most = format.share(drops[0]), format.share(drops[-1])
        size = least if least == most else f"{least} to {most}, depending on the point"
        parts.append(Text(f"Smallest detectable drop against the baseline: {size}."))
    if not accepted(lines) and not counts["failed"]:
        parts.append(Text("Nothing could be judged, so nothing is accepted.", style="bold red"))
    return parts
