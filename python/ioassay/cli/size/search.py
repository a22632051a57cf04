"""`ioassay size search`, which is `ioassay size FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ioassay.cli.output import AsJson, Form, Output
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.sizing.search.model import Search

_SHORTEST_S, _LONGEST_S = 1, 24 * 3600

_EXIT_CODES = {"best": 0, "found": 0, "impossible": 1, "undecided": 3}


def search(
    requirements: Annotated[Path, typer.Argument(metavar="FILE", help="What the storage must hold and do, as YAML.")],
    *,
    time_limit: Annotated[
        str, typer.Option(metavar="TIME", help="Processor time after which to stop looking for better ones.")
    ] = "8s",
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write each configuration found as YAML, for `ioassay size explain`."),
    ] = None,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Find the configurations that meet requirements.

    Shows the front of capacity, performance and cost: what each configuration holds and does, what limits it, its
    racks and parts, and how the answer moves when a figure is 20 % off. The exit code is 0 if there is one, 1 if it is
    proved that there is none, and 3 if the time limit, or figures that are unknown, leave that open.
    """
    from ioassay.cli.output import chosen_format, print_report  # noqa: PLC0415
    from ioassay.reports.sizing.search import SearchReport  # noqa: PLC0415
    from ioassay.sizing.search.read import read  # noqa: PLC0415
    from ioassay.sizing.search.search import search as searched  # noqa: PLC0415

    wanted = chosen_format(form, output, as_json=as_json)
    limit_s = _seconds(time_limit)
    if not requirements.exists() and requirements.suffix == "":
        raise UsageError(
            f"{requirements} is neither a file nor a command.",
            "Name a YAML file of requirements, or see `ioassay size --help` for the commands.",
        )
    wishes, catalogue = read(requirements)
    result = searched(wishes, catalogue, limit_s=limit_s)
    undrawn = print_report(SearchReport(result, catalogue), wanted, output)
    if save is not None:
        _save(result, requirements, save)
    return max(undrawn, _EXIT_CODES[result.verdict])


def _seconds(time_limit: str) -> float:
    from ioassay.text.units import parse_duration_ns  # noqa: PLC0415

    try:
        seconds = parse_duration_ns(time_limit) / 1e9
    except ValueError as error:
        raise UsageError(f"--time-limit {time_limit} is not a duration.", "Write for example 8s or 2min.") from error
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise UsageError(f"--time-limit {time_limit} is out of range.", "Use 1s to 24h.")
    return seconds


def _save(result: Search, requirements: Path, folder: Path) -> None:
    import os  # noqa: PLC0415

    from ioassay.cli.output import say, write  # noqa: PLC0415
    from ioassay.reports.sizing.search.configuration_yaml import configuration_yaml  # noqa: PLC0415
    from ioassay.text.control_characters import encoded  # noqa: PLC0415

    relative_path = os.path.relpath(requirements.parent, folder)
    for number, answer in enumerate(result.answers, start=1):
        path = folder / f"{result.requirements.name}-{number}.yaml"
        write(path, encoded(configuration_yaml(answer, result.requirements, relative_path)))
        say(f"{path}")
