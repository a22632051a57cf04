"""Arguments of commands that make documents of stored runs. Not: the documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ioassay.store.loaded import LoadedRun

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="Run directories, or folders with run directories.", show_default=False),
]

Ceilings = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|DIR",
        help="Result of `ioassay net` to use instead of the one stored with the runs.",
        show_default=False,
    ),
]

Against = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RUN|SYSTEM",
        help="Add a comparison with this run or published system. Repeatable.",
        show_default=False,
    ),
]


def read(runs: list[Path], ceilings: Path | None) -> Iterator[LoadedRun]:
    """The runs, one after the other, with the doubts that follow from their ceilings. Raises `UsageError`."""
    from ioassay.analysis.derived_doubts import doubted  # noqa: PLC0415
    from ioassay.store.net_directory import read_net  # noqa: PLC0415
    from ioassay.store.run_directory import load  # noqa: PLC0415

    measured = read_net(ceilings) if ceilings else None
    for run in runs:
        loaded = load(run)
        if measured is not None:
            loaded.document.ceilings = measured
        yield doubted(loaded)
