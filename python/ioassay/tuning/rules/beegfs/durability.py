"""Whether fsync() reaches the disks, and lost caches are noticed."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import CLIENT_FILE, NO_CLIENT
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, clients

_SETTINGS = {
    "tuneRemoteFSync": "fsync() ends when data is in a server's memory, where a power failure loses it",
    "sysSessionChecksEnabled": "a server that crashed loses cached data, and no client is told",
}


def _judge(system: System) -> Iterator[Judgement]:
    return each(clients(system), _client, otherwise=NO_CLIENT)


def _client(client: Service) -> Iterator[Judgement]:
    for name, because in _SETTINGS.items():
        # Files need not list it; both are on by default.
        now = client.flag(name) if name in client.settings else True
        if now is None:
            yield missing(f"{name} of {client.name}")
        elif now:
            yield Fine(f"{client.name} {name}", "true")
        else:
            yield Change(f"{client.name} {name}", "false", "true", because, command=client.change(name, "true"))


RULE = Rule(
    name="beegfs-durability",
    title="Let fsync() of BeeGFS reach the disks, and sessions be checked",
    area="BeeGFS",
    reason="Without either, data that applications believe stored can be lost in silence, and rates include data that "
    "no disk has.",
    risk="fsync() becomes as slow as the servers' disks. The makers allow unchecked sessions only where stores are "
    "mounted synchronously or caches have batteries.",
    sources=(CLIENT_FILE,),
    judge=_judge,
    parameters=tuple(_SETTINGS),
    weight="large",
    weight_reason="data is lost in a crash",
)
