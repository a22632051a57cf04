"""Data: the bytes of a file set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, jobs, which, with_additions
from ioassay.text.prose import listed
from ioassay.text.units import format_bytes

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import EntryOrder, FileSet, Fsync, Order, Payload, Source, WorkData

FSYNCS = {
    "never": "",
    "at-close": "with an fsync of every file at the end that counts in the time",
    "at-end": "with an fsync of all files after the last write that counts in the time",
    "every-writes": "with an fsync after every {} writes that counts in the time",
}

_ORDERS = {
    "sequential": "in ascending order",
    "backward": "in descending order",
    "random": "in random order, each transfer exactly once",
    "random-with-replacement": "at random offsets, each drawn afresh",
    "ior-shuffled": "in random order within each segment, as IOR's -z has it",
    "ior-drawn": "block by block, each drawn afresh from the whole file, as IOR's -z given twice has it",
    "strided": "every {}th transfer, then every {}th beginning with the second, and so on, each exactly once",
    "zipf": "at offsets drawn from a Zipf distribution with the exponent {}, few often, most rarely",
    "hot-spot": "with {operations_percent} % of the operations in the first {transfers_percent} % of the transfers",
}

_SOURCES = {
    "own": "",
    "shift": "each rank the part of the rank {} further on",
    "shuffled": "parts exchanged",
    "listed": "each rank a part that the plan names",
}


class Data(Kind["WorkData"]):
    """Writes, reads, and mixes of both."""

    def words(self, plan: Contents, work: WorkData, name: str | None) -> str:
        """Its transfers, in which order, and what is done to the file set besides."""
        of = which(plan, work["files"])
        transfer = work["transfer"]
        if isinstance(transfer, str):
            sentence = f"{transfer}{of.removeprefix(' of')}{called(name, transfer)}"
        else:
            sentence = f"read {transfer['mixed']} % of the transfers{of} and write the others{called(name, 'mixed')}"
        if work["order"] != _usual_order(plan, work["files"]):
            sentence += f" {order(work['order'])}"
        return sentence + _on_files(work)

    def description(self, plan: Contents, work: WorkData) -> Description:
        """That of its file set."""
        files = plan["files"][work["files"]]
        return {
            "file_set": work["files"],
            "layout": files["layout"] if isinstance(files["layout"], str) else "N-M",
            "order": order_text(work["order"]),
            "transfer_bytes": files["transfer_bytes"],
            "payload": payload_text(files["payload"]),
            "fsync": None if work["transfer"] == "read" else _fsync_text(work["fsync"]),
        }

    def files(self, work: WorkData) -> list[str]:
        """The one that it moves the bytes of."""
        return [work["files"]]


def file_set(plan: Contents, name: str, files: FileSet) -> str:
    """How ranks share the files, what is in them, and how it is moved."""
    count = files["files_per_rank"]
    each_has = "a file" if count == 1 else f"{count} files"
    shared = "one file" if count == 1 else each_has
    match files["layout"]:
        case "N-N":
            layout = f"every rank has {each_has} of its own"
        case "N-1":
            layout = f"all ranks share {shared}"
        case groups:
            layout = f"{groups['N-M']} groups of ranks share {each_has} each"
    block = f"{format_bytes(files['block_bytes'])} of each rank"
    segments = "" if files["segments"] == 1 else f" in each of {files['segments']} segments"
    in_each = " in each file" if count > 1 else ""
    offset = f", beginning {format_bytes(files['offset_bytes'])} into each file" if files.get("offset_bytes") else ""
    moved = f"moved in transfers of {format_bytes(files['transfer_bytes'])} {order(_usual_order(plan, name))}"
    return f"{layout}; {block}{segments}{in_each}{offset}, {moved}"


def order(of: Order) -> str:
    """The order of a file set's transfers."""
    return filled(_ORDERS, of)


def _usual_order(plan: Contents, files: str) -> Order:
    """The order in which a file set is taken first; only others need saying."""
    return next(
        (work["order"] for work in jobs(plan) if work["kind"] == "data" and work["files"] == files), "sequential"
    )


def _on_files(work: WorkData) -> str:
    """What a job says beyond its file set."""
    additions = [filled(FSYNCS, work["fsync"]), filled(_SOURCES, work.get("source", "own"))]
    pieces = work.get("piece_bytes")
    additions += [f"in pieces of {format_bytes(pieces)}"] if pieces else []
    additions += [f"with all {work['verify']} compared"] if work.get("verify") else []
    additions += [f"under a lock of the {work['lock']}"] if work.get("lock") else []
    additions += [f"into files made {work['size']} at open"] if work.get("size") else []
    additions += [f"with the advice {listed(work['advice'])}"] if work.get("advice") else []
    additions += ["with barriers between open, transfers and close"] if work.get("barriers") else []
    return with_additions(additions)


def filled(words: Mapping[str, str], value: Order | Fsync | Source) -> str:
    """The words for a variant of the plan, with what it carries put in."""
    if isinstance(value, str):
        return words[value]
    ((variant, carried),) = value.items()
    carries = carried if isinstance(carried, Mapping) else {}
    return words[variant].format(carried, carried, **carries)


def order_text(order: Order | EntryOrder) -> str:
    """A plan's order as studies spell it: `strided 4`, `hot-spot 10% 90%`. What IOR's are drawn from is left out."""
    if isinstance(order, str):
        return order
    if "strided" in order:
        return f"strided {order['strided']}"
    if "zipf" in order:
        return f"zipf {order['zipf']:g}"
    if "hot-spot" in order:
        spot = order["hot-spot"]
        return f"hot-spot {spot['transfers_percent']}% {spot['operations_percent']}%"
    return "ior-shuffled" if "ior-shuffled" in order else "ior-drawn"


def payload_text(payload: Payload) -> str:
    """A plan's payload as studies spell it, `reducible 50% 20%`; without the signature of IOR's."""
    if payload["kind"] == "reducible":
        return f"reducible {payload['zero_percent']}% {payload['duplicate_percent']}%"
    return payload["kind"]


def _fsync_text(when: Fsync) -> str:
    return when if isinstance(when, str) else f"every {when['every-writes']} writes"
