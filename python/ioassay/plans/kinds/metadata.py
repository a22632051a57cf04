"""Metadata: the entries of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, which, with_additions
from ioassay.plans.kinds.data import FSYNCS, order_text, payload_text
from ioassay.text.units import format_bytes, format_count

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import MetadataOperation, Tree, WorkMetadata

_ITEM_ORDERS = {
    "sequential": "",
    "interleaved": "one of each directory in turn",
    "random": "in random order",
}

_SHARINGS = {
    "unique": "every rank has a tree of its own",
    "shared": "all ranks share one tree, each with items of its own",
    "shared-items": "all ranks share one tree and its items",
}

_ON_TREES = {
    "create-tree": "create the directories",
    "create": "create the items",
    "stat": "stat every item",
    "read": "read every item",
    "write": "write every item",
    "rename": "rename every item",
    "replace": "look at every item, read it, remove it and create another one",
    "remove": "remove every item",
    "remove-tree": "remove the directories",
}

_MOST_DIRECTORIES = 2**63
"""Trees with more of them are not counted to the end."""


class Metadata(Kind["WorkMetadata"]):
    """What is done to each item of a tree, or to its directories."""

    def words(self, plan: Contents, work: WorkMetadata, name: str | None) -> str:
        """What is done, to whose items, and what besides."""
        verb = work["operation"]["kind"]
        return f"{_ON_TREES[verb]}{which(plan, work['tree'])}{called(name, verb)}" + _on_tree(work)

    def description(self, plan: Contents, work: WorkMetadata) -> Description:
        """That of its tree."""
        tree, each = plan["trees"][work["tree"]], bytes_each(work["operation"])
        payload = tree.get("payload")
        return {
            "file_set": work["tree"],
            "layout": tree["sharing"],
            "order": order_text(work["order"]),
            "transfer_bytes": each or None,
            # A plan names only what can be verified; other items are random bytes, none twice.
            "payload": (payload_text(payload) if payload else "unique") if each else None,
            "fsync": _fsync_text(work),
        }

    def trees(self, work: WorkMetadata) -> list[str]:
        """The one that it is about."""
        return [work["tree"]]


def tree(shape: Tree) -> str:
    """A tree."""
    count = _directories(shape)
    directories = "one directory" if count == 1 else f"{count} directories"
    below = format_count(shape["depth"], "level")
    levels = f" in {below} below the root, {shape['branch']} in each" if shape["depth"] else ""
    where = "each of the deepest directories" if shape["leaves_only"] else "each directory"
    items = f"{shape['items_per_directory']} {shape['items']} of each rank in {where}"
    displaced = f" in the tree of the rank {shape['displaced']} further on" if shape.get("displaced") else ""
    names = ", called as md-workbench calls them" if shape.get("names") == "md-workbench" else ""
    return f"{_SHARINGS[shape['sharing']]}; {directories}{levels}, with {items}{displaced}{names}"


def _directories(shape: Tree) -> int:
    """Directories of one tree, its root included."""
    depth, branch = shape["depth"], shape["branch"]
    if branch <= 1:
        return 1 + depth * branch
    directories = leaves = 1
    for _ in range(depth):
        leaves *= branch
        directories += leaves
        if directories > _MOST_DIRECTORIES:
            break
    return directories


def bytes_each(operation: MetadataOperation) -> int:
    """Bytes that a job moves into or out of each item."""
    match operation["kind"]:
        case "create":
            return operation["write_bytes"]
        case "read" | "write" | "replace":
            return operation["bytes"]
        case _:
            return 0


def _on_tree(work: WorkMetadata) -> str:
    """What a job says beyond its tree."""
    operation = work["operation"]
    additions = [FSYNCS["at-close"]] if operation.get("fsync") else []
    additions += ["with a sync of the nodes at the end that counts in the time"] if work.get("sync_at_end") else []
    each = bytes_each(operation)
    additions += [f"{format_bytes(each)} each"] if each else []
    additions += [_ITEM_ORDERS[work["order"]]]
    additions += [_shifted(operation["kind"], work["shift"])] if work.get("shift") else []
    # The plan only says that something is compared.
    compared = "reads" if operation["kind"] in ("read", "replace") else "writes"
    additions += [f"with all {compared} compared"] if work.get("verify") else []
    return with_additions(additions)


def _shifted(kind: str, shift: int) -> str:
    """Whose items a rank works on."""
    if kind != "replace":
        return f"those of the rank {shift} further on"
    times = "n" if shift == 1 else f"{shift} × n"
    return f"in the n-th directory those of the rank {times} before, by new ones of the rank {times} after"


def _fsync_text(work: WorkMetadata) -> str | None:
    """When it forces what it changes to stable storage, as studies spell it; `None` where it changes nothing."""
    if work["operation"]["kind"] in ("stat", "read"):
        return None
    if work["operation"].get("fsync"):
        return "at-close"
    return "at-end" if work.get("sync_at_end") else "never"
