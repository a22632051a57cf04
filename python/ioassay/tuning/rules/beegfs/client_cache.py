"""How a client caches files."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import CACHING, CLIENT_FILE, NO_CLIENT
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, clients, is_server


def _judge(system: System) -> Iterator[Judgement]:
    return each(clients(system), lambda client: _client(client, system), otherwise=NO_CLIENT)


def _client(client: Service, system: System) -> Iterator[Judgement]:
    now = client.settings.get("tuneFileCacheType")
    if not now:
        yield missing(f"tuneFileCacheType of {client.name}")
        return
    because = ""
    if now == "none":
        because = "every read and write of a few bytes is a message to a server"
    elif now == "paged":
        because = "paged is experimental and deprecated"
    elif now == "native" and is_server(system):
        because = "this node also runs a BeeGFS server, where only buffered is valid"
    if because:
        yield Change(client.name, now, "buffered", because, command=client.change("tuneFileCacheType", "buffered"))
    else:
        suits = "data that fits into memory and is read again" if now == "native" else "streaming"
        yield Fine(client.name, f"{now}, which suits {suits}")


RULE = Rule(
    name="beegfs-client-cache",
    title="Cache files on BeeGFS clients: buffered for streaming, native for data in memory",
    area="BeeGFS",
    reason="buffered joins small requests in a few buffers of 512 KiB and streams faster; native uses the page cache, "
    "up to the client's memory.",
    risk="Neither is coherent between clients: caches are flushed when a file is closed. native depends on the "
    "kernel's version, say the makers. Read benchmarks of native measure the client's memory unless it is dropped.",
    sources=(CACHING, CLIENT_FILE),
    judge=_judge,
    parameters=("tuneFileCacheType",),
)
