"""What GPFS believes that a node can transfer."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, NotReadable, Rule
from ioassay.tuning.rules.gpfs.sources import MMCHCONFIG, NO_GPFS, TUNING
from ioassay.tuning.system import System
from ioassay.tuning.system.gpfs import gpfs_config
from ioassay.tuning.system.network import fastest_megabits

_DEFAULT = 2048
_MOST = 100_000


def _judge(system: System) -> Iterator[Judgement]:
    config = gpfs_config(system.snapshot)
    if config is None:
        yield NotApplicable(NO_GPFS)
        return
    now = config.number("maxMBpS") or _DEFAULT
    link = fastest_megabits(system.snapshot) // 8
    if not link:
        yield NotReadable("maxMBpS", f"{now} MB/s; no network link says its speed, which decides the value")
    elif now >= link:
        yield Fine(system.host, f"{now} MB/s")
    else:
        wanted = min(2 * link, _MOST)
        because = f"its fastest link carries {link} MB/s"
        command = f"mmchconfig maxMBpS={wanted} -i -N {system.host}"
        yield Change(system.host, f"{now} MB/s", f"{wanted} MB/s", because, command=command)


RULE = Rule(
    name="gpfs-throughput-estimate",
    title="Set maxMBpS of GPFS to twice the throughput that the node can reach",
    area="GPFS",
    reason="From maxMBpS GPFS computes how many blocks to prefetch and to write behind; below the node's throughput, "
    "sequential streams do not keep the network busy.",
    risk="It is no limit of the transfer rate. Too high a value prefetches blocks into the page pool that are evicted "
    "before they are read, and all clients together can flood the servers.",
    sources=(TUNING, MMCHCONFIG),
    judge=_judge,
    parameters=("maxMBpS",),
)
