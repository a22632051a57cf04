"""The file that makes a setting last, and its line there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.change_plan import ChangePlan, Step
from ioassay.tuning.persistent import PersistentFile, PersistentForm, tuned
from ioassay.tuning.persistent.udev import device_match, rule
from ioassay.tuning.persistent.unit import mount_file
from ioassay.tuning.settings import Assignment
from ioassay.tuning.settings.block import MAX_SECTORS, BlockInstance
from ioassay.tuning.settings.command import CommandInstance
from ioassay.tuning.settings.files import FileInstance
from ioassay.tuning.settings.kernel import SYSCTL, SysctlInstance
from ioassay.tuning.settings.lustre import LctlInstance, StripeInstance
from ioassay.tuning.settings.module import ModuleInstance
from ioassay.tuning.settings.mount import MountInstance
from ioassay.tuning.settings.tuned import TunedInstance
from ioassay.tuning.system.tuned import ActiveProfile

_BUILT_IN = "modules.builtin"


def persistent_form(plan: ChangePlan, directory: Path, journal: str) -> PersistentForm:
    """The files that make a plan last, below `directory`, which stands for the root of the system."""
    name = f"ioassay-tuning-{journal}"
    active, unknown = tuned.running_profile(plan.root)
    rest = plan if active is None else replace(plan, steps=[step for step in plan.steps if not tuned.takes(step)])
    is_for_tuned = active is not None and len(rest.steps) < len(plan.steps)
    if is_for_tuned and any(isinstance(step.instance, TunedInstance) for step in plan.steps):
        raise UsageError(
            "The other settings would go into a profile on top of the one that is active now.",
            "Set tuned:profile first, in a call of its own.",
        )
    parts = [] if active is None else [_tuned(plan, name, active)]
    form = PersistentForm(profile=name if is_for_tuned and directory == plan.root else "")
    if unknown:
        form.notes.append(f"TuneD runs, and may set these settings back: its profile is not known whole ({unknown})")
    parts += [make(rest, name) for make in (_udev, _multipath, _sysctl, _tmpfiles, _modprobe, _mounts, _lustre)]
    for files in parts:
        for file, notes in files:
            text = f"# Written by ioassay. Remove: ioassay tune rollback {journal}\n{file.text}"
            if file.mode & 0o100:
                text = f"#!/bin/sh\n{text}"
            form.files.append(PersistentFile(directory / file.path, text, file.mode, file.activation))
            form.notes.extend(notes)
    for step in plan.steps:
        match step.instance:
            case CommandInstance():
                form.notes.append(f"{step.name}: only its commands know whether it lasts")
            case MountInstance(point="/"):
                form.notes.append(
                    f"{step.name}: the root file system takes its options from /etc/fstab; change it there"
                )
            case LctlInstance():
                form.lasting[step.name] = "once the script has run on the MGS"
            case StripeInstance() | TunedInstance():
                pass
            case _:
                form.lasting[step.name] = "yes, by a file"
    return form


_Made = Iterator[tuple[PersistentFile, Sequence[str]]]


def _tuned(plan: ChangePlan, name: str, active: ActiveProfile) -> _Made:
    devices = {step.instance.device for step in plan.steps if isinstance(step.instance, BlockInstance)}
    if not any(map(tuned.takes, plan.steps)):
        return
    notes = [f"TuneD's new profile includes {active.name or 'no other'}; activating it applies that whole again"]
    if devices:
        named = ", ".join(sorted(devices))
        notes.append(f"TuneD goes by the kernel's name of a device: after a reboot {named} may name another one")
    path = tuned.path_of(name, plan.root)
    yield PersistentFile(path, tuned.profile_text(plan, active), activation=f"tuned-adm profile {name}"), notes


def _udev(plan: ChangePlan, name: str) -> _Made:
    devices: dict[str, dict[str, str]] = {}
    for step in plan.steps:
        if isinstance(step.instance, BlockInstance) and not step.not_live:
            attribute = str(step.instance.path.relative_to(step.instance.directory))
            devices.setdefault(step.instance.device, {})[attribute] = step.wanted
    if not devices:
        return
    lines, notes = [], []
    for device, attributes in devices.items():
        match, note = device_match(device, plan.root)
        lines.append(f"# {device}\n{rule(match, attributes)}\n")
        notes += [note] if note else []
    path = Path("etc/udev/rules.d") / f"90-{name}.rules"
    yield PersistentFile(path, "".join(lines), activation="udevadm control --reload"), notes


def _multipath(plan: ChangePlan, name: str) -> _Made:
    maps: dict[str, str] = {}
    for step in plan.steps:
        if isinstance(step.instance, BlockInstance) and step.not_live:
            maps[step.instance.multipath_wwid()] = step.wanted
    if not maps:
        return
    within = "".join(
        f'    multipath {{\n        wwid "{wwid}"\n        {MAX_SECTORS} {value}\n    }}\n'
        for wwid, value in maps.items()
    )
    activation = "multipathd reconfigure counts only for paths that appear later: stop I/O, flush and reload the maps"
    notes = [
        f"{wwid}: multipathd sets {MAX_SECTORS} of all paths when it makes the map; do that while nothing uses it"
        for wwid in maps
    ]
    path = Path("etc/multipath/conf.d") / f"{name}.conf"
    yield PersistentFile(path, f"multipaths {{\n{within}}}\n", activation=activation), notes


def _sysctl(plan: ChangePlan, name: str) -> _Made:
    lines = [
        f"{step.name.removeprefix(f'{SYSCTL}:')} = {step.wanted}\n"
        for step in plan.steps
        if isinstance(step.instance, SysctlInstance)
    ]
    if lines:
        path = Path("etc/sysctl.d") / f"99-{name}.conf"
        yield PersistentFile(path, "".join(lines), activation="sysctl --system"), ()


def _tmpfiles(plan: ChangePlan, name: str) -> _Made:
    lines = [
        f"w /sys/{step.name.partition(':')[2].replace('%', '%%')} - - - - {step.wanted.replace('%', '%%')}\n"
        for step in plan.steps
        if type(step.instance) is FileInstance
    ]
    if lines:
        path = Path("etc/tmpfiles.d") / f"{name}.conf"
        yield PersistentFile(path, "".join(lines), activation=f"systemd-tmpfiles --create {path.name}"), ()


def _modprobe(plan: ChangePlan, name: str) -> _Made:
    modules = [step for step in plan.steps if isinstance(step.instance, ModuleInstance)]
    lines, notes = [], []
    for step in modules:
        assert isinstance(step.instance, ModuleInstance)
        module, parameter = step.instance.module, step.instance.parameter
        lines.append(f"options {module} {parameter}={step.wanted}\n")
        if _is_built_in(plan.root, module):
            notes.append(
                f"{module} is built into the kernel: put {module}.{parameter}={step.wanted} on the kernel command line"
            )
        else:
            notes.append(
                f"{module} takes it when it is loaded; if the initramfs loads it, write that anew "
                "(update-initramfs -u or dracut --force)"
            )
    if lines:
        path = Path("etc/modprobe.d") / f"{name}.conf"
        yield PersistentFile(path, "".join(lines), activation="reload the module, or reboot"), notes


def _is_built_in(root: Path, module: str) -> bool:
    for directory in (root / "lib/modules").glob("*"):
        try:
            text = (directory / _BUILT_IN).read_text(errors="replace").replace("-", "_")
        except OSError:
            continue
        return f"/{module}.ko" in text
    return False


def _mounts(plan: ChangePlan, name: str) -> _Made:
    points: dict[str, dict[str, str]] = {}
    instances: dict[str, MountInstance] = {}
    for step in plan.steps:
        if isinstance(step.instance, MountInstance) and step.instance.point != "/":
            points.setdefault(step.instance.point, {})[step.instance.option] = step.wanted
            instances[step.instance.point] = step.instance
    for point, changes in points.items():
        unit = mount_file(instances[point].mount(), changes, plan.root, f"90-{name}")
        yield PersistentFile(Path(unit.path), unit.text, activation=unit.activation), [unit.note] if unit.note else []


def _lustre(plan: ChangePlan, name: str) -> _Made:
    requested: dict[Assignment, Step] = {
        step.typed: step for step in plan.steps if isinstance(step.instance, LctlInstance)
    }
    lines = [f"lctl set_param -P '{typed.name.partition(':')[2]}={step.wanted}'\n" for typed, step in requested.items()]
    if lines:
        path = Path("etc/ioassay") / f"{name}-mgs.sh"
        notes = ["Lustre keeps parameters on its MGS: run the script there; it changes every client that they match"]
        yield PersistentFile(path, "".join(lines), 0o755, f"on the MGS: sh /{path}"), notes
