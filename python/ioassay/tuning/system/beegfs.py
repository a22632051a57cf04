"""BeeGFS: the settings of its clients and daemons on a node, as files and the kernel have them.

Of a mount /proc/fs/beegfs/*/config counts, which has the settings in force; otherwise the file that it was mounted
with.
Of daemons the files below /etc/beegfs, also those of several on one node (multi mode). BeeGFS 7 and 8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ioassay.tuning.snapshot import Snapshot, Unreadable

if TYPE_CHECKING:
    from ioassay.tuning.system import System

Role = Literal["client", "meta", "storage"]

_CONFIGURATION = "etc/beegfs"
_STORE: dict[str, str] = {"meta": "storeMetaDirectory", "storage": "storeStorageDirectory"}
"""The setting without which a daemon does not start: packages leave it empty."""
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True)
class Service:
    """A client's mount or a daemon."""

    role: Role
    name: str
    """The mount point, or the path of its file."""
    path: str
    """Where its settings are set, with a leading slash."""
    settings: Mapping[str, str]

    def flag(self, name: str) -> bool | None:
        """A setting that is true or false; `None` where it is not listed."""
        return {"true": True, "1": True, "false": False, "0": False}.get(self.settings.get(name, "").lower())

    def number(self, name: str) -> int | None:
        """A setting that is an integer or a size, `128k`; `None` where it is not listed."""
        match = re.fullmatch(r"(\d{1,15})([kmg]?)", self.settings.get(name, "").lower())
        return int(match[1]) * _UNITS[match[2]] if match else None

    @property
    def directories(self) -> list[str]:
        """Where a daemon stores what it serves."""
        return [word.strip() for word in self.settings.get(_STORE.get(self.role, ""), "").split(",") if word.strip()]

    def change(self, name: str, value: str) -> str:
        """How a setting is changed."""
        unit = {"client": "beegfs-client", "meta": "beegfs-meta", "storage": "beegfs-storage"}[self.role]
        return f"set {name} = {value} in {self.path}, then: systemctl restart {unit}"


def clients(system: System) -> list[Service]:
    """The mounts to judge: the target's, or without a target all. Raises `Unreadable`."""
    target = system.target_mount
    mounts = system.mounts if system.snapshot.target is None else [target] if target is not None else []
    in_force = _in_force(system.snapshot)
    services = []
    for mount in mounts:
        if mount.file_system != "beegfs":
            continue
        path = mount.options.get("cfgFile") or f"/{_CONFIGURATION}/beegfs-client.conf"
        text = in_force.get(path) or system.snapshot.text(path)
        if text is None:
            raise Unreadable(path, "the snapshot does not have it")
        services.append(Service("client", mount.point, path, _settings(text)))
    return services


def daemons(system: System, role: Role) -> list[Service]:
    """The daemons of a role that are configured, where no target lies elsewhere. Raises `Unreadable`."""
    names = system.snapshot.names(_CONFIGURATION)
    paths = [f"{_CONFIGURATION}/{name}/beegfs-{role}.conf" for name in names if name.endswith(".d")]
    services = []
    for path in (f"{_CONFIGURATION}/beegfs-{role}.conf", *paths):
        text = system.snapshot.text(path)
        service = Service(role, f"/{path}", f"/{path}", _settings(text or ""))
        if service.directories and (system.snapshot.target is None or _holds_target(service, system)):
            services.append(service)
    return services


def is_server(system: System) -> bool:
    """Whether a daemon is configured on the node, whatever the target. Raises `Unreadable`."""
    roles: tuple[Role, ...] = ("meta", "storage")
    return any(
        Service(role, "", "", _settings(system.snapshot.text(f"{_CONFIGURATION}/beegfs-{role}.conf") or "")).directories
        for role in roles
    )


def _holds_target(service: Service, system: System) -> bool:
    target = (system.snapshot.target or "").rstrip("/") + "/"
    return any(
        target.startswith(directory.rstrip("/") + "/") or directory.startswith(target)
        for directory in service.directories
    )


def _in_force(snapshot: Snapshot) -> dict[str, str]:
    """By the file that a client was mounted with, its settings in force. Raises `Unreadable`."""
    texts = [snapshot.text(f"proc/fs/beegfs/{name}/config") for name in snapshot.names("proc/fs/beegfs")]
    return {_settings(text).get("cfgFile", ""): text for text in texts if text}


def _settings(text: str) -> dict[str, str]:
    """`tuneNumWorkers = 12  # comment` by name."""
    pairs = (line.partition("#")[0].partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip()}
