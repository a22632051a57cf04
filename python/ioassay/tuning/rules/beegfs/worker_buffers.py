"""Whether a storage server's buffers hold what it reads and writes at once."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.text.units import format_bytes
from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import NO_DAEMON, STORAGE_FILE
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, daemons

_BESIDE = 1 << 20
_DEFAULTS = {"tuneWorkerBufSize": 4 << 20, "tuneFileReadSize": 128 << 10, "tuneFileWriteSize": 128 << 10}


def _judge(system: System) -> Iterator[Judgement]:
    return each(daemons(system, "storage"), _storage, otherwise=NO_DAEMON)


def _storage(one: Service) -> Iterator[Judgement]:
    sizes = {name: one.number(name) if name in one.settings else size for name, size in _DEFAULTS.items()}
    buffer, read, write = sizes.values()
    if buffer is None or read is None or write is None:
        yield missing(f"tuneWorkerBufSize of {one.name}")
        return
    operation = max(read, write)
    wanted = operation + _BESIDE
    if buffer < wanted:
        because = f"it should be 1 MiB above one operation, which is of {format_bytes(operation)}"
        command = one.change("tuneWorkerBufSize", str(wanted))
        yield Change(one.name, format_bytes(buffer), format_bytes(wanted), because, command=command)
    else:
        yield Fine(one.name, f"{format_bytes(buffer)} for operations of {format_bytes(operation)}")


RULE = Rule(
    name="beegfs-worker-buffers",
    title="Make worker buffers of BeeGFS 1 MiB larger than one operation",
    area="BeeGFS",
    reason="A worker moves data between network and disk through this buffer; a smaller one cuts the operations on "
    "the local file system.",
    risk="Memory: twice this size for each worker.",
    sources=(STORAGE_FILE,),
    judge=_judge,
    parameters=("tuneWorkerBufSize", "tuneFileReadSize", "tuneFileWriteSize"),
)
