"""The log in NVRAM that takes synchronous writes."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Judgement, Rule
from ioassay.tuning.rules.onefs.cluster import ENDURANT_CACHE, RANDOM_IO, judge_setting
from ioassay.tuning.system import System

_SETTING = "efs.bam.ec.mode"


def _judge(system: System) -> Iterator[Judgement]:
    return judge_setting(system, _SETTING, "0", f"isi_sysctl_cluster {_SETTING}", f"isi_sysctl_cluster {_SETTING}=0")


RULE = Rule(
    name="onefs-endurant-cache",
    title="Turn the endurant cache of OneFS off for random writes",
    area="OneFS",
    reason="The endurant cache writes each stable write to mirrored logs before the coalescer takes it. Small random "
    "writes that the cluster acknowledges early anyway pay for the logs without gaining latency.",
    risk="The endurant cache is what makes synchronous writes both fast and safe: without it they wait for the disks, "
    "or, with asynchronous commits, are lost when a node fails. Sources disagree: its developers describe it as the "
    "faster way for small synchronous writes at random offsets. It affects the whole cluster.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=_judge,
    parameters=(_SETTING,),
)
