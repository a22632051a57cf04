"""A snapshot as it would be after settings were changed: what rules say of it must then be that all is fine."""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Mapping

from ioassay.tuning.rule import Assignment
from ioassay.tuning.settings.coupling import excluded
from ioassay.tuning.snapshot import Snapshot
from ioassay.tuning.system.lustre import PLACES


def applied(before: Snapshot, assignments: Iterable[Assignment]) -> Snapshot:
    """The snapshot with these settings, in their order. Raises `KeyError` for an unknown kind of settings."""
    files = dict(before.files)
    for assignment in assignments:
        kind, _, where = assignment.name.partition(":")
        for path in _paths(before, files, kind, where):
            real = before.resolve(path)
            files[real] = _written(files.get(real, b"").decode(errors="replace"), assignment.value).encode()
        if kind == "mount":
            files |= _remounted(before, files, where, assignment.value)
        if other := excluded(assignment.name).removeprefix("sysctl:"):
            files[before.resolve(_sysctl(other))] = b"0"
        if kind == "module":
            files |= _after_reload(before, where, assignment.value)
    return dataclasses.replace(before, files=files)


def _paths(before: Snapshot, files: Mapping[str, bytes], kind: str, where: str) -> list[str]:
    if kind == "block":
        device, _, parameter = where.partition("/")
        return [f"sys/block/{device}/{parameter if '/' in parameter else f'queue/{parameter}'}"]
    if kind == "sysctl":
        return [_sysctl(where)]
    if kind == "sys":
        return [f"sys/{where}"]
    if kind == "module":
        return [f"sys/module/{where.replace('/', '/parameters/')}"]
    if kind == "lctl":
        names = {path: path.removeprefix(f"{place}/").replace("/", ".") for place in PLACES for path in files
                 if path.startswith(f"{place}/")}  # fmt: skip
        return [path for path, name in names.items() if fnmatch.fnmatchcase(name, where)]
    if kind == "mount":
        return []
    raise KeyError(f"{kind}:{where}")


def _remounted(before: Snapshot, files: Mapping[str, bytes], where: str, value: str) -> dict[str, bytes]:
    """The list of mounts with an option of one of them: a value, `on` or `off`."""
    point, _, option = where.rpartition("/")
    path = before.resolve("proc/self/mountinfo")
    lines = files.get(path, b"").decode(errors="replace").splitlines()
    for number, line in enumerate(lines):
        of_mount, _, of_system = line.partition(" - ")
        fields = of_system.split(" ")
        if of_mount.split(" ")[4] == (point or "/"):
            other_options = [
                mount_option for mount_option in fields[-1].split(",") if mount_option.partition("=")[0] != option
            ]
            changed = {"on": [option], "off": []}.get(value, [f"{option}={value}"])
            lines[number] = f"{of_mount} - {' '.join([*fields[:-1], ','.join([*other_options, *changed])])}"
    return {path: "\n".join(lines).encode()}


def _sysctl(name: str) -> str:
    return f"proc/sys/{name.replace('.', '/')}"


def _written(text: str, value: str) -> str:
    """The content of a file after `value` was written: the choice in brackets moves, everything else is replaced."""
    choices = text.replace("[", "").replace("]", "").split()
    if not re.search(r"\[[^\]]+\]", text):
        return value
    return " ".join(f"[{choice}]" if choice == value else choice for choice in dict.fromkeys((*choices, value)))


def _after_reload(before: Snapshot, where: str, value: str) -> dict[str, bytes]:
    """The adapters of a module once it is loaded with the option."""
    option = where.partition("/")[2]
    attribute = {"max_sgl_entries": "sg_tablesize", "max_queue_depth": "can_queue"}[option]
    hosts = [f"sys/class/scsi_host/{name}" for name in before.names("sys/class/scsi_host")]
    ours = [host for host in hosts if before.text(f"{host}/proc_name") in ("mpt2sas", "mpt3sas")]
    changed = {before.resolve(f"{host}/{attribute}"): value.encode() for host in ours}
    if attribute == "sg_tablesize":
        for device in before.names("sys/block"):
            segments = before.resolve(f"sys/block/{device}/queue/max_segments")
            if segments in before.files:
                changed[segments] = value.encode()
    return changed
