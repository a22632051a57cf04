"""The links of enclosures: each carries no more than its lanes do, and no more than its drives.

Groups fill the enclosures in the order in which the catalogue names them, and each lies within one if it fits; stripes
that are spread over enclosures have the same share in each, and wait for the slowest. Parity crosses these links,
because it is computed behind them. The sum is what all of them carry with each kept busy; a file that is striped evenly
over enclosures that are not equally fast waits for the slowest.

Not: how enclosures are chained: each is taken to have its lanes for itself.
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.sizing.arithmetic import Value, exactly, lowest, product, total
from ioassay.sizing.components import Enclosure
from ioassay.sizing.model import Ceiling
from ioassay.sizing.rates.brick_io import BrickIo, over_link
from ioassay.text.units import format_count


def link_ceilings(io: BrickIo, drives: list[Ceiling]) -> list[Ceiling]:
    """The ceiling of all enclosures, given that of their `drives`; empty where none limits or too little is known."""
    filled = _filled_enclosures(io)
    links = {name: io.figure(name, "link", f"link of {name}") for name, _, _ in filled}
    if not any(links.values()):
        return []
    enclosures: list[tuple[int, Value]] = []
    for name, count, share in filled:
        limits = []
        if (link := links[name]) is not None:
            limits.append(over_link(f"{io.rate} over the link of {name}", link, io.work.link))
        if drives:
            part = exactly("share of the drives", share)
            limits.append(product(f"{io.rate} of the drives in {name}", part, drives[-1].value))
        if not limits:
            return []
        each = lowest(f"{io.rate} of {name}", *limits)
        enclosures.append((count, each))
    if io.brick.redundancy.spread_over == "enclosures":
        slowest = lowest(f"{io.rate} of the slowest enclosure", *(each for _, each in enclosures))
        enclosures = [(sum(count for count, _ in enclosures), slowest)]
    sums = [
        product(f"{io.rate} of {format_count(count, 'enclosure')}", exactly("enclosures", count), each)
        for count, each in enclosures
    ]
    together = total(f"{io.rate} of the enclosures", *sums)
    is_of_drives = bool(drives) and together.interval.nominal >= drives[-1].value.interval.nominal
    return [] if is_of_drives else [Ceiling("links of the enclosures", together)]


def _filled_enclosures(io: BrickIo) -> list[tuple[str, int, Fraction]]:
    """Enclosures with drives in them: how many alike, and which share of all drives each of those holds."""
    if io.brick.redundancy.spread_over == "enclosures":
        number = sum(io.brick.enclosures.values())
        return [(name, count, Fraction(1, number)) for name, count in io.brick.enclosures.items()]
    drives = io.groups.groups * io.groups.drives
    sizes = {name: io.catalogue.find(name, Enclosure).slots for name in io.brick.enclosures}
    of_groups = {name: slots - slots % io.groups.drives for name, slots in sizes.items()}
    if sum(count * of_groups[name] for name, count in io.brick.enclosures.items()) >= drives:
        sizes = of_groups
    left, filled = drives, []
    for name, count in io.brick.enclosures.items():
        if (slots := sizes[name]) == 0:
            continue
        full, rest = divmod(min(left, count * slots), slots)
        filled += [(name, full, Fraction(slots, drives))] if full else []
        filled += [(name, 1, Fraction(rest, drives))] if rest else []
        left -= full * slots + rest
    return filled
