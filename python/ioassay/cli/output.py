"""Where a document goes: the terminal, or a file that is written atomically. Not: what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ioassay.errors import CannotRun, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ioassay.reports import Format


def document_format(text: str) -> Format:
    """The format of that name. Raises `UsageError`."""
    from ioassay.reports import FORMATS  # noqa: PLC0415

    chosen = next((known for known in FORMATS if known == text), None)
    if chosen is None:
        raise UsageError(f"--format {text} is not known.", f"Use one of {', '.join(FORMATS)}.")
    return chosen


def write(destination: Path, document: bytes) -> None:
    """Writes the file, with the directories above it. Raises `CannotRun`."""
    from ioassay.results.atomic import write_atomically  # noqa: PLC0415

    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(destination, lambda fresh: fresh.write_bytes(document))
    except OSError as error:
        raise CannotRun(f"{destination} cannot be written: {error.strerror}.", "Name another place.") from error


def show(*shown: RenderableType) -> None:
    """Prints what is for the terminal, one below the other."""
    from rich.console import Console  # noqa: PLC0415

    console = Console()
    with console.capture() as text:  # printed below: rich would end the process when nobody reads it
        console.print(*shown)
    print(text.get(), end="", flush=True)
