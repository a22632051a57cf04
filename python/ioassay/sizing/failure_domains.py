"""The failures that a brick survives without loss of data or service: drives, servers, enclosures, RAID controllers.

Each is counted alone: a drive and a server at a time may be more than a brick survives. Not: how likely it is
(`reliability`), how fast the brick is meanwhile (`rates`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ioassay.sizing.capacity.redundancy import Geometry, geometry
from ioassay.sizing.catalogue import Catalogue
from ioassay.sizing.components import Brick, Controller, Enclosure
from ioassay.sizing.model import BrickChoice
from ioassay.text.units import format_count


@dataclass(frozen=True)
class Tolerance:
    """How many of a kind may fail at a time, whichever they are."""

    count: int
    reason: str
    """Why so many and no more, as a sentence."""
    is_assumed: bool = False
    """True if the reason rests on what the catalogue does not say."""


@dataclass(frozen=True)
class Survival:
    """The parts of one brick that may fail without loss of data or service."""

    drives: Tolerance
    """In any one group."""
    servers: Tolerance
    """In the brick."""
    enclosures: Tolerance
    """In the brick."""
    controllers: Tolerance
    """In each pair or group of RAID controllers."""


def survives(catalogue: Catalogue, choice: BrickChoice) -> Survival:
    """The failures that one brick survives. Raises `UsageError` for a geometry that is impossible."""
    brick = catalogue.find(choice.brick, Brick)
    layout = geometry(catalogue, choice.brick)
    return Survival(
        drives=_drives(layout),
        servers=_servers(brick, layout),
        enclosures=_enclosures(catalogue, brick, layout),
        controllers=_controllers(catalogue, brick),
    )


def _drives(geometry: Geometry) -> Tolerance:
    count = geometry.tolerated
    if geometry.layout == "none":
        return Tolerance(0, "Nothing protects the drives.")
    if geometry.layout in ("mirror", "raid10"):
        copies = f"{count + 1} copies"
        return Tolerance(count, f"Every block has {copies}; the loss of all drives with the same blocks is fatal.")
    return Tolerance(count, f"{geometry.layout} has {geometry.parity} parity to {geometry.data} data in each stripe.")


def _servers(brick: Brick, geometry: Geometry) -> Tolerance:
    count = sum(brick.servers.values())
    if count == 0:
        return Tolerance(0, "The catalogue has no servers for it.")
    if count == 1:
        return Tolerance(0, "It has one server.")
    if brick.redundancy.spread_over == "servers":
        return _spread(geometry, count, "server")
    if not brick.enclosures:
        return Tolerance(
            0,
            f"Its drives are taken to be inside its {count} servers, and no group is spread over them.",
            is_assumed=True,
        )
    return Tolerance(
        1,
        f"It has {count} servers; the others take over the drives of one, which all of them are taken to reach.",
        is_assumed=True,
    )


def _enclosures(catalogue: Catalogue, brick: Brick, geometry: Geometry) -> Tolerance:
    count = sum(brick.enclosures.values())
    if count == 0:
        return Tolerance(0, "The catalogue has no enclosures for it.")
    if count == 1:
        return Tolerance(0, "It has one enclosure.")
    if brick.redundancy.spread_over == "enclosures":
        spread = _spread(geometry, count, "enclosure")
        if not brick.controllers:
            return spread
        outside = f"{spread.reason} The RAID controllers are taken not to be inside one of them."
        return Tolerance(spread.count, outside, is_assumed=True)
    smallest = min(catalogue.find(name, Enclosure).slots for name in brick.enclosures)
    if geometry.drives <= smallest:
        drives = format_count(geometry.drives, "drive")
        return Tolerance(0, f"Each group of {drives} is taken to lie within one enclosure.", is_assumed=True)
    return Tolerance(
        0,
        f"Groups of {geometry.drives} drives do not fit into an enclosure of {smallest}, and the catalogue does not "
        "say how they are spread over several.",
        is_assumed=True,
    )


def _spread(geometry: Geometry, count: int, what: str) -> Tolerance:
    """The tolerance of `count` boxes over which drives are evenly distributed."""
    noun, drives = _distributed_pieces(geometry)
    most = -(-drives // count)
    are = "is" if most == 1 else "are"
    return Tolerance(
        geometry.tolerated // most,
        f"Of the {drives} {noun}, {most} {are} in one of {count} {what}s, and {geometry.tolerated} may be lost.",
    )


def _distributed_pieces(geometry: Geometry) -> tuple[str, int]:
    """The pieces that are distributed, and how many: they must not be lost together.

    OpenZFS permutes the drives of dRAID, so that a stripe may have as many in one box as its group has there.
    """
    if geometry.layout in ("mirror", "raid10"):
        return "copies of a block", geometry.tolerated + 1
    if geometry.layout.startswith("draid"):
        return "drives of a group", geometry.drives
    return "drives of a stripe", geometry.width


def _controllers(catalogue: Catalogue, brick: Brick) -> Tolerance:
    if not brick.controllers:
        return Tolerance(0, "It has no RAID controllers.")
    units = min(catalogue.find(name, Controller).units for name in brick.controllers)
    if units == 1:
        return Tolerance(0, "It has a RAID controller that no other takes over for.")
    return Tolerance(1, f"Of each {units} RAID controllers the others take over for one.")
