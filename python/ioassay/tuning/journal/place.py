"""The directory of journals: where it is, which journals are in it, and which of them are open."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.journal.origin import OtherMachine, refuse_other_machine
from ioassay.tuning.journal.reader import Headerless, read
from ioassay.tuning.journal.state import State

SUFFIX = ".jsonl"
_VARIABLE = "IOASSAY_TUNING_JOURNAL"
_OF_SYSTEM = Path("/var/lib/ioassay/tuning")


def new_id() -> str:
    """An ID that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def default_place() -> Path:
    """`$IOASSAY_TUNING_JOURNAL`, else for root /var/lib/ioassay/tuning, for others their state directory."""
    if named := os.environ.get(_VARIABLE):
        return Path(named)
    if os.geteuid() == 0:
        return _OF_SYSTEM
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local/state") / "ioassay/tuning"


def journals(place: Path) -> Iterator[Path]:
    """All journals in a directory, the newest first."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from sorted(place.glob(f"*{SUFFIX}"), key=lambda path: path.name, reverse=True)


@dataclass(frozen=True)
class OpenJournals:
    """The journals of a directory under which something is still to be put back."""

    states: dict[Path, State]
    """The newest first."""
    of_other_machines: list[Path]
    damaged: list[UsageError]


def open_journals(place: Path, root: Path = Path("/")) -> OpenJournals:
    """All open journals in a directory."""
    open_now = OpenJournals({}, [], [])
    for path in journals(place):
        try:
            state, _ = read(path)
            if not state.is_closed:
                refuse_other_machine(state.header, path, root)
                open_now.states[path] = state
        except Headerless:
            continue
        except OtherMachine:
            open_now.of_other_machines.append(path)
        except UsageError as error:
            open_now.damaged.append(error)
    newest_first = sorted(open_now.states.items(), key=lambda item: item[1].header.started, reverse=True)
    return OpenJournals(dict(newest_first), open_now.of_other_machines, open_now.damaged)


def find(place: Path, name: str) -> Path:
    """The journal with that ID. Raises `UsageError`."""
    known = {path.stem: path for path in journals(place)}
    if name not in known:
        shown = ", ".join(list(known)[:5]) or "none"
        raise UsageError(f"{place} has no journal {name}.", f"The newest there: {shown}.")
    return known[name]
