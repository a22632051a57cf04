"""udev rules that give a block device its settings when it appears."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from pathlib import Path

from ioassay.tuning.settings.files import first_line

_STABLE = ("ID_SERIAL", "ID_WWN", "DM_UUID", "MD_UUID", "ID_PATH")
"""Properties that stay with a device, the most telling first."""


def device_match(device: str, root: Path) -> tuple[str, str]:
    """The key by which a rule matches the device, and a note where that is only its name."""
    properties = _properties(device, root)
    for name in _STABLE:
        if value := properties.get(name):
            kernel = f'KERNEL=="{_family(device)}", ' if name.startswith("ID_") else ""
            return f'{kernel}ENV{{{name}}}=="{_literal(value)}"', ""
    if uuid := first_line(root / "sys/block" / device / "dm/uuid"):
        return f'ENV{{DM_UUID}}=="{_literal(uuid)}"', ""
    note = (
        f"{device} has no serial number known to udev: the rule goes by its name, which may name another device later"
    )
    return f'KERNEL=="{_literal(device)}"', note


def rule(match: str, attributes: Mapping[str, str]) -> str:
    """A rule that writes attributes, in their order, when the device appears or changes."""
    written = ", ".join(f'ATTR{{{path}}}="{value}"' for path, value in attributes.items())
    return f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {match}, {written}'


def _properties(device: str, root: Path) -> dict[str, str]:
    """The properties of the device in udev's database."""
    number = first_line(root / "sys/block" / device / "dev")
    try:
        text = (root / "run/udev/data" / f"b{number}").read_text(errors="replace")
    except OSError:
        return {}
    pairs = (line[2:].partition("=") for line in text.splitlines() if line.startswith("E:"))
    return {name: value for name, equals, value in pairs if equals}


def _family(device: str) -> str:
    """Devices of the same driver: a multipath device has the serial number of its paths."""
    known = ("sd[a-z]*", "vd[a-z]*", "xvd[a-z]*", "nvme*", "dm-*", "md*", "mmcblk*", "dasd*", "sr*")
    return next((pattern for pattern in known if fnmatch.fnmatchcase(device, pattern)), _literal(device))


def _literal(text: str) -> str:
    """`text` as a pattern of udev that only it matches."""
    return re.sub(r'["\\]', "?", re.sub(r"([*?\[|])", r"[\1]", text))
