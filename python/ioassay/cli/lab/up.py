"""`ioassay lab up NAME`."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import say

if TYPE_CHECKING:
    from ioassay.lab.namespaces import Nursery

_DISK_PLACE = Path("/var/tmp")


def up(
    *,
    lab: Annotated[str, typer.Argument(metavar="LAB", help="A built-in lab (see `ioassay lab list`) or a YAML file.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the lab, instead of the name in its YAML.")
    ] = None,
    hosts: Annotated[
        str | None, typer.Option(metavar="N", help="Number of client hosts, with ssh between them: client1, client2, …")
    ] = None,
    link: Annotated[
        str | None, typer.Option(metavar="RATE", help="Rate of each host's link in each direction, such as 1Gbit.")
    ] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Run Slurm on the client hosts.")] = False,
    disk: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory that holds the lab's disks.", show_default=True)
    ] = _DISK_PLACE,
    install: Annotated[bool, typer.Option("--install", help="Install missing packages.")] = False,
    foreground: Annotated[
        bool,
        typer.Option("--foreground", help="Stay in the foreground; Ctrl-C or the end of standard input ends the lab."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """Start a lab and return when it can be used.

    A lab runs in its own namespaces: when it ends, for whatever reason, nothing is left.
    """
    from ioassay.cli.lab.status import show  # noqa: PLC0415
    from ioassay.errors import CannotRun  # noqa: PLC0415
    from ioassay.lab.install import install as install_all  # noqa: PLC0415
    from ioassay.lab.install import refuse_incomplete  # noqa: PLC0415
    from ioassay.lab.library import LABS, changed, read  # noqa: PLC0415
    from ioassay.lab.running import find  # noqa: PLC0415
    from ioassay.lab.up import refuse_ordinary_users  # noqa: PLC0415
    from ioassay.lab.up import up as start  # noqa: PLC0415

    source = LABS.find(lab)
    options = {"name": name, "hosts": hosts, "link": link, "ssh": hosts and "yes", "slurm": "yes" if slurm else None}
    wanted = read(changed(source, {key: value for key, value in options.items() if value}))
    refuse_ordinary_users()
    if install:
        install_all(wanted.requirements())
    refuse_incomplete(f"The lab {wanted.name}", wanted.requirements(), f"ioassay lab up {lab} --install")
    began = time.monotonic()

    def begins(what: str) -> None:
        say(f"{wanted.name}: {what}")

    # A kill shall undo what was begun, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        nursery = start(wanted, source.text, disk, begins)
    except KeyboardInterrupt:
        raise CannotRun(f"Stopped by a signal; nothing is left of the lab {wanted.name}.") from None
    if not foreground:
        nursery.release()
    begins(f"up after {time.monotonic() - began:.1f} s")
    show(find(wanted.name), as_json)
    if foreground:
        _wait_for_end(nursery)
    return 0


def _wait_for_end(nursery: Nursery) -> None:
    say("Press Ctrl-C (or close standard input) to end the lab.")
    sys.stdout.flush()
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
    finally:
        nursery.end()
