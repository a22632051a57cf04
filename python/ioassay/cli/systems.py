"""`ioassay systems`: published systems, their figures, whether their claims follow, and a run as a system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ioassay.cli.output import say, show, write
from ioassay.errors import UsageError
from ioassay.text.control_characters import encoded


def systems(
    *,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE", help="Only this system: a built-in one, or a YAML file of your own."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Recompute published claims; exit with 1 if one does not follow.")
    ] = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print the YAML of the system, to copy.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Write the YAML of a system from a run: measured, or imported from other tools' results.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where --from writes. Default: standard output."),
    ] = None,
) -> int:
    """List published storage systems, show one, or check its claims.

    A system of your own is a YAML file, written by hand or from a run: ioassay systems --from RUN -o mine.yaml
    """
    if run is not None:
        if name is not None or check or as_yaml or as_json:
            raise UsageError(
                "--from cannot be combined with NAME, --check, --yaml or --json.", "Write `ioassay systems --from RUN`."
            )
        _write_from(run, output)
        return 0
    if output is not None:
        raise UsageError("-o needs --from.", "Write `ioassay systems --from RUN -o FILE`.")
    from ioassay.systems import claims, document  # noqa: PLC0415
    from ioassay.systems.library import LIBRARY, builtin_systems, find_system  # noqa: PLC0415

    known = builtin_systems()
    chosen = known.values() if name is None else [find_system(name, known)]
    if as_yaml:
        if name is None or check or as_json:
            raise UsageError("--yaml needs one system and no other options.", "Write `ioassay systems NAME --yaml`.")
        typer.echo(LIBRARY.find(name).text.rstrip("\n"))
        return 0
    checks = [(system, claims.check(system, known)) for system in chosen]
    if as_json:
        if check:
            printed = document.verification(checks)
        else:
            printed = document.overview(checks) if name is None else document.whole(*checks[0])
        _print_json(printed)
    else:
        from ioassay.reports import systems as shown  # noqa: PLC0415
        from ioassay.reports.document.terminal import rendered  # noqa: PLC0415

        if check:
            show(rendered(shown.verification(checks)))
        else:
            show(rendered(shown.overview(checks) if name is None else shown.details(*checks[0])))
    wrong = any(claim.verdict == "does not follow" for _, checked in checks for claim in checked)
    return 1 if check and wrong else 0


def _write_from(run: Path, output: Path | None) -> None:
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.reports.run import as_system  # noqa: PLC0415
    from ioassay.store.run_directory import hashes, load  # noqa: PLC0415

    loaded = doubted(load(run))
    name = run.resolve().name if output is None else output.stem
    text = as_system.text(loaded, name, hashes(run))
    if output is None:
        typer.echo(text, nl=False)
    else:
        write(output, encoded(text))
        say(f"{output}")


def _print_json(printed: dict[str, Any]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(printed, indent=2, ensure_ascii=False))
