"""systemd's drop-ins and units for the options of mounts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ioassay.mounts import unescaped
from ioassay.tuning.settings.mount import Mounted, changed_options, parsed_options

_PLACES = (
    "etc/systemd/system",
    "run/systemd/generator",
    "run/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
)


@dataclass(frozen=True)
class MountFile:
    """A file of systemd's that gives a mount other options."""

    path: str
    """Below the root of the system."""
    text: str
    activation: str
    note: str = ""


def mount_file(mount: Mounted, changes: Mapping[str, str], root: Path, suffix: str) -> MountFile:
    """A drop-in where systemd has the mount already, by fstab or a unit, else a unit."""
    unit = unit_name(mount.point)
    configured = _configured(mount.point, root)
    options = configured if configured is not None else mount.options
    text = ""
    for option, value in changes.items():
        text = changed_options(options, option, value)
        options = parsed_options(text)
    has_unit = any((root / place / unit).exists() for place in _PLACES)
    remount = f"systemctl daemon-reload; at the next mount of {mount.point} its options are these"
    if has_unit or configured is not None:
        note = "" if configured is not None else f"the options of {mount.point} are those it has now"
        path = f"etc/systemd/system/{unit}.d/{suffix}.conf"
        return MountFile(path, f"[Mount]\nOptions={_percents(text)}\n", remount, note)
    body = (
        f"[Unit]\nDescription={mount.point}\n\n"
        f"[Mount]\nWhat={_percents(mount.source)}\nWhere={mount.point}\nType={mount.file_system}\nOptions={_percents(text)}\n\n"
        f"[Install]\nWantedBy={'remote' if mount.file_system.startswith(('nfs', 'lustre')) else 'local'}-fs.target\n"
    )
    note = f"{mount.point} is neither in fstab nor a unit: if a script mounts it, change the script instead"
    return MountFile(f"etc/systemd/system/{unit}", body, f"systemctl daemon-reload && systemctl enable {unit}", note)


def unit_name(point: str) -> str:
    """As `systemd-escape --path --suffix=mount` makes it."""
    path = "/".join(part for part in point.split("/") if part) or "/"
    if path == "/":
        return "-.mount"
    escaped = re.sub(
        r"^\.|[^A-Za-z0-9:_./]", lambda match: "".join(f"\\x{byte:02x}" for byte in match[0].encode()), path
    )
    return escaped.replace("/", "-") + ".mount"


def _configured(point: str, root: Path) -> dict[str, str] | None:
    """The options in fstab."""
    try:
        lines = (root / "etc/fstab").read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        fields = line.partition("#")[0].split()
        if len(fields) >= 4 and unescaped(fields[1]).rstrip("/") == point.rstrip("/"):
            options = parsed_options(fields[3])
            return {name: value for name, value in options.items() if name != "defaults"}
    return None


def _percents(text: str) -> str:
    return text.replace("%", "%%")
