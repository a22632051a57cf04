"""Published systems on the terminal: the list, one system, and which claims follow. Not: checking claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ioassay.reports.document import (
    Block,
    Column,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Style,
    Table,
    Text,
    facts,
    numbers,
)
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S, Amount
from ioassay.systems.claims import CheckedClaim, Verdict
from ioassay.systems.document import verdicts
from ioassay.systems.formulas import QUALIFIED, recomputed, says
from ioassay.systems.model import Figure, Reference, System
from ioassay.text import format
from ioassay.text.units import format_bytes, format_count

_STYLES: dict[Verdict, Style] = {
    "follows": "passed",
    "does not follow": "failed",
    "cannot be recomputed": "not judged",
}

_HINTS = """\
ioassay systems NAME           one system: hardware, settings, figures, claims
ioassay systems NAME --yaml    its YAML, to copy
ioassay systems --check        which claims follow from the printed figures
ioassay systems --from RUN     your own run as YAML of a system"""


def overview(checked: Iterable[tuple[System, Sequence[CheckedClaim]]]) -> list[Block]:
    """Every system in a line."""
    columns = [Column("Name", wraps=False), Column("Description"), *numbers("Figures", "Claims", "Do not follow")]
    rows = [
        [
            system.name,
            system.title,
            str(len(system.figures)),
            str(len(claims)),
            str(verdicts(claims)["does not follow"]),
        ]
        for system, claims in checked
    ]
    return [Table(columns, rows, title="Published systems"), Section("", [Preformatted(_HINTS)])]


def details(system: System, checked: Sequence[CheckedClaim]) -> list[Block]:
    """Everything about a system."""
    bed = f"Clients, network and benchmark settings not listed here: ioassay systems {system.test_bed}"
    return [
        Section(f"{system.name}: {system.title}", [_sources(system), *([Paragraph(bed)] if system.test_bed else [])]),
        *(Section("", [_settings(system, group)]) for group in system.settings),
        Section("", [_figures(system)]),
        *(verification([(system, checked)]) if checked else []),
    ]


def verification(checked: Iterable[tuple[System, Sequence[CheckedClaim]]]) -> list[Block]:
    """The claims that follow and those that do not, system by system, and their number."""
    by_system = [(system, claims) for system, claims in checked if claims]
    counts = verdicts([claim for _, claims in by_system for claim in claims])
    summary = ", ".join(f"{count} {_counted(verdict, count)}" for verdict, count in counts.items())
    number = format_count(sum(counts.values()), "claim")
    about = (
        "In brackets: the range that rounding of the printed numbers allows. Points of plots may contradict a verdict."
    )
    return [
        *(Section("", [_claims(system, claims)]) for system, claims in by_system),
        Paragraph(f"{number}: {summary}."),
        Paragraph(Span(about, "faint")),
    ]


def _counted(verdict: Verdict, count: int) -> str:
    plural: dict[Verdict, str] = {"follows": "follow", "does not follow": "do not follow"}
    return verdict if count == 1 else plural.get(verdict, verdict)


def _sources(system: System) -> Table:
    sources = (
        (name, (of.title, of.authors, of.publisher, of.date, of.file, of.url)) for name, of in system.sources.items()
    )
    return facts([(name, "; ".join(filter(None, parts))) for name, parts in sources])


def _settings(system: System, group: str) -> Table:
    rows: list[list[Text]] = [
        [setting.what, setting.value, Span(str(setting.at), "faint")] for setting in system.settings[group]
    ]
    return Table([Column(), Column(), Column()], rows, has_head=False, title=group.replace("-", " ").capitalize())


def _figures(system: System) -> Table:
    rows: list[list[Text]] = [
        [
            figure.id,
            QUALIFIED[figure.qualifier] + figure.amount.text + _band(figure),
            _what(figure),
            Span(str(figure.at), "faint"),
        ]
        for figure in system.figures
    ]
    columns = [Column(), Column(is_number=True, wraps=False), Column(), Column()]
    return Table(columns, rows, has_head=False, title="Figures")


def _band(figure: Figure) -> str:
    """` (1.9 GB/s to 4.2 GB/s)` of a prediction."""
    return "" if figure.band is None else f" ({figure.band[0].text} to {figure.band[1].text})"


def _what(figure: Figure) -> str:
    """`peak write, 64 clients: random N-N, IOR, 4 KiB, 32 GB per client`."""
    counts = (
        format_count(figure.clients, "client") if figure.clients else None,
        format_count(figure.threads, "thread") if figure.threads else None,
    )
    operation = " ".join(filter(None, (figure.level, figure.operation.replace("-", " "), _in_latin(figure.amount))))
    transfer = format_bytes(figure.transfer) if figure.transfer else None
    qualifiers = (figure.test, figure.tool, transfer, figure.configuration, figure.note)
    return f"{', '.join(filter(None, (operation, *counts)))}: {', '.join(filter(None, qualifiers))}"


def _in_latin(amount: Amount) -> str:
    """A rate again where its unit is printed in another script: `of 11000 kIOPS`."""
    if amount.unit.isascii() or amount.dimension not in (BYTES_PER_S, OPERATIONS_PER_S):
        return ""
    return f"of {format.rate(amount.base) if amount.dimension == BYTES_PER_S else format.operations_rate(amount.base)}"


def _claims(system: System, checked: Sequence[CheckedClaim]) -> Table:
    rows: list[list[Text]] = [
        [
            Span(checked_claim.verdict, _STYLES[checked_claim.verdict]),
            says(checked_claim.claim),
            _why(checked_claim),
            Span(str(checked_claim.claim.at), "faint"),
        ]
        for checked_claim in checked
    ]
    columns = [Column(wraps=False), Column(is_number=True, wraps=False), Column(), Column()]
    return Table(columns, rows, has_head=False, title=f"Claims: {system.name}")


def _why(checked: CheckedClaim) -> Text:
    """The claim's name and what it was recomputed as; of one that does not follow also from what, and what to know."""
    name = checked.claim.id
    if checked.verdict == "follows":
        return name, Span(f": {recomputed(checked)}", "faint")
    figures = ", ".join(str(operand.operand) for operand in checked.operands if isinstance(operand.operand, Reference))
    lines = (recomputed(checked), figures and f"from {figures}", checked.why, checked.claim.note)
    return (name, *(Span(line, "below") for line in lines if line))
