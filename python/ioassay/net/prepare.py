"""What was asked becomes a new directory, once every host has answered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ioassay.net.facts import ask
from ioassay.net.measure import Ends
from ioassay.results.document import now
from ioassay.results.net_directory import NetDirectory
from ioassay.results.net_document import NetDocument, NetSettings
from ioassay.results.new_directory import refuse_occupied
from ioassay.version import __version__


def prepare(ends: Ends, settings: NetSettings, out: Path | None, command: Sequence[str]) -> NetDirectory:
    """The directory to measure into: `out`, or a new one below `runs/`.

    Raises `UsageError` for a directory that is taken, `CannotRun` for a host that does not answer or has no iperf3.
    """
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-net"
    path = Path(os.path.abspath(out or Path("runs") / name))
    refuse_occupied(path)
    # An interface is looked for on the way to the first server; the servers are hosts of one network.
    answered = ask([*ends.clients, *ends.servers], towards=ends.servers[0].address or "")
    return NetDirectory(
        path,
        NetDocument(
            net=name,
            command=list(command),
            ioassay_version=__version__,
            started=now(),
            lab=next((host.lab for host in ends.servers if host.lab), None),
            clients=answered[: len(ends.clients)],
            servers=answered[len(ends.clients) :],
            settings=settings,
        ),
    )
