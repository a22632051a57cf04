"""How many commands a SAS adapter holds."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotReadable, Rule
from ioassay.tuning.rules.adapter import sas
from ioassay.tuning.rules.sources import LARGE_IO_TEXT, LINUX_LARGE_IO, MPT3SAS
from ioassay.tuning.system import System
from ioassay.tuning.system.block import Adapter

_WANTED = 600
_OF_THE_DRIVER = 60
"""The driver keeps up to a tenth of its commands for itself, so that fewer remain for disks."""


def _judge(system: System) -> Iterator[Judgement]:
    return sas.each_adapter(system, lambda adapter: _adapter(adapter, system))


def _adapter(adapter: Adapter, system: System) -> Iterator[Judgement]:
    now, module = adapter.can_queue, sas.module(system, adapter)
    if now is None:
        yield NotReadable(f"can_queue of {adapter.name}", "its driver does not say")
        return
    given = system.snapshot.number(f"sys/module/{module}/parameters/max_queue_depth")
    if now >= _WANTED - _OF_THE_DRIVER:
        yield Fine(adapter.name, f"{now} commands")
    elif given is not None and given >= _WANTED:
        yield Fine(adapter.name, f"{now} commands, the most that its firmware takes")
    else:
        yield Change(
            adapter.name,
            f"{now} commands",
            f"{_WANTED} commands",
            "" if given is None or given < 0 else f"the option max_queue_depth={given} limits it",
            (Assignment(f"module:{module}/max_queue_depth", str(_WANTED)),),
            sas.reload_command("max_queue_depth", _WANTED, module),
        )


RULE = Rule(
    name="max-queue-depth",
    title="Let a SAS adapter hold at least 600 commands",
    area="adapter",
    reason="All arrays behind an adapter share its commands. With six LUNs of ten disks each, fewer than 600 leave "
    "disks idle although requests wait.",
    risk="The option is an upper limit: on adapters whose firmware takes thousands, as most of 12 Gbit/s do, setting "
    "600 would lower it, so it is recommended only below that. It takes effect when the module is loaded.",
    sources=(LINUX_LARGE_IO, LARGE_IO_TEXT, MPT3SAS),
    judge=_judge,
    parameters=("max_queue_depth", "can_queue"),
)
