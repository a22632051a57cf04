"""`ioassay doctor`: checks a site before a run, and says how to fix each problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ioassay.cli.launcher_options import Hosts, Launcher, LauncherOptions, host_names, option_words
from ioassay.cli.output import print_wrapped, say
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.doctor.examine import Site
    from ioassay.doctor.verdict import Line, Verdict
    from ioassay.execution.interruption import Interruption

_INDENT = 31
"""The column in which results begin."""

_A_CHECK_FAILED = 1


def doctor(
    *,
    target: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR|lab:NAME", help="The target to check, as for `ioassay run`. Repeatable."),
    ] = None,
    launcher: Launcher = None,
    hosts: Hosts = None,
    clients: Annotated[
        str | None,
        typer.Option(
            metavar="lab[:NAME]",
            help="The hosts to measure from.  [default: the lab's hosts, otherwise this node]",
        ),
    ] = None,
    launcher_options: LauncherOptions = None,
    ranks_per_node: Annotated[int, typer.Option(metavar="N", min=1, help="Ranks to start on each node.")] = 1,
    out: Annotated[Path, typer.Option(metavar="DIR", parser=Path, help="Directory for run directories.")] = Path(
        "runs"
    ),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on standard output, with everything that was found.")
    ] = False,
) -> int:
    """Check launcher, MPI, nodes, clocks, limits and target.

    It starts the engine as a run does. In the target it creates a directory of its own, which all nodes must see, and
    removes it. Exit code 0: nothing failed, 1: a check failed.
    """
    from ioassay.doctor.examine import Site  # noqa: PLC0415
    from ioassay.execution.interruption import Interruption  # noqa: PLC0415
    from ioassay.execution.places import clients_of, places  # noqa: PLC0415
    from ioassay.launchers import DEFAULT, find_launcher  # noqa: PLC0415

    launcher = launcher or DEFAULT
    if not find_launcher(launcher).needs_mpi and hosts:
        raise UsageError("--hosts needs mpirun or srun.", "Add --launcher mpirun or --launcher srun.")

    def site(**of_place: Any) -> Site:
        return Site(
            launcher=launcher,
            hosts=host_names(hosts),
            launcher_options=option_words(launcher_options),
            ranks_per_node=ranks_per_node,
            out=out,
            **of_place,
        )

    sites = [
        site(target=place.target, storage=place.storage, clients=place.clients)
        for place in places(target or [], None, clients, look=False)
    ] or [site(target=None, storage=None, clients=clients_of(clients))]
    examined = []
    with Interruption() as interruption:
        for number, current in enumerate(sites):
            if len(sites) > 1 and not as_json:
                print(
                    f"{chr(10) if number else ''}{current.storage or (current.target.place if current.target else '')}"
                )
            examined.append(_examine(current, interruption, as_json))
    lines = [line for _, lines in examined for line in lines]
    if as_json:
        _print_json([document for document, _ in examined])
    else:
        _print_counts(lines)
    return _A_CHECK_FAILED if any(line.verdict.status == "failed" for line in lines) else 0


def _examine(site: Site, interruption: Interruption, as_json: bool) -> tuple[dict[str, Any], list[Line]]:
    """Examines a site, and prints line after line unless a document is wanted."""
    from dataclasses import asdict  # noqa: PLC0415

    from ioassay.doctor.examine import examine  # noqa: PLC0415
    from ioassay.doctor.facts import Facts  # noqa: PLC0415

    facts = Facts(site.target.place if site.target else None, site.target.kind if site.target else None)
    lines: list[Line] = []
    for line in examine(site, facts, interruption, say):
        lines.append(line)
        if not as_json and line.verdict.status != "not checked":
            _print(line.verdict, line.check)
    if not as_json:
        _print_unchecked(lines)
    checks = [{"check": line.check, **asdict(line.verdict)} for line in lines]
    return {"target": facts.target, "checks": checks, "facts": asdict(facts)}, lines


def _print(verdict: Verdict, check: str) -> None:
    print_wrapped(f"{verdict.status:<12} {check:<17} {verdict.seen}", _INDENT)
    _print_remedy(verdict)


def _print_unchecked(lines: list[Line]) -> None:
    """Prints checks that could not be made for the same reason together."""
    unchecked = [line for line in lines if line.verdict.status == "not checked"]
    for verdict in dict.fromkeys(line.verdict for line in unchecked):
        checks = ", ".join(line.check for line in unchecked if line.verdict == verdict)
        print_wrapped(f"{verdict.status:<12} {checks}", _INDENT)
        print_wrapped(f"{'':<30} {verdict.seen}", _INDENT)
        _print_remedy(verdict)


def _print_remedy(verdict: Verdict) -> None:
    if verdict.remedy:
        print_wrapped(f"{'→':>30} {verdict.remedy}", _INDENT)


def _print_counts(lines: list[Line]) -> None:
    from collections import Counter  # noqa: PLC0415

    counts = Counter(line.verdict.status for line in lines)
    summary = [f"{counts[status]} {status}" for status in ("failed", "warning", "not checked", "ok") if counts[status]]
    print(f"\n{', '.join(summary)}", flush=True)


def _print_json(examined: list[dict[str, Any]]) -> None:
    import json  # noqa: PLC0415

    from ioassay.version import __version__  # noqa: PLC0415

    document = {"version": 1, "ioassay_version": __version__, "command": ["ioassay", *sys.argv[1:]], "sites": examined}
    print(json.dumps(document, indent=2))
