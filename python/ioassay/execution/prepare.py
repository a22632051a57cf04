"""What was asked becomes a new run directory, once everything about it has been checked."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioassay import __version__
from ioassay.execution.check import Need, check
from ioassay.launchers import find_launcher
from ioassay.results.document import RunDocument
from ioassay.results.run_directory import RunDirectory, now, refuse_occupied
from ioassay.studies import Target, expand, find_study, resolve


@dataclass(frozen=True)
class Request:
    """A run as it was asked for."""

    study: str
    """Name of a built-in study, or path of one."""
    target: Target
    scale: str | None
    settings: Sequence[str]
    """`KEY=VALUE` each."""
    launcher: str
    out: Path | None
    """The run directory; by default a new one below `runs/`."""
    command: Sequence[str]
    """The command line, for the record."""


def prepare(request: Request) -> tuple[RunDirectory, Need]:
    """Resolves the study, checks every case, then creates the run directory with all plans in it.

    Nothing is written, neither here nor on the target, unless all of it can run.
    Raises `UsageError` for what was asked, `CannotRun` for what the target will not hold.
    """
    launcher = find_launcher(request.launcher)
    if request.out is not None:
        refuse_occupied(request.out)
    resolved = resolve(find_study(request.study), request.scale, request.settings)
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{resolved.entry.name}"
    # Two runs of one second must not share a workspace on the target.
    identifier = f"{stamp}-{secrets.token_hex(2)}"
    expanded = expand(resolved, identifier, request.target, request.launcher)
    plans = {case.id: plan for case, plan in expanded}
    need = check(plans, launcher)
    document = RunDocument(
        run=identifier,
        study=resolved.entry,
        cases=[case for case, _ in expanded],
        target=request.target.place,
        target_kind=request.target.kind,
        launcher=request.launcher,
        command=list(request.command),
        ioassay_version=__version__,
        started=now(),
    )
    path = request.out or Path("runs") / stamp
    return RunDirectory.create(Path(os.path.abspath(path)), document, plans), need
