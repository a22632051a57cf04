"""How many file operations GPFS does at once."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, Source
from ioassay.tuning.rules.gpfs.sources import MMCHCONFIG, NO_GPFS, PROTOCOL_NODES
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config

_DEFAULT = 48
_WANTED = 512


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    now = config.number("workerThreads") or _DEFAULT
    if now >= _WANTED:
        yield Fine(system.host, f"{now} threads")
    else:
        command = f"mmchconfig workerThreads={_WANTED} -N {system.host}"
        yield Change(system.host, f"{now} threads", f"{_WANTED} threads", command=command)


RULE = Rule(
    name="gpfs-worker-threads",
    title="Raise workerThreads of GPFS for many concurrent operations",
    area="GPFS",
    reason="workerThreads rules a group of limits of concurrent file and metadata operations, which GPFS derives from "
    "it; the default of 48 suits a node with few processes.",
    risk="It takes effect when GPFS restarts on the node. More operations at once raise their latency when disks are "
    "already busy: the documentation advises to throttle back when disks queue. IBM names 1024 for protocol nodes of "
    "ESS. Parameters that it derives and somebody has set explicitly stay as they are.",
    sources=(
        MMCHCONFIG,
        PROTOCOL_NODES,
        Source(
            "IBM Storage Scale, GPFS helper threads",
            "https://www.ibm.com/docs/en/storage-scale/5.2.3?topic=considerations-gpfs-helper-threads",
        ),
    ),
    judge=_judge,
    parameters=("workerThreads", "worker1Threads"),
)
