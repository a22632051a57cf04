"""`ioassay lab status`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.errors import CannotRun
from ioassay.text.units import format_about_bytes, format_count, format_link_rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ioassay.lab.running import Running
    from ioassay.lab.status import Status


def status(
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this lab.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> int:
    """Show running labs: targets, hosts, processes, ports, mounts."""
    from ioassay.lab.running import find, running  # noqa: PLC0415

    if name is not None:
        show(find(name), as_json)
        return 0
    labs = [*running().values()]
    if as_json:
        print(json.dumps([_document(lab) for lab in labs], indent=2))
        return 0
    none = "No lab is up. Start one: ioassay lab up NAME (see ioassay lab list)"
    print("\n\n".join(_text(lab) for lab in labs) or none)
    return 0


def show(lab: Running, as_json: bool) -> None:
    """Prints what a lab consists of."""
    print(json.dumps(_document(lab), indent=2) if as_json else _text(lab))


def _document(lab: Running) -> dict[str, object]:
    lab_status = _look(lab)
    return lab_status.document() if lab_status else {"lab": {"name": lab.name}, "ready": False}


def _text(lab: Running) -> str:
    try:
        lab_status = _look(lab)
    except CannotRun as error:  # the others are worth a look all the same
        return f"{lab.name}: {error.message} {error.remedy}"
    return "\n".join(_lines(lab_status)) if lab_status else f"{lab.name}: being started"


def _look(lab: Running) -> Status | None:
    from ioassay.lab.status import status as look  # noqa: PLC0415

    written = lab.look()
    return look(lab, written) if written else None


def _lines(lab_status: Status) -> Iterator[str]:
    lab = lab_status.lab
    yield f"{lab.name}: {lab.title}"
    for target in lab.targets:
        reached = f"lab:{lab.name}" if len(lab.targets) == 1 else f"lab:{lab.name}/{target.storage}"
        yield _row("target", f"{reached}  {target.place} ({target.about}; storage API {target.api})")
    rate = f", links of {format_link_rate(lab.link_bits_per_s)}" if lab.link_bits_per_s else ""
    also = "".join([", ssh"] * lab.ssh + [", Slurm"] * lab.slurm)
    hosts = [f"{host.name} {host.address}{' (cut off)' if host.name in lab_status.cut else ''}" for host in lab.hosts]
    yield _row("hosts", ", ".join(hosts) + rate + also)
    programs = ", ".join(f"{count} {name}" for name, count in lab_status.processes.items())
    yield _row("processes", f"{programs or 'none'}; {format_about_bytes(lab_status.memory_bytes)} of memory")
    for host, ports in lab_status.ports.items():
        if ports:
            yield _row("listening", f"{host}: {', '.join(ports)}")
    for mount, where in _alike(lab_status.mounts).items():
        yield _row("mounted", f"{mount} on {', '.join(where)}")
    disks = format_count(len(lab.disks), "disk")
    took, most = format_about_bytes(lab_status.disks_bytes), format_about_bytes(lab.disk_bytes)
    yield _row("disks", f"{disks} in {lab.disk_place}, using {took} of at most {most}")
    if lab_status.users:
        yield _row("used by", ", ".join(lab_status.users))
    study = "quick" if all(target.kind == "directory" for target in lab.targets) else "objects"
    yield _row("measure", f"ioassay run {study} --target lab:{lab.name}")
    yield _row("end", f"ioassay lab down {lab.name}")


def _row(what: str, text: str) -> str:
    return f"  {what:<10} {text}"


def _alike(mounts: dict[str, list[str]]) -> dict[str, list[str]]:
    """The hosts that see each mount."""
    hosts: dict[str, list[str]] = {}
    for host, points in mounts.items():
        for point in points:
            hosts.setdefault(point, []).append(host)
    return hosts
