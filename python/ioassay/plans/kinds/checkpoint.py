"""Checkpoints of a model in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, which, with_additions
from ioassay.text import format
from ioassay.text.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import Checkpoint, CheckpointOperationRestore, CheckpointOperationSave, WorkCheckpoint


class Checkpoints(Kind["WorkCheckpoint"]):
    """Saves or restores the state of a model."""

    def words(self, plan: Contents, work: WorkCheckpoint, name: str | None) -> str:
        """How many generations, and how each is written or read."""
        operation = work["operation"]
        count = format_count(operation["count"], "generation")
        of = f"{count} of the checkpoint{which(plan, work['checkpoint'])}"
        transfer = f"in transfers of {format_bytes(work['transfer_bytes'])}"
        if operation["kind"] == "save":
            return f"save {of}{called(name, 'save-checkpoint')}{with_additions([transfer, *_save(operation)])}"
        return f"restore {of}{called(name, 'restore-checkpoint')}{with_additions([transfer, *_restore(operation)])}"

    def description(self, plan: Contents, work: WorkCheckpoint) -> Description:
        """Its checkpoint, whose files each rank writes and reads from beginning to end."""
        operation = work["operation"]
        fsync = None
        if operation["kind"] == "save":
            fsync = "at-close" if operation["fsync"] else "never"
        return {
            "file_set": work["checkpoint"],
            "layout": "",
            "order": "sequential",
            "transfer_bytes": work["transfer_bytes"],
            "payload": "unique",
            "fsync": fsync,
        }

    def checkpoints(self, work: WorkCheckpoint) -> list[str]:
        """The one that it works on."""
        return [work["checkpoint"]]


def checkpoint(of: Checkpoint) -> str:
    """Which model it is of, and how its state is spread over ranks."""
    model = of["model"]
    if "parameters" in model:
        size = f"a model of {format_count(model['parameters'], 'parameter')}"
    else:
        shape = model["transformer"]
        size = f"a transformer of {format_count(shape['layers'], 'layer')} with a hidden size of {shape['hidden']}"
    each = (
        f"{format_count(of['model_bytes'], 'byte')} of each parameter and "
        f"{format_count(of['optimizer_bytes'], 'byte')} of the optimizer's state"
    )
    parallel = f"tensor {of['tensor']} × pipeline {of['pipeline']}, ZeRO {of['zero']}"
    return f"{size}, {each}, {parallel}, {format_count(of['keep'], 'generation')} kept"


def _save(save: CheckpointOperationSave) -> list[str]:
    every, background = save["every_ns"], save.get("background")
    beside = ""
    if background is not None:
        beside = f"written beside computation after a copy at {format.rate(background['copy_bytes_per_s'])}"
    return [
        beside,
        f"each after {format_duration(every)} of computation" if every else "",
        "each file synced before it is closed" if save["fsync"] else "",
        "each file renamed when it is complete" if save["rename"] else "",
    ]


def _restore(restore: CheckpointOperationRestore) -> list[str]:
    return [
        f"each rank the files of the rank {restore['shift']} further on" if restore["shift"] else "",
        "all of it verified" if restore["verify"] else "",
    ]
