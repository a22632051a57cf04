"""`ioassay net`: what the network between clients and servers carries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ioassay.cli.output import say, show
from ioassay.errors import UsageError
from ioassay.remote import SSH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ioassay.remote.hosts import Host
    from ioassay.store.net_document import NetDocument

_MOST_PORT = 65535

_Word = TypeVar("_Word", bound=str)


def net(
    *,
    clients: Annotated[
        list[str],
        typer.Option(
            metavar="HOSTS",
            help="The client hosts, separated by commas: names, lab:NAME, lab:NAME/HOST, or @FILE with one host per "
            "line. Repeatable.",
            show_default=False,
        ),
    ],
    servers: Annotated[
        list[str],
        typer.Option(
            metavar="HOSTS",
            help="The storage servers, as --clients; NAME=ADDRESS selects the address of a server that is measured.",
            show_default=False,
        ),
    ],
    via: Annotated[str, typer.Option(metavar="COMMAND", help="The remote shell: words before the host's name.")] = SSH,
    patterns: Annotated[
        str,
        typer.Option(metavar="LIST", help="Of 1-1, 1-m, n-1 and n-m: clients and servers measured at the same time."),
    ] = "1-1,1-m,n-1,n-m",
    directions: Annotated[
        str, typer.Option(metavar="LIST", help="Of to-servers (the direction of writes) and to-clients (of reads).")
    ] = "to-servers,to-clients",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Duration of each measurement.")] = "30s",
    window: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Socket buffers, as iperf's -w.  [default: the kernel's choice]")
    ] = None,
    length: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Bytes of a write or read, as iperf's -l.  [default: iperf3's]")
    ] = None,
    streams: Annotated[int, typer.Option(metavar="N", min=1, max=128, help="Parallel streams of each client.")] = 1,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=_MOST_PORT, help="The first port that servers listen on.")
    ] = 5201,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The directory to create.  [default: runs/TIME-net]")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Install iperf3 on this machine, for the hosts of labs.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as one JSON document on standard output.")
    ] = False,
) -> int:
    """Measure the network between clients and servers with iperf3.

    The results are ceilings for runs. Servers listen only on the measured address, each for one test, and stop
    when the command ends.
    """
    from ioassay.net.measure import Ends, measure, refuse_same  # noqa: PLC0415
    from ioassay.net.patterns import DIRECTIONS, PATTERNS, measured_paths  # noqa: PLC0415
    from ioassay.net.prepare import prepare  # noqa: PLC0415
    from ioassay.remote.hosts import hosts  # noqa: PLC0415
    from ioassay.store.net_document import NetSettings  # noqa: PLC0415
    from ioassay.text.units import parse_bytes, parse_duration_ns  # noqa: PLC0415

    settings = NetSettings(
        duration_s=parse_duration_ns(duration) / 1e9,
        window_bytes=parse_bytes(window) if window else None,
        length_bytes=parse_bytes(length) if length else None,
        streams=streams,
    )
    if settings.duration_s < 1:
        raise UsageError(f"--duration {duration} is too short for iperf3.", "Use 1s or longer.")
    chosen, towards = (
        _parse_choices(patterns, PATTERNS, "--patterns"),
        _parse_choices(directions, DIRECTIONS, "--directions"),
    )
    ends = Ends(hosts(clients, "client", via), hosts(servers, "server", via), port)
    refuse_same(ends.clients, ends.servers)
    wanted = measured_paths(chosen, towards, len(ends.clients), len(ends.servers))
    most = max(len(path.pairs) for path in wanted)
    if port + most - 1 > _MOST_PORT:
        raise UsageError(f"{most} servers need ports up to {port + most - 1}.", "Use a lower --port.")
    _require_iperf3(ends.clients, ends.servers, install=install)
    directory = prepare(ends, settings, out, ["ioassay", *sys.argv[1:]])

    measure(directory, ends, wanted, say)
    if as_json:
        print(directory.document.model_dump_json(indent=2))
    else:
        _show(directory.path, directory.document)
    return 0


def _parse_choices(typed: str, known: Sequence[_Word], option: str) -> list[_Word]:
    """The words of a list, each one of `known`. Raises `UsageError`."""
    words = [word.strip() for word in typed.split(",") if word.strip()]
    if unknown := [word for word in words if word not in known]:
        raise UsageError(f"{option} {unknown[0]} is not supported.", f"Use one or more of {', '.join(known)}.")
    if not words:
        raise UsageError(f"{option} is empty.", f"Use one or more of {', '.join(known)}.")
    return [word for word in known if word in words]


def _require_iperf3(clients: Sequence[Host], servers: Sequence[Host], *, install: bool) -> None:
    """iperf3 for the hosts of labs, which have the commands of this machine. Raises `CannotRun` where it is lacking."""
    from ioassay.lab.install import install as install_all  # noqa: PLC0415
    from ioassay.lab.install import refuse_incomplete  # noqa: PLC0415
    from ioassay.lab.requirements import Command  # noqa: PLC0415

    needed = [Command("iperf3", "iperf3")] if any(host.lab for host in (*clients, *servers)) else []
    if install:
        install_all(needed)
    refuse_incomplete("Measuring the network of a lab", needed, "the same command with --install")


def _show(path: Path, document: NetDocument) -> None:
    from ioassay.reports import ceilings  # noqa: PLC0415
    from ioassay.reports.document.terminal import rendered  # noqa: PLC0415

    show("", rendered(ceilings.summary(document)))
    print(f"\nCeilings: {path}\nUse them in runs: ioassay run … --ceilings {path}", flush=True)
