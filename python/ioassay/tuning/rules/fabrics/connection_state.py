"""Whether all connections carry requests."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.fabrics.sources import NO_FABRICS, NVME_FABRICS, NVME_MULTIPATH
from ioassay.tuning.system import System
from ioassay.tuning.system.fabrics import Controller, controllers


def _judge(system: System) -> Iterator[Judgement]:
    return each(controllers(system), _controller, otherwise=NO_FABRICS)


def _controller(one: Controller) -> Iterator[Judgement]:
    state, subject = one.text("state"), f"{one.name} ({one.transport})"
    if not state:
        yield missing(f"/sys/class/nvme/{one.name}/state")
    elif state == "live":
        yield Fine(subject, state)
    else:
        because = "its share of the requests goes over other paths, or waits"
        yield Change(subject, state, "live", because, command="nvme list-subsys; look at the link and at dmesg")


RULE = Rule(
    name="nvme-connection-state",
    title="Measure NVMe over fabrics with all its connections",
    area="NVMe over fabrics",
    reason="A controller that reconnects carries nothing; requests wait, or the other paths carry them, until it is "
    "live or given up (ctrl_loss_tmo).",
    risk="None: repair the path.",
    sources=(NVME_FABRICS, NVME_MULTIPATH),
    judge=_judge,
    parameters=("state",),
)
