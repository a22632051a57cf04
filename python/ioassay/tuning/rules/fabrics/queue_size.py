"""How many commands a queue of a connection holds."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.fabrics.sources import NO_FABRICS, NVME_CONNECT, NVME_FABRICS
from ioassay.tuning.system import System
from ioassay.tuning.system.fabrics import Controller, controllers

_DEFAULT = 128


def _judge(system: System) -> Iterator[Judgement]:
    return each(controllers(system), _controller, otherwise=NO_FABRICS)


def _controller(one: Controller) -> Iterator[Judgement]:
    last, subject = one.number("sqsize"), f"{one.name} ({one.transport})"
    if last is None:
        yield missing(f"/sys/class/nvme/{one.name}/sqsize")
        return
    # The protocol counts from 0.
    now = last + 1
    if now < _DEFAULT:
        because = "the connection was made with a smaller one, or the target accepts no more"
        command = f"nvme disconnect -d {one.name}, then: nvme connect --queue-size={_DEFAULT} …"
        yield Change(subject, f"{now} commands", f"{_DEFAULT} commands", because, command=command)
    else:
        yield Fine(subject, f"{now} commands")


RULE = Rule(
    name="nvme-queue-size",
    title="Let a queue of NVMe over fabrics hold 128 commands",
    area="NVMe over fabrics",
    reason="On a network a command takes much longer than on PCI Express, so more of them have to be under way for "
    "the same rate; 128 a queue is Linux's default.",
    risk="The target has the last word. More commands under way raise latency where the target is the limit.",
    sources=(NVME_FABRICS, NVME_CONNECT),
    judge=_judge,
    parameters=("sqsize", "queue-size"),
)
