"""Published systems on the terminal: what there is, all of one, and which claims follow. Not: checking claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ioassay.reports import format
from ioassay.systems.amounts import BYTES_PER_S, OPERATIONS_PER_S, Amount
from ioassay.systems.claims import Checked, Verdict
from ioassay.systems.document import verdicts
from ioassay.systems.formulas import QUALIFIED, recomputed, says
from ioassay.systems.model import Figure, Reference, System
from ioassay.units import format_bytes, format_count

_STYLES: dict[Verdict, str] = {"follows": "green", "does not follow": "bold red", "cannot be recomputed": "yellow"}


def overview(checked: Iterable[tuple[System, Sequence[Checked]]]) -> RenderableType:
    """Every system in a line."""
    table = _table("Published systems")
    table.add_column("Name", no_wrap=True)
    table.add_column("What it is", overflow="fold")
    for head in ("Figures", "Claims", "Do not follow"):
        table.add_column(head, justify="right")
    for system, claims in checked:
        counts = verdicts(claims)
        table.add_row(
            Text(system.name),
            Text(system.title),
            str(len(system.figures)),
            str(len(claims)),
            str(counts["does not follow"]),
        )
    hints = (
        "\nioassay systems NAME           all of one: hardware, settings, figures, claims",
        "ioassay systems NAME --yaml    its YAML, to copy",
        "ioassay systems --check        which claims follow from the printed figures",
        "ioassay systems --from RUN     a run of your own as such a YAML",
    )
    return Group(table, *map(Text, hints))


def details(system: System, checked: Sequence[Checked]) -> RenderableType:
    """All of one system."""
    parts: list[RenderableType] = [Text(f"{system.name}: {system.title}", style="bold"), _sources(system)]
    if system.test_bed is not None:
        parts.append(Text(f"Clients, network and benchmark settings where not here: ioassay systems {system.test_bed}"))
    parts += [part for group in system.settings for part in ("", _settings(system, group))]
    if system.figures:
        parts += ["", _figures(system)]
    if checked:
        parts += ["", verification([(system, checked)])]
    return Group(*parts)


def verification(checked: Iterable[tuple[System, Sequence[Checked]]]) -> RenderableType:
    """Which claims follow, system by system, and how many."""
    by_system = [(system, claims) for system, claims in checked if claims]
    parts: list[RenderableType] = []
    for system, claims in by_system:
        parts += [_claims(system, claims), ""]
    counts = verdicts([one for _, claims in by_system for one in claims])
    said = ", ".join(f"{count} {_counted(verdict, count)}" for verdict, count in counts.items())
    number = format_count(sum(counts.values()), "claim")
    return Group(
        *parts,
        Text(f"{number}: {said}."),
        Text(
            "In brackets what the digits of the printed numbers allow. Points that are only drawn may say otherwise.",
            "dim",
        ),
    )


def _counted(verdict: Verdict, count: int) -> str:
    plural: dict[Verdict, str] = {"follows": "follow", "does not follow": "do not follow"}
    return verdict if count == 1 else plural.get(verdict, verdict)


def _sources(system: System) -> Table:
    table = _table("", header=False)
    for name, document in system.sources.items():
        told = (document.title, document.authors, document.publisher, document.date, document.file, document.url)
        table.add_row(Text(name), Text("; ".join(filter(None, told))))
    return table


def _settings(system: System, group: str) -> Table:
    table = _table(group.replace("-", " ").capitalize(), header=False)
    table.add_column(ratio=4, overflow="fold")
    table.add_column(ratio=7, overflow="fold")
    table.add_column(ratio=2, overflow="fold", justify="right", style="dim")
    for setting in system.settings[group]:
        table.add_row(Text(setting.what), Text(setting.value), Text(str(setting.at)))
    table.expand = True
    return table


def _figures(system: System) -> Table:
    table = _table("Figures", header=False)
    table.add_column(ratio=4, overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=5, overflow="fold")
    table.add_column(max_width=14, justify="right", style="dim", overflow="fold")
    table.expand = True
    for figure in system.figures:
        printed = QUALIFIED[figure.qualifier] + figure.amount.text
        table.add_row(Text(figure.id), Text(printed), Text(_what(figure)), Text(str(figure.at)))
    return table


def _what(figure: Figure) -> str:
    """`peak write, 64 clients: random N-N, IOR, 4 KiB, 32 GB per client`."""
    counts = (
        format_count(figure.clients, "client") if figure.clients else None,
        format_count(figure.threads, "thread") if figure.threads else None,
    )
    operation = " ".join(filter(None, (figure.level, figure.operation.replace("-", " "), _in_latin(figure.amount))))
    transfer = format_bytes(figure.transfer) if figure.transfer else None
    told = (figure.test, figure.tool, transfer, figure.configuration, figure.note)
    return f"{', '.join(filter(None, (operation, *counts)))}: {', '.join(filter(None, told))}"


def _in_latin(amount: Amount) -> str:
    """A rate again where its unit is printed in another script: `of 11000 kIOPS`."""
    if amount.unit.isascii() or amount.dimension not in (BYTES_PER_S, OPERATIONS_PER_S):
        return ""
    return f"of {format.rate(amount.base) if amount.dimension == BYTES_PER_S else format.operations_rate(amount.base)}"


def _claims(system: System, checked: Sequence[Checked]) -> Table:
    table = _table(f"Claims: {system.name}", header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", style="dim", overflow="fold")
    for one in checked:
        table.add_row(
            Text(one.verdict, style=_STYLES[one.verdict]), Text(says(one.claim)), _why(one), Text(str(one.claim.at))
        )
    return table


def _why(checked: Checked) -> Text:
    """The claim's name and what it was recomputed as; of one that does not follow also from what, and what to know."""
    text = Text(checked.claim.id)
    if checked.verdict == "follows":
        return text.append(f": {recomputed(checked)}", style="dim")
    figures = ", ".join(str(one.operand) for one in checked.operands if isinstance(one.operand, Reference))
    told = (recomputed(checked), figures and f"from {figures}", checked.why, checked.claim.note)
    return text.append("".join(f"\n{line}" for line in told if line), style="dim")


def _table(title: str, *, header: bool = True) -> Table:
    return Table(title=title or None, title_justify="left", title_style="bold", box=None, show_header=header)
