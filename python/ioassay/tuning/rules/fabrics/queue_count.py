"""How many queues a connection has."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotJudged, Rule, each, missing
from ioassay.tuning.rules.fabrics.sources import NO_FABRICS, NVME_CONNECT, NVME_FABRICS
from ioassay.tuning.system import System
from ioassay.tuning.system.fabrics import Controller, controllers


def _judge(system: System) -> Iterator[Judgement]:
    return each(controllers(system), lambda one: _controller(one, system.processors), otherwise=NO_FABRICS)


def _controller(one: Controller, processors: int) -> Iterator[Judgement]:
    count, subject = one.number("queue_count"), f"{one.name} ({one.transport})"
    if count is None:
        yield missing(f"/sys/class/nvme/{one.name}/queue_count")
        return
    # One of them is for administration.
    now, each_has = count - 1, "its own TCP connection" if one.transport == "tcp" else "its own queue pair"
    if now >= max(processors, 1):
        yield Fine(subject, f"{now} queues for {processors} processors")
    elif now <= 1 < processors:
        because = f"{processors} processors share one queue, which has {each_has}"
        command = f"nvme disconnect -d {one.name}, then: nvme connect --nr-io-queues={processors} …"
        yield Change(subject, f"{max(now, 0)} queues", f"{processors} queues", because, command=command)
    else:
        why = (
            "depends on the target, which may grant no more; without --nr-io-queues the host asks for one a processor, "
            f"{processors}"
        )
        yield NotJudged(subject, f"{now} queues for {processors} processors", why)


RULE = Rule(
    name="nvme-queue-count",
    title="Give each processor a queue of its own to an NVMe target",
    area="NVMe over fabrics",
    reason="Each queue has its own connection and thread; the default is one for each processor, so that none waits "
    "for another.",
    risk="A target has a limit for all hosts together: many hosts with many queues exhaust it, and those that come "
    "last get fewer. The volume has to be disconnected.",
    sources=(NVME_FABRICS, NVME_CONNECT),
    judge=_judge,
    parameters=("queue_count", "nr-io-queues"),
)
