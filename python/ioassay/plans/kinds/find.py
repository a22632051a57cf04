"""Find: a walk through directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, phase_name
from ioassay.text.units import format_bytes

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import WorkFind


class Find(Kind["WorkFind"]):
    """A walk that visits every entry and looks for some."""

    does_io_by_storage = False

    def words(self, plan: Contents, work: WorkFind, name: str | None) -> str:
        """Where it walks, and what it looks for."""
        tree = f"the tree {work['tree']}" if "tree" in work else "what the run has created"
        where = work.get("root") or tree
        return f"walk through {where}{called(name, 'find')}, looking for {_conditions(plan, work)}"

    def description(self, plan: Contents, work: WorkFind) -> Description:
        """It works on no file set."""
        return {"file_set": "", "layout": "", "order": "sequential", "transfer_bytes": None}

    def trees(self, work: WorkFind) -> list[str]:
        """The one that it walks through, if it is one."""
        return [tree] if (tree := work.get("tree")) is not None else []

    def earlier_steps(self, work: WorkFind) -> list[int]:
        """The phase since which entries must have changed."""
        return [step] if (step := work.get("newer_than_step")) is not None else []


def _conditions(plan: Contents, find: WorkFind) -> str:
    conditions: list[str] = [find.get("entries") or "every entry"]
    conditions += [f"named {find['name']}"] if find.get("name") else []
    if (exactly := find.get("size_bytes")) is not None:
        conditions.append(f"of exactly {format_bytes(exactly)}")
    if (at_least := find.get("at_least_bytes")) is not None:
        conditions.append(f"of at least {format_bytes(at_least)}")
    if (at_most := find.get("at_most_bytes")) is not None:
        conditions.append(f"of at most {format_bytes(at_most)}")
    if (step := find.get("newer_than_step")) is not None:
        conditions.append(f"changed since the phase {phase_name(plan, step)}")
    conditions += ["newer than a given time"] if find.get("newer_than_unix_ns") is not None else []
    return " ".join(conditions)
