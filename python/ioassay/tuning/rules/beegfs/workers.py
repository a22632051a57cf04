"""How many requests a server works on at once."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, NotApplicable, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import META_FILE, NO_DAEMON, STORAGE_FILE
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, daemons

_STORAGE_DEFAULT = 12
_META_SHARED, _META_DEDICATED = 2, 4
"""Workers for each processor: what 0 stands for, and the least that is usual where nothing else runs."""


def _judge(system: System) -> Iterator[Judgement]:
    meta, storage = daemons(system, "meta"), daemons(system, "storage")
    if not meta and not storage:
        yield NotApplicable(NO_DAEMON)
        return
    per_processor = _META_SHARED if storage else _META_DEDICATED
    yield from each(meta, lambda one: _meta(one, system.processors, per_processor))
    yield from each(storage, _storage)


def _meta(one: Service, processors: int, per_processor: int) -> Iterator[Judgement]:
    now = one.number("tuneNumWorkers")
    if now is None or not processors:
        yield missing(f"tuneNumWorkers of {one.name}")
        return
    workers = now or max(_META_SHARED * processors, 4)
    text = f"0, which means {workers} workers" if not now else f"{now} workers"
    wanted = per_processor * processors
    if workers < wanted:
        because = f"the node has {processors} processors" + ("" if per_processor == 2 else " and serves metadata alone")
        command = one.change("tuneNumWorkers", str(wanted))
        yield Change(one.name, text, f"{wanted} workers", because, command=command)
    else:
        yield Fine(one.name, text)


def _storage(one: Service) -> Iterator[Judgement]:
    now = one.number("tuneNumWorkers")
    if now is None:
        yield missing(f"tuneNumWorkers of {one.name}")
        return
    is_each = one.flag("tuneUsePerTargetWorkers") is not False
    targets = len(one.directories)
    text = f"{now} workers" + (" for each target" if is_each and targets > 1 else "")
    if now < _STORAGE_DEFAULT:
        because = "each worker has one request under way, so the disks see no more at once"
        command = one.change("tuneNumWorkers", str(_STORAGE_DEFAULT))
        yield Change(one.name, text, f"{_STORAGE_DEFAULT} workers", because, command=command)
    elif not is_each and targets > 1:
        because = f"a slow target can take all workers of {targets}"
        command = one.change("tuneUsePerTargetWorkers", "true")
        yield Change(one.name, f"{now} workers for all targets", "workers for each target", because, command=command)
    else:
        yield Fine(one.name, text)


RULE = Rule(
    name="beegfs-workers",
    title="Give BeeGFS servers enough workers",
    area="BeeGFS",
    reason="A worker serves one request at a time. Dedicated metadata servers usually have four to eight workers a "
    "processor; storage servers have 12 for each target by default.",
    risk="Each worker has two buffers of tuneWorkerBufSize. More requests at once make hard disks seek more: with the "
    "load of the site, measure before going far beyond the default.",
    sources=(META_FILE, STORAGE_FILE),
    judge=_judge,
    parameters=("tuneNumWorkers", "tuneUsePerTargetWorkers"),
)
