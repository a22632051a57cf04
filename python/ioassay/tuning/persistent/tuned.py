"""A profile of TuneD with the settings of a plan, on top of the profile that is active.

What the active profile sets itself is set in the same section, so that TuneD writes one value and `tuned-adm verify`
finds it. A section of a child replaces the type and the devices of its parent's (TuneD 2.20, 2.28:
`tuned/profiles/merger.py`), so these are repeated. TuneD gives each disk to the first `[disk]` section that matches it
(`tuned/plugins/base.py`), so a disk of ours is taken out of its parent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ioassay.tuning.change_plan import ChangePlan, Step
from ioassay.tuning.settings.block import BlockInstance
from ioassay.tuning.settings.coupling import excluded
from ioassay.tuning.settings.files import FileInstance
from ioassay.tuning.settings.kernel import SYSCTL, SysctlInstance
from ioassay.tuning.settings.module import ModuleInstance
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system.tuned import (
    ActiveProfile,
    LiveFiles,
    Option,
    Unit,
    active_profile,
    disk_is_supported,
    is_running,
    matches,
    user_directory,
)

FILE = "tuned.conf"
_DISK_KEYS = {"scheduler": "elevator", "read_ahead_kb": "readahead"}
_NOT_REPEATED = ("replace", "drop", "prepend")


def running_profile(root: Path) -> tuple[ActiveProfile | None, str]:
    """The active profile where TuneD runs on this machine, else `None`: then files of systemd and udev are written.

    Also why it is `None` though TuneD runs; empty where it does not.
    """
    if not is_running(root):
        return None, ""
    try:
        active = active_profile(LiveFiles(root))
    except Unreadable as error:
        return None, str(error)
    if active is None or active.problem:
        return None, active.problem if active else "it has no active profile"
    return active, ""


def path_of(name: str, root: Path) -> Path:
    """Where a profile of that name belongs, below the root of the system."""
    return Path(user_directory(LiveFiles(root)), name, FILE)


def takes(step: Step) -> bool:
    """Whether a profile can set it; not what counts only when a module is loaded or a multipath map is made."""
    instance = step.instance
    if step.not_live or isinstance(instance, ModuleInstance) or not isinstance(instance, FileInstance):
        return False
    # Until 2.24 TuneD takes every dot in the name of a sysctl for a directory.
    return not (isinstance(instance, SysctlInstance) and "/" in step.name)


def profile_text(plan: ChangePlan, active: ActiveProfile) -> str:
    """The profile, without its first line."""
    steps = [step for step in plan.steps if takes(step)]
    sections: dict[str, dict[str, str]] = {}
    disks: dict[str, dict[str, str]] = {}
    files = LiveFiles(plan.root)
    for step in steps:
        instance = step.instance
        is_of_disk = isinstance(instance, BlockInstance) and instance.parameter in _DISK_KEYS
        if isinstance(instance, BlockInstance) and is_of_disk and disk_is_supported(files, instance.device):
            disks.setdefault(instance.device, {})[_DISK_KEYS[instance.parameter]] = step.wanted
            continue
        _drop(sections, excluded(step.name), active)
        lines = [line for line in active.lines if line.setting == step.name and _is_of_it_alone(line)]
        for line in lines:
            assert line.unit is not None
            _section(sections, line.unit)[line.key] = step.wanted
        if not lines:
            plugin = "sysctl" if isinstance(instance, SysctlInstance) else "sysfs"
            section = sections.setdefault(f"ioassay-{plugin}", {"type": plugin})
            section[_key(step)] = step.wanted
    _add_disk_sections(sections, disks, active)
    ordered = sorted(sections.items(), key=lambda item: item[1].get("type") == "sysfs" and item[0] not in active.units)
    include = f"include={','.join(active.name.split())}\n" if active.name else ""
    text = f"[main]\nsummary=Settings of ioassay tune apply\n{include}"
    for name, lines_of in ordered:
        text += f"\n[{name}]\n" + "".join(f"{key}={value}\n" for key, value in lines_of.items())
    return text


def _key(step: Step) -> str:
    """TuneD's name of a setting; a device by the kernel's name for it."""
    instance = step.instance
    if isinstance(instance, SysctlInstance):
        return step.name.removeprefix(f"{SYSCTL}:")
    if isinstance(instance, BlockInstance):
        return f"/sys/block/{instance.device}/{instance.path.relative_to(instance.directory)}"
    return f"/sys/{step.name.partition(':')[2]}"


def _is_of_it_alone(line: Option) -> bool:
    return line.unit is not None and not any(sign in line.key for sign in "*?[")


def _section(sections: dict[str, dict[str, str]], unit: Unit) -> dict[str, str]:
    """The section that changes one of the active profile, with what it must repeat of that."""
    repeated = {key: value for key, value in unit.settings_of_unit.items() if key not in _NOT_REPEATED}
    return sections.setdefault(unit.name, repeated)


def _drop(sections: dict[str, dict[str, str]], name: str, active: ActiveProfile) -> None:
    """Takes out what the active profile would set of two settings that exclude each other."""
    for line in active.lines:
        if name and line.setting == name and line.unit is not None:
            section = _section(sections, line.unit)
            known = [word for word in section.get("drop", "").split(",") if word]
            section["drop"] = ",".join(dict.fromkeys([*known, line.key]))


def _add_disk_sections(
    sections: dict[str, dict[str, str]], disks: Mapping[str, Mapping[str, str]], active: ActiveProfile
) -> None:
    """Gives each disk a section of its own, with the options that it has of the active profile."""
    for device, options in disks.items():
        unit = next(
            (unit for unit in active.units.values() if unit.plugin == "disk" and matches(unit.devices, device)), None
        )
        inherited: dict[str, str] = {}
        if unit is not None:
            section = _section(sections, unit)
            section["devices"] = f"{section.get('devices', '*')},!{device}"
            inherited = {key: line.value for key, line in unit.options.items() if key != "readahead_multiply"}
        sections[f"ioassay-{device}"] = {"type": "disk", "devices": device} | inherited | dict(options)
