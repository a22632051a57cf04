"""The owner of a run directory. Another user's directory is only data: nothing in it is executed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.store.kinds import FRONT_END
from ioassay.store.run_files import DOCUMENT, WATCH_DOCUMENT


@dataclass(frozen=True)
class Owner:
    """The owner of a part of a run directory."""

    path: Path
    uid: int


def foreign_owner(run: Path) -> Owner | None:
    """The first part of the run directory that belongs to another user than the caller: directory, document or plan;
    `None` if there is none.
    """
    for path in _parts(run):
        try:
            uid = (path.stat() if path == run else path.lstat()).st_uid
        except OSError:  # missing parts have no owner
            continue
        if uid != os.geteuid():
            return Owner(path, uid)
    return None


def refuse_foreign(run: Path) -> None:
    """Raises `UsageError` if the run belongs to another user."""
    if (owner := foreign_owner(run)) is not None:
        raise UsageError(
            f"{owner.path} belongs to user {owner.uid}, not to you: resuming the run would execute its launcher, "
            "hooks and remount commands.",
            "Ask its owner to resume it, or start a run of your own: ioassay run STUDY --target TARGET",
        )


def _parts(run: Path) -> Iterator[Path]:
    logs = run / "logs"
    yield from (run, run / DOCUMENT, run / FRONT_END, run / WATCH_DOCUMENT, logs)
    if logs.is_dir():
        with os.scandir(logs) as cases:
            for case in cases:
                yield from (Path(case.path), Path(case.path) / "plan.json")
