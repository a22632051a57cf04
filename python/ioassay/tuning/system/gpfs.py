"""GPFS (IBM Storage Scale): parameters of the daemon and attributes of file systems.

Parameters come from `mmdiag --config`, which prints what the running daemon goes by, else from `mmlsconfig` or its file
mmfs.cfg, which list only what was changed. Attributes come from `mmlsfs all -Y`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from ioassay.tuning.snapshot import Snapshot, Unreadable
from ioassay.tuning.system.filesystem import byte_count

_FIELDS = 8
"""The fields of a line of `mmlsfs -Y`, up to the value."""


@dataclass(frozen=True)
class GpfsConfig:
    """The parameters of the daemon on this node, by name as they are written."""

    values: Mapping[str, str]
    is_running: bool
    """Whether the running daemon said them; otherwise those that are not listed have their defaults."""

    def text(self, name: str) -> str | None:
        """A parameter; `None` where it is not listed."""
        return self.values.get(name.lower())

    def number(self, name: str) -> int | None:
        """A parameter that is a number, perhaps with a suffix, in bytes or pieces; `None` where it is not listed."""
        text = self.text(name)
        return byte_count(text) if text is not None else None


def gpfs_config(snapshot: Snapshot) -> GpfsConfig | None:
    """The parameters of this node; `None` where it has no GPFS. Raises `Unreadable`."""
    failures: list[Unreadable] = []
    running = _printed(snapshot, failures, "mmdiag", "--config")
    if running is not None and "=== mmdiag" in running:
        lines = [line.removeprefix(" !").split(None, 1) for line in running.splitlines()]
        values = {words[0].lower(): words[1].strip() for words in lines if len(words) == 2 and words[0] != "==="}
        return GpfsConfig(values, is_running=True)
    configured = _printed(snapshot, failures, "mmlsconfig") or snapshot.text("var/mmfs/gen/mmfs.cfg")
    if configured is not None:
        return GpfsConfig(_configured(configured, snapshot.host), is_running=False)
    if failures:
        raise failures[0]
    return None


def _printed(snapshot: Snapshot, failures: list[Unreadable], *argv: str) -> str | None:
    """The output of a command that another source can replace; its failure is added to `failures`."""
    try:
        return snapshot.printed(*argv)
    except Unreadable as error:
        failures.append(error)
        return None


def _configured(text: str, host: str) -> Mapping[str, str]:
    """The lines that hold for a host: those before any section, of `[common]`, and of sections that name it."""
    values: dict[str, str] = {}
    of_node: dict[str, str] = {}
    into: dict[str, str] | None = values
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            names = [name.strip() for name in stripped[1:-1].split(",")]
            here = host in names or host.split(".", maxsplit=1)[0] in {name.split(".")[0] for name in names}
            into = of_node if here else values if names == ["common"] else None
        elif stripped.startswith("File systems in cluster"):
            break
        elif into is not None and (match := re.fullmatch(r"([A-Za-z]\w*) (\S.*)", stripped)):
            into[match[1].lower()] = match[2]
    return values | of_node


@dataclass(frozen=True)
class GpfsFileSystem:
    """The attributes of a file system, by the names of `mmlsfs -Y`; one can have values of several pools."""

    name: str
    attributes: Mapping[str, tuple[str, ...]]

    def last(self, name: str) -> str | None:
        """An attribute; of several pools that of the last, which holds data."""
        values = self.attributes.get(name)
        return values[-1] if values else None

    @property
    def block_bytes(self) -> int | None:
        """The block size of data."""
        return byte_count(self.last("blockSize") or "")


def gpfs_file_systems(snapshot: Snapshot) -> list[GpfsFileSystem]:
    """The file systems of the cluster; none where `mmlsfs all -Y` was not run. Raises `Unreadable`."""
    file_systems: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in (snapshot.printed("mmlsfs", "all", "-Y") or "").splitlines():
        # mmlsfs::0:1:::scratch:blockSize:4194304:other pools:
        words = [unquote(word) for word in line.split(":")]
        if len(words) > _FIELDS and words[0] == "mmlsfs" and words[2] != "HEADER":
            attributes = file_systems.setdefault(words[6], {})
            attributes[words[7]] = (*attributes.get(words[7], ()), words[8])
    return [GpfsFileSystem(name, attributes) for name, attributes in file_systems.items()]
