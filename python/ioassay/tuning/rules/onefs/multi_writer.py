"""Whether several threads write a file at the same time."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Judgement, Rule
from ioassay.tuning.rules.onefs.cluster import ENDURANT_CACHE, RANDOM_IO, judge_setting
from ioassay.tuning.system import System

_SETTING = "efs.bam.coalescer.multiwriter"


def _judge(system: System) -> Iterator[Judgement]:
    return judge_setting(system, _SETTING, "0", f"isi_sysctl_cluster {_SETTING}", f"isi_sysctl_cluster {_SETTING}=0")


RULE = Rule(
    name="onefs-multi-writer",
    title="Turn multi-writer of OneFS off where each file has one writer",
    area="OneFS",
    reason="Multi-writer takes finer locks so that several clients can write one file. Where each client writes its "
    "own file, its bookkeeping gains nothing.",
    risk="Writers of one shared file wait for each other: leave it on for N-to-1. It affects the whole cluster.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=_judge,
    parameters=(_SETTING,),
)
