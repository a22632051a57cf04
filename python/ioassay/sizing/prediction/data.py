"""Reads and writes of files of one's own: between the least and the most that the configuration lets so many ranks do.

If a run is attached to the brick, its curve says what so many ranks do (`curve`). Else each request crosses the link of
its client and is then served by one group of drives, or, if it is a small random one, by one drive. Ranks whose
requests never overlap do least, as many requests as the storage can use do most; in between, as expected, each rank has
a few in flight. Not: rates at full load (`sizing.rates`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ioassay.sizing.arithmetic import Formula, Value, applied, assumed, exactly, lowest, product, quotient
from ioassay.sizing.components import RANDOM_BYTES, IoKind
from ioassay.sizing.prediction import curve, queueing
from ioassay.sizing.prediction.model import Predicted, Spot
from ioassay.sizing.prediction.queueing import Stations
from ioassay.sizing.prediction.storage import Storage
from ioassay.sizing.rates.groups import PER_OPERATION
from ioassay.sizing.rates.work import is_random
from ioassay.systems.amounts import NUMBER, Interval
from ioassay.text.units import format_bytes, format_count

_FILE_APIS = ("posix", "uring", "mmap")

_CHAPTER_5 = "Lazowska, Zahorjan, Graham, Sevcik: Quantitative System Performance, 1984, chapter 5"
_MEAN_VALUES = "Reiser, Lavenberg: Mean-Value Analysis of Closed Multichain Queuing Networks, Journal of the ACM, 1980"

_IN_FLIGHT = assumed(
    "requests in flight of a rank",
    8,
    NUMBER,
    "What reading ahead and writing behind keep in flight differs between clients; 8 is Lustre's default for a client "
    "and a target (max_rpcs_in_flight). The range of a prediction does not depend on it.",
)


def predict(storage: Storage, spot: Spot) -> Predicted:
    """The expected rate at a spot whose job works on files."""
    kind = _kind(spot)
    why_not = _why_not(storage, spot, kind)
    if why_not or kind is None:
        return Predicted(spot, None, why_not=why_not)
    transfer = exactly("transfer", spot.job.transfer_bytes or 0, PER_OPERATION)
    carried = _storage_rate(storage, kind, transfer if is_random(kind) else None)
    link = storage.link
    if link is not None and is_random(kind):
        link = quotient("operations over the link of a client", link, transfer)
    measured = curve.expected(storage.curves.get(kind, ()), spot, carried)
    notes = tuple(_notes(storage, spot))
    if measured is not None:
        return Predicted(spot, *_as_measured(spot, measured, link), method="curve", notes=notes)
    return Predicted(spot, *_predicted_rate(storage, spot, kind, carried, link), method="bounds", notes=notes)


def _as_measured(spot: Spot, measured: Value, link: Value | None) -> tuple[Value, str]:
    """The measured rate, as far as the links of the clients carry it, and its limit."""
    if link is None:
        return measured, "as measured"
    clients = exactly("clients", spot.taking_part)
    links = product("rate of the clients", clients, link)
    return lowest(measured.name, measured, links), "as measured" if measured.nominal <= links.nominal else _links(spot)


def _links(spot: Spot) -> str:
    return f"{'link' if spot.taking_part == 1 else 'links'} of {format_count(spot.taking_part, 'client')}"


def _kind(spot: Spot) -> IoKind | None:
    kinds: dict[tuple[str, str], IoKind] = {
        ("write", "sequential"): "write",
        ("read", "sequential"): "read",
        ("write", "random"): "random_write",
        ("read", "random"): "random_read",
    }
    return kinds.get((spot.operation, spot.job.order))


def _why_not(storage: Storage, spot: Spot, kind: IoKind | None) -> str:
    """Why nothing can be said, as a sentence; empty where something can."""
    job = spot.job
    if job.api not in _FILE_APIS:
        return f"The catalogue has no rates of the storage API {job.api}."
    if job.layout != "N-N":
        return f"{job.layout}: nothing in the catalogue tells what locks of shared files cost."
    if kind is None:
        return f"The catalogue has no rates of the order {job.order}."
    if kind not in storage.rates:
        return f"The catalogue has no {_kind_text(kind)} rate of this configuration."
    smaller = storage.stripe_bytes is not None and (job.transfer_bytes or 0) < storage.stripe_bytes
    if job.order == "sequential" and smaller:
        sizes = f"{format_bytes(job.transfer_bytes or 0)}, smaller than the {format_bytes(storage.stripe_bytes or 0)}"
        return f"Transfers of {sizes} of a stripe: it is unknown what the file system makes of them."
    return ""


def _kind_text(kind: IoKind) -> str:
    return kind.replace("_", " ") if is_random(kind) else f"sequential {kind}"


def _storage_rate(storage: Storage, kind: IoKind, transfer: Value | None) -> Value:
    """The rate of the storage at full load. Random transfers never move more than sequential ones."""
    operations = storage.rates[kind].value
    sequential = storage.rates.get("write" if kind.endswith("write") else "read")
    if transfer is None or sequential is None:
        return operations
    as_operations = quotient(
        f"operations at the sequential rate of {sequential.value.name}", sequential.value, transfer
    )
    return lowest(operations.name, operations, as_operations)


def _predicted_rate(
    storage: Storage, spot: Spot, kind: IoKind, carried: Value, link: Value | None
) -> tuple[Value, str]:
    """The range with what is expected in it, and what allows no more."""
    ranks = spot.job.ranks * (spot.job.depth or 1)
    parts = storage.drives if is_random(kind) else storage.groups
    clients = exactly("clients", spot.taking_part)
    overlaps = _overlaps(spot, kind)
    limits = [carried] if link is None else [carried, link]

    def network(rates: tuple[Fraction, ...]) -> list[Stations]:
        total, *each = map(float, rates)
        links = [Stations(spot.taking_part, 1 / (spot.taking_part * link_rate)) for link_rate in each]
        return [Stations(int(parts.nominal), 1 / total), *links]

    def of(name: str, rule: Callable[[int, list[Stations]], float], requests: int, text: str, source: str) -> Value:
        def rate(*rates: Fraction) -> Fraction:
            return Fraction(rule(requests, network(rates)))

        return applied(name, rate, *limits, text=text, dimension=carried.dimension, source=source)

    crosses = "" if link is None else " + 1 ÷ link of a client"
    demand = f"D = {int(parts.nominal)} {parts.name} ÷ {carried.name}{crosses}"
    bound = of("lower bound", queueing.least, ranks, f"{ranks} ÷ (D + {ranks - 1} × Dmax), {demand}", _CHAPTER_5)
    ceilings = {_limit(storage, kind): carried}
    if link is not None:
        ceilings[_links(spot)] = product("rate of the clients", clients, link)
    in_flight = ranks * int(_IN_FLIGHT.nominal) if overlaps else ranks
    if not overlaps and _is_of_disks(storage, kind):
        waiting = of("upper bound of requests that wait", queueing.most, ranks, f"{ranks} ÷ D, {demand}", _CHAPTER_5)
        ceilings[f"{format_count(ranks, 'request')} in flight"] = waiting
    upper = lowest("upper bound", *ceilings.values())
    text = f"mean value analysis of {in_flight} requests in flight, {demand}"
    middle = of("expected rate", queueing.expected, in_flight, text, _MEAN_VALUES)
    limit = min(ceilings, key=lambda place: ceilings[place].nominal)
    operands = (bound, middle, upper, *([_IN_FLIGHT] if overlaps else []))
    low, high = bound.interval.low, upper.interval.high
    interval = Interval(low, min(max(middle.interval.nominal, low), high), high)
    formula = Formula("function", operands, "expected rate, from the lower to the upper bound")
    return Value(f"predicted {_kind_text(kind)} rate", interval, carried.dimension, formula), limit


def _overlaps(spot: Spot, kind: IoKind) -> bool:
    """True where the client keeps more in flight than the ranks ask for: reads ahead, or writes behind."""
    return not spot.job.direct and kind != "random_read"


def _is_of_disks(storage: Storage, kind: IoKind) -> bool:
    """True where a lone request takes no less than its share of the full load: small ones that disks limit.

    Flash serves many at a time, and other places on the path may serve a lone one faster than full load tells.
    """
    return is_random(kind) and storage.are_disks and _limit(storage, kind) == "drives"


def _limit(storage: Storage, kind: IoKind) -> str:
    return storage.rates[kind].limit.place


def _notes(storage: Storage, spot: Spot) -> list[str]:
    job, notes = spot.job, []
    if storage.memory_bytes is not None and job.file_set_bytes <= storage.memory_bytes:
        memory = format_bytes(storage.memory_bytes)
        notes.append(f"The files fit into the servers' memory of {memory}: caches may make it faster than predicted.")
    if job.order == "random" and job.transfer_bytes != RANDOM_BYTES:
        size = format_bytes(job.transfer_bytes or 0)
        notes.append(f"The catalogue's random rates are of 4 KiB; transfers of {size} may do less.")
    return notes
