"""How a path to a subsystem is chosen."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, NotApplicable, Rule, each, missing
from ioassay.tuning.rules.fabrics.sources import NO_FABRICS, NVME_MULTIPATH
from ioassay.tuning.system import System
from ioassay.tuning.system.fabrics import Subsystem, subsystems


def _judge(system: System) -> Iterator[Judgement]:
    return each(subsystems(system), _subsystem, otherwise=NO_FABRICS)


def _subsystem(one: Subsystem) -> Iterator[Judgement]:
    paths = len(one.controllers)
    if paths < 2:
        yield NotApplicable(f"{one.name} has one path")
    elif not one.policy:
        yield missing(f"/sys/class/nvme-subsystem/{one.name}/iopolicy")
    elif one.policy == "numa":
        because = f"each NUMA node uses one of {paths} paths, so that a process has the bandwidth of one"
        assignment = Assignment(f"sys:class/nvme-subsystem/{one.name}/iopolicy", "round-robin")
        yield Change(one.name, "numa", "round-robin", because, (assignment,))
    else:
        yield Fine(one.name, f"{one.policy} over {paths} paths")


RULE = Rule(
    name="nvme-path-policy",
    title="Use all paths of NVMe over fabrics",
    area="NVMe over fabrics",
    reason="The default policy, numa, sends each request over the path nearest to its processor; round-robin uses all "
    "optimised paths in turn, queue-depth the one with the fewest requests under way, of which both raise bandwidth.",
    risk="Paths on another NUMA node cost latency. round-robin suits paths of equal speed, queue-depth small requests "
    "at a high load. The value is lost at reboot: keep it as nvme_core.iopolicy on the kernel's command line.",
    sources=(NVME_MULTIPATH,),
    judge=_judge,
    parameters=("iopolicy",),
)
