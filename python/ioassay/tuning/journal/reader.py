"""A journal → its state. Refuses a file that is damaged, or that others could have written: it says what root sets."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from ioassay.errors import UsageError
from ioassay.tuning.journal.records import Header, parsed
from ioassay.tuning.journal.state import State

_MOST_BYTES = 256 << 20


class Headerless(UsageError):
    """A journal that was killed before its first line was whole."""


def read(path: Path) -> tuple[State, int]:
    """The state of a journal, and how many bytes of it are whole lines. Raises `UsageError` for a damaged one."""
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Run as the user who applied the settings."
        ) from None
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & 0o022:
        raise UsageError(
            f"{path} belongs to user {about.st_uid} or can be changed by others: it may say anything.",
            "Check it, then make it yours: chown and chmod 600.",
        )
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} is too long for a journal.", "Name a journal of `ioassay tune apply`.")
    whole = data[: data.rfind(b"\n") + 1]  # what follows was torn by a kill: the step was not taken
    lines = whole.split(b"\n")[:-1]
    if not lines:
        raise Headerless(
            f"{path}: no header: it is empty or torn.", "No setting was changed under it; remove the file."
        )
    state: State | None = None
    for number, line in enumerate(lines, 1):
        try:
            record = parsed(line, is_first=number == 1)
            if isinstance(record, Header):
                state = State(record)
            elif state is not None:
                if state.is_closed:
                    raise ValueError("follows the line that closes the journal")
                state.add(record)
        except ValueError as error:
            raise _damaged(path, number, _reason(error)) from None
    assert state is not None
    return state, len(whole)


def _reason(error: ValueError) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        case json.JSONDecodeError() | UnicodeDecodeError():
            return "not JSON"
    return str(error)


def _damaged(path: Path, number: int, why: str) -> UsageError:
    return UsageError(
        f"{path}:{number}: {why}.",
        "The journal is damaged, so nothing was changed. Its `will-set` lines have the previous values.",
    )
