"""The directory that `ioassay net` leaves: `net.json`, and in `iperf3/` what iperf3 itself said at both ends.

`net.json` is rewritten after every measurement, so whatever ends the command, what was measured is kept.
"""

from __future__ import annotations

from pathlib import Path

from ioassay.errors import UsageError
from ioassay.store.kinds import NET
from ioassay.store.net_document import NetDocument
from ioassay.store.new_directory import new_directory
from ioassay.store.stored_directory import StoredDirectory

_RAW = "iperf3"


class NetDirectory:
    """A directory of `ioassay net` that this process writes to."""

    def __init__(self, path: Path, document: NetDocument) -> None:
        """Makes it. Raises `UsageError` when `path` exists and holds anything."""
        self._directory = new_directory(path)
        self._directory.make_directory(_RAW)
        self.path = path
        self.document = document
        self.save()

    @property
    def raw(self) -> Path:
        """Where iperf3's own words go."""
        return self.path / _RAW

    def save(self) -> None:
        """Makes `net.json` what `document` is."""
        text = self.document.model_dump_json(indent=2) + "\n"
        self._directory.write(NET.document, text.encode())


def read_net(path: Path) -> NetDocument:
    """Reads `net.json`, or the one in the directory `path`.

    Raises `UsageError` when there is none that this version reads, or nothing was measured.
    """
    file = path / NET.document if path.is_dir() else path.resolve()
    try:
        with StoredDirectory.open(file.parent) as directory:
            content = directory.read(file.name, NET.most_bytes)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"There is no {file}.",
            "Name the directory that `ioassay net` printed, for example runs/20260131-120000-net.",
        ) from error
    document = NET.parse(content, file)
    if not document.measurements:
        raise UsageError(
            f"{file} has no measurement: its state is {document.state}.", "Measure again with `ioassay net`."
        )
    return document
