"""How many connections a client has to each server."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Change, Fine, Judgement, Rule, each, missing
from ioassay.tuning.rules.beegfs.sources import CLIENT_FILE, CLIENT_TUNING, NO_CLIENT
from ioassay.tuning.system import System
from ioassay.tuning.system.beegfs import Service, clients

_DEFAULT = 12


def _judge(system: System) -> Iterator[Judgement]:
    return each(clients(system), lambda client: _client(client, system.processors), otherwise=NO_CLIENT)


def _client(client: Service, processors: int) -> Iterator[Judgement]:
    now = client.number("connMaxInternodeNum")
    least, most = min(_DEFAULT, processors or _DEFAULT), max(processors, _DEFAULT)
    if now is None:
        yield missing(f"connMaxInternodeNum of {client.name}")
        return
    wanted, because = now, ""
    if now < least:
        wanted, because = least, "no more requests than that are under way to a server"
    elif now > most:
        wanted = most
        because = f"the node has {processors} processors, and each connection takes buffers on every server"
    if because:
        command = client.change("connMaxInternodeNum", str(wanted))
        yield Change(client.name, f"{now} connections", f"{wanted} connections", because, command=command)
    else:
        yield Fine(client.name, f"{now} connections to each server")


RULE = Rule(
    name="beegfs-connections",
    title="Give a BeeGFS client 12 connections to a server, and at most one a processor",
    area="BeeGFS",
    reason="Each request to a server needs a connection of its own while it is under way; more of them than "
    "processors gain nothing on a compute node, says the guide.",
    risk="A server's memory: connRDMABufSize × connRDMABufNum × 2 for each connection of each client. On login nodes "
    "more connections than processors can help many users at once.",
    sources=(CLIENT_TUNING, CLIENT_FILE),
    judge=_judge,
    parameters=("connMaxInternodeNum",),
)
