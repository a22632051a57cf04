"""TuneD: the profile that is active on a node, and the value that it gives each setting, by file and line.

What TuneD does with a profile is taken from its source, versions 2.20 and 2.28
(https://github.com/redhat-performance/tuned): `tuned/profiles` (where profiles are, includes, merging, variables),
`tuned/units/manager.py` (order, conditions), `tuned/plugins` (what a section sets). Since 2.24.1 profiles are below
`profiles/` of the two directories.

Not: values that TuneD computes when it applies a profile (`${f:exec:…}`), scripts of profiles, settings that no
`KIND:WHERE` of `tuning.settings` names. Putting settings into a profile is in `tuning.persistent.tuned`.
"""

from __future__ import annotations

import configparser
import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from ioassay.tuning.snapshot import Unreadable

ACTIVE_PROFILE = "etc/tuned/active_profile"
PROFILE_MODE = "etc/tuned/profile_mode"
_POST_LOADED_PROFILE = "etc/tuned/post_loaded_profile"
_MAIN_CONFIGURATION = "etc/tuned/tuned-main.conf"
_PID_FILE = "run/tuned/tuned.pid"

_SYSTEM_PROFILES, _USER_PROFILES = "usr/lib/tuned/profiles", "etc/tuned/profiles"
_DIRECTORIES = ("usr/lib/tuned", "etc/tuned", _SYSTEM_PROFILES, _USER_PROFILES)
"""Where profiles are: the first two until 2.24.0, the others since. Of two with one name the last counts."""

_SYSCTL_DIRECTORIES = ("run/sysctl.d", "etc/sysctl.d")
"""Directories of files that TuneD applies again after its profile; of two files with one name the first counts."""

_DISK_BUSES = ("scsi", "virtio", "xen", "nvme", "mmc")
"""The buses of disks for TuneD's disk plug-in; virtual disks need none."""

_OF_UNIT = (
    "type",
    "enabled",
    "replace",
    "prepend",
    "drop",
    "devices",
    "devices_udev_regex",
    "cpuinfo_regex",
    "uname_regex",
    "script_pre",
    "script_post",
    "priority",
)
"""Keys of a section that are not options of its plug-in."""

_THP = "sys:kernel/mm/transparent_hugepage"
_MOST_INCLUDES = 100
_TRUE = ("1", "true", "True")


class Files(Protocol):
    """Where files are read: a snapshot, or this machine. Paths have no leading slash."""

    def text(self, path: str) -> str | None:
        """The text; `None` where there is no file. Raises `Unreadable`."""

    def names(self, path: str) -> list[str]:
        """The names in a directory; empty where there is none."""

    def resolve(self, path: str) -> str:
        """The path without links."""


class LiveFiles:
    """The files of this machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def text(self, path: str) -> str | None:
        """As `Files` says."""
        try:
            return (self._root / path).read_text(errors="replace").strip("\n")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise Unreadable(f"/{path}", error.strerror or str(error)) from None

    def names(self, path: str) -> list[str]:
        """As `Files` says."""
        try:
            return sorted(os.listdir(self._root / path))
        except OSError:
            return []

    def resolve(self, path: str) -> str:
        """As `Files` says."""
        return os.path.relpath(os.path.realpath(self._root / path), os.path.realpath(self._root))


@dataclass(frozen=True)
class Line:
    """The value of a key of a profile, and where it stands."""

    value: str
    profile: str
    path: str
    """With its leading slash."""
    number: int


@dataclass(frozen=True)
class Unit:
    """A section of the merged profile."""

    name: str
    plugin: str
    settings_of_unit: Mapping[str, str] = field(default_factory=dict)
    """Its keys that are not options of the plug-in, such as `devices`."""
    options: Mapping[str, Line] = field(default_factory=dict)

    @property
    def devices(self) -> str:
        """The pattern of device names."""
        return self.settings_of_unit.get("devices", "*")


@dataclass(frozen=True)
class Option:
    """A setting that TuneD sets, and to what."""

    setting: str
    """As `tuning.settings` names it: `block:sda/read_ahead_kb`."""
    value: str
    """With `${…}` in it where only TuneD can compute it."""
    line: Line
    bound: Literal["", "at least", "at most"] = ""
    """TuneD changes the setting only where it is below, or above, the value."""
    unit: Unit | None = None
    """`None`: a line of sysctl.d, which TuneD applies again after its profile."""
    key: str = ""
    """The unit's name of the setting."""
    condition: str = ""
    """Why it is unknown whether TuneD sets it on this node; empty where it is certain."""

    @property
    def where(self) -> str:
        """Whose line it is, with file and line."""
        place = f"{self.line.path}:{self.line.number}"
        if self.unit is None:
            return f"{place} (TuneD applies it again after its profile: reapply_sysctl)"
        return f"TuneD's profile {self.line.profile} ({place})"

    def value_after(self, now: str) -> str:
        """The value of the setting once TuneD has applied its profile, if it has `now` before."""
        try:
            if (self.bound == "at least" and int(now) >= int(self.value)) or (
                self.bound == "at most" and int(now) <= int(self.value)
            ):
                return now
        except ValueError:
            pass
        return self.value


@dataclass(frozen=True)
class ActiveProfile:
    """The profile that TuneD applies at its next start."""

    name: str
    """The name; of several profiles, which add to each other, all names with spaces. Empty: none (`tuned-adm off`)."""
    post_loaded: str
    """The profile that TuneD applies after it; empty: none."""
    is_automatic: bool
    """Whether TuneD chose it by itself."""
    paths: tuple[str, ...]
    """The files that it is made of, those of included profiles first."""
    units: Mapping[str, Unit]
    """The sections of the merged profile by name, in the order in which TuneD applies them."""
    problem: str
    """Why it is not known whole; empty where it is."""
    reapplies_sysctl: bool
    _files: Files = field(repr=False)
    _variables: Mapping[str, str] = field(repr=False)

    @cached_property
    def options(self) -> dict[str, Option]:
        """Every setting that TuneD sets, by name, with the line that counts."""
        by_setting = {option.setting: option for option in self.lines}
        if self.reapplies_sysctl:
            by_setting |= {option.setting: option for option in _sysctl_files(self._files)}
        return by_setting

    @cached_property
    def lines(self) -> list[Option]:
        """The same of each section, also where a later one sets the setting again."""
        options: list[Option] = []
        taken: set[str] = set()
        for unit in self.units.values():
            condition = _reason_of_doubt(unit, self._files, self._variables)
            if condition is None:
                continue
            for option in _SETTINGS_OF.get(unit.plugin, _no_options)(unit, self._files, taken):
                value = _expanded(option.value, self._variables)
                unknown = condition or ("TuneD computes the value" if "${" in value else "")
                options.append(replace(option, value=value, condition=option.condition or unknown))
        return options


def active_profile(files: Files) -> ActiveProfile | None:
    """The profile of the node, `None` where TuneD is not installed. Raises `Unreadable`."""
    name = files.text(ACTIVE_PROFILE)
    if name is None:
        return None
    main = _main_configuration(files)
    post_loaded = " ".join((files.text(_POST_LOADED_PROFILE) or "").split())
    loader = _Loader(files, main)
    loader.load([*name.split(), *post_loaded.split()])
    units = {unit.name: unit for unit in loader.units.values() if unit.settings_of_unit.get("enabled", "1") in _TRUE}
    default = main.get("default_instance_priority", "0")
    ordered = sorted(units.values(), key=lambda unit: _integer(_priority(unit, default)))
    return ActiveProfile(
        name=" ".join(name.split()),
        post_loaded=post_loaded,
        is_automatic=(files.text(PROFILE_MODE) or "").strip() == "auto",
        paths=tuple(loader.paths),
        units={unit.name: unit for unit in ordered},
        problem=loader.problem,
        reapplies_sysctl=main.get("reapply_sysctl", "1") in _TRUE,
        _files=files,
        _variables=loader.variables(),
    )


def is_running(root: Path = Path("/")) -> bool:
    """Whether TuneD's daemon runs on this machine."""
    try:
        process = int((root / _PID_FILE).read_text())
        return b"tuned" in (root / "proc" / str(process) / "cmdline").read_bytes()
    except (OSError, ValueError):
        return False


def is_in_use(path: Path, root: Path = Path("/")) -> bool:
    """Whether the active profile of this machine is made of this file too."""
    try:
        active = active_profile(LiveFiles(root))
    except Unreadable:
        return False
    return active is not None and any(path == root / profile_file.lstrip("/") for profile_file in active.paths)


def user_directory(files: Files) -> str:
    """Where an administrator's profiles are on this node, without the leading slash."""
    configured = _profile_directories(_main_configuration(files))
    if configured:
        return configured[-1]
    return _USER_PROFILES if files.names(_SYSTEM_PROFILES) else "etc/tuned"


def profile_names(files: Files) -> list[str]:
    """All profiles of the node."""
    directories = _profile_directories(_main_configuration(files)) or _DIRECTORIES
    names = {name for directory in directories for name in files.names(directory) if files.names(f"{directory}/{name}")}
    return sorted(
        name for name in names if any("tuned.conf" in files.names(f"{directory}/{name}") for directory in directories)
    )


def matches(pattern: str, device: str) -> bool:
    """Whether the `devices` of a section match: words with wildcards, `!` excludes."""
    rules = [rule for rule in re.split(r"\s|,\s*", pattern) if rule]
    positive = [rule for rule in rules if not rule.startswith("!")] or ["*"]
    negative = [rule[1:] for rule in rules if rule.startswith("!")]
    return any(fnmatch.fnmatch(device, rule) for rule in positive) and not any(
        fnmatch.fnmatch(device, rule) for rule in negative
    )


def disk_is_supported(files: Files, device: str) -> bool:
    """Whether TuneD's disk plug-in sets this block device."""
    try:
        removable = files.text(f"sys/block/{device}/removable")
    except Unreadable:
        removable = None
    parent = f"sys/block/{device}/device"
    subsystem = files.resolve(f"{parent}/subsystem").rpartition("/")[2]
    is_virtual = not files.names(parent)
    is_unknown = subsystem == "subsystem"  # a snapshot without the link
    return (removable or "0").strip() == "0" and (is_virtual or is_unknown or subsystem in _DISK_BUSES)


class _Loader:
    """Reads a profile with all that it includes, and merges them as TuneD does."""

    def __init__(self, files: Files, main: Mapping[str, str]) -> None:
        self._files = files
        self._directories = _profile_directories(main) or [*_DIRECTORIES]
        self._lines: dict[str, dict[str, Line]] = {}
        self.units: dict[str, Unit] = {}
        self.paths: list[str] = []
        self.problem = ""
        self._read: set[str] = set()

    def load(self, names: Iterable[str]) -> None:
        """Adds profiles, those that they include first."""
        for name in names:
            path = self._path(name)
            if path is None:
                if not name.startswith("-") and not self._was_read(name):
                    self.problem = self.problem or f"there is no profile {name}"
                continue
            if len(self._read) >= _MOST_INCLUDES:
                self.problem = "its profiles include more than 100 others"
                return
            self._read.add(path)
            try:
                sections = _sections(self._files.text(path.lstrip("/")) or "", name, path)
            except configparser.Error as error:
                self.problem = self.problem or f"{path} cannot be parsed: {str(error).splitlines()[0]}"
                continue
            except Unreadable as error:
                self.problem = self.problem or f"{error}"
                continue
            include = sections.get("main", {}).get("include")
            if include is not None:
                included = re.split(r"\s*[,;]\s*", include.value)
                if any("${" in word for word in included):
                    self.problem = self.problem or f"{path}:{include.number} includes {include.value}"
                self.load(word for word in included if word and "${" not in word)
            self.paths.append(path)
            for section, lines in sections.items():
                if section != "main":
                    self._merge(section, lines)

    def variables(self) -> dict[str, str]:
        """The variables of the merged profile with their values."""
        values: dict[str, str] = {}
        for name, line in self._lines.get("variables", {}).items():
            if name == "include":
                values |= {key: _expanded(value, values) for key, value in self._variable_file(line.value).items()}
            else:
                values[name] = _expanded(line.value, values)
        return values

    def _variable_file(self, path: str) -> dict[str, str]:
        try:
            text = self._files.text(os.path.normpath(path).lstrip("/"))
            return {} if text is None else dict(_without_sections(text))
        except (Unreadable, configparser.Error):
            return {}

    def _path(self, name: str) -> str | None:
        base = os.path.basename(name.removeprefix("-"))
        for directory in reversed(self._directories):
            path = f"{directory}/{base}/tuned.conf"
            try:
                is_there = base and self._files.text(path) is not None
            except Unreadable:
                is_there = True
            if is_there and f"/{path}" not in self._read:
                return f"/{path}"
        return None

    def _was_read(self, name: str) -> bool:
        return any(path.endswith(f"/{os.path.basename(name)}/tuned.conf") for path in self._read)

    def _merge(self, section: str, lines: Mapping[str, Line]) -> None:
        of_unit = {key: line.value for key, line in lines.items() if key in _OF_UNIT}
        plugin_lines = {key: line for key, line in lines.items() if key not in _OF_UNIT}
        merged = {} if of_unit.get("replace", "0") in _TRUE else dict(self._lines.get(section, {}))
        for key in re.split(r"\s*[,;]\s*", of_unit.get("drop", "")):
            merged.pop(key, None)
        merged |= plugin_lines
        self._lines[section] = merged
        if section == "variables":
            return
        # What a later profile leaves out of these counts as its default; the conditions stay.
        kept = {
            key: value
            for key, value in (self.units[section].settings_of_unit.items() if section in self.units else ())
            if key.endswith("_regex") or key == "priority"
        }
        self.units[section] = Unit(section, of_unit.get("type", section), kept | of_unit, merged)


def _main_configuration(files: Files) -> Mapping[str, str]:
    try:
        return _without_sections(files.text(_MAIN_CONFIGURATION) or "")
    except configparser.Error:
        return {}


def _profile_directories(main: Mapping[str, str]) -> list[str]:
    return [word.strip().strip("/") for word in re.split(r"[,;]", main.get("profile_dirs", "")) if word.strip()]


def _parser(*, takes_keys_alone: bool) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(
        delimiters=("=",), inline_comment_prefixes=("#",), strict=False, allow_no_value=takes_keys_alone
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    return parser


@functools.lru_cache(maxsize=16)  # the nodes of a cluster mostly have the same file
def _without_sections(text: str) -> Mapping[str, str]:
    """Keys and values of a file that has no sections. Raises `configparser.Error`."""
    parser = _parser(takes_keys_alone=True)
    parser.read_string(f"[all]\n{text}")
    return {key: value or "" for section in parser.sections() for key, value in parser.items(section)}


def _sections(text: str, profile: str, path: str) -> dict[str, dict[str, Line]]:
    """The sections of a profile's file. Raises `configparser.Error`."""
    parser = _parser(takes_keys_alone=False)
    parser.read_string(text)
    numbers: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\[(.+)\]", line):
            section = header[1]
        elif not line.lstrip().startswith(("#", ";")):
            numbers[section, line.partition("=")[0].strip()] = number
    directory = os.path.dirname(path)
    return {
        section: {
            key: Line(
                (value or "").replace("${i:PROFILE_DIR}", directory),
                profile.removeprefix("-"),
                path,
                numbers.get((section, key), 1),
            )
            for key, value in parser.items(section)
        }
        for section in parser.sections()
    }


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"(?<!\\)\$\{(\w+)\}", lambda match: variables.get(match[1], match[0]), text)


def _priority(unit: Unit, default: str) -> str:
    return unit.settings_of_unit.get("priority", default)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return 0


def _reason_of_doubt(unit: Unit, files: Files, variables: Mapping[str, str]) -> str | None:
    """Why it is unknown whether the section counts on this node; `None` where it does not."""
    unknown = ""
    for key, text in (("cpuinfo_regex", _text_or_none(files, "proc/cpuinfo")), ("uname_regex", _uname(files))):
        pattern = unit.settings_of_unit.get(key)
        if pattern is None:
            continue
        pattern = _expanded(pattern, variables)
        try:
            if text is None or "${" in pattern:
                unknown = f"[{unit.name}] counts only where {key} matches"
            elif re.search(pattern, text, re.MULTILINE) is None:
                return None
        except re.error:
            return None
    if "devices_udev_regex" in unit.settings_of_unit:
        unknown = unknown or f"[{unit.name}] counts only for devices whose udev properties match"
    return unknown


def _text_or_none(files: Files, path: str) -> str | None:
    try:
        return files.text(path)
    except Unreadable:
        return None


def _uname(files: Files) -> str | None:
    """`uname -a`, of this machine: a snapshot does not have the architecture."""
    return " ".join(os.uname()) if isinstance(files, LiveFiles) else None


def _sysctl(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    for key, line in unit.options.items():
        text = re.sub(r'^"(.*)"$', r"\1", line.value)
        yield _option(_sysctl_name(key), replace(line, value=text), unit, key)


def _sysctl_name(key: str) -> str:
    """As `settings.kernel` names it: with dots, unless a part has one in it."""
    parts = key.split("/") if "/" in key.partition(".")[0] else key.translate(str.maketrans("./", "/.")).split("/")
    return "sysctl:" + ("/".join(parts) if any("." in part for part in parts) else ".".join(parts))


def _disk(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    is_certain = "devices_udev_regex" not in unit.settings_of_unit
    devices = [
        device
        for device in files.names("sys/block")
        if device not in taken
        and (not is_certain or matches(unit.devices, device))
        and disk_is_supported(files, device)
    ]
    if is_certain:
        taken.update(devices)
    for device in devices:
        for key, line in unit.options.items():
            if key == "elevator":
                yield _option(f"block:{device}/scheduler", line, unit, key)
            elif key == "readahead":
                yield _option(f"block:{device}/read_ahead_kb", replace(line, value=_kib(line.value)), unit, key)
            elif key == "readahead_multiply":
                condition = f"TuneD multiplies what it finds by {line.value}"
                option = _option(f"block:{device}/read_ahead_kb", line, unit, key)
                yield replace(option, condition=condition)


def _kib(text: str) -> str:
    """`8192 s`, in sectors, as KiB."""
    match = re.fullmatch(r"([<>]?\s*)(\d+)\s+s\w*", text.strip())
    return f"{match[1]}{int(match[2]) // 2}" if match else text


def _vm(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    for key, line in unit.options.items():
        match key:
            case "transparent_hugepages" | "transparent_hugepage":
                # TuneD leaves it to the kernel's command line.
                if " transparent_hugepage=" not in (_text_or_none(files, "proc/cmdline") or ""):
                    yield _option(f"{_THP}/enabled", line, unit, key)
            case "transparent_hugepage.defrag":
                yield _option(f"{_THP}/defrag", line, unit, key)
            case "dirty_bytes" | "dirty_background_bytes" if line.value.endswith("%"):
                ratio = replace(line, value=line.value.rstrip("%"))
                yield _option(f"sysctl:vm.{key.replace('bytes', 'ratio')}", ratio, unit, key)
            case "dirty_bytes" | "dirty_ratio" | "dirty_background_bytes" | "dirty_background_ratio":
                yield _option(f"sysctl:vm.{key}", line, unit, key)


def _sysfs(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    for key, line in unit.options.items():
        if key.startswith("/sys/"):
            for path in _globbed(os.path.normpath(key).lstrip("/"), files):
                yield _option(_name_of_file(path, files), line, unit, key)


def _globbed(pattern: str, files: Files) -> list[str]:
    if not re.search(r"[*?\[]", pattern):
        return [pattern]
    paths = [""]
    for part in pattern.split("/"):
        if re.search(r"[*?\[]", part):
            paths = [
                f"{path}/{name}".lstrip("/")
                for path in paths
                for name in files.names(path)
                if fnmatch.fnmatchcase(name, part)
            ]
        else:
            paths = [f"{path}/{part}".lstrip("/") for path in paths]
    return [path for path in paths if path.rpartition("/")[2] in files.names(path.rpartition("/")[0])]


def _name_of_file(path: str, files: Files) -> str:
    """A file below /sys as a setting: of a block device or a module as theirs."""
    real = files.resolve(path)
    for device in files.names("sys/block"):
        for directory in (files.resolve(f"sys/block/{device}"), f"sys/block/{device}"):
            for whole in (real, path):
                below = whole.removeprefix(f"{directory}/")
                if below != whole and "/" in below:
                    return f"block:{device}/{below.removeprefix('queue/') if below.count('/') == 1 else below}"
    if match := re.fullmatch(r"sys/module/([^/]+)/parameters/([^/]+)", path):
        return f"module:{match[1]}/{match[2]}"
    return f"sys:{path.removeprefix('sys/')}"


def _scheduler(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    for key, line in unit.options.items():
        if key.startswith(("sched_", "numa_balancing_")):
            yield _option(f"sysctl:kernel.{key}", line, unit, key)


_OF_PROCESSOR = {
    "governor": "cpufreq/scaling_governor",
    "energy_performance_preference": "cpufreq/energy_performance_preference",
    "energy_perf_bias": "power/energy_perf_bias",
}
_INTEL_PSTATE = ("min_perf_pct", "max_perf_pct", "no_turbo")


def _cpu(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    processors = [name for name in files.names("sys/devices/system/cpu") if re.fullmatch(r"cpu\d+", name)]
    for key, line in unit.options.items():
        # The first of `schedutil|ondemand` that the processor has counts.
        condition = "TuneD takes the first that the processor has" if "|" in line.value else ""
        if key in _OF_PROCESSOR:
            for name in processors:
                if matches(unit.devices, name):
                    option = _option(f"sys:devices/system/cpu/{name}/{_OF_PROCESSOR[key]}", line, unit, key)
                    yield replace(option, condition=condition)
        elif key in _INTEL_PSTATE:
            yield _option(f"sys:devices/system/cpu/intel_pstate/{key}", line, unit, key)


def _modules(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    for module, line in unit.options.items():
        for word in re.sub(r"^\s*\+r\s*,?\s*", "", line.value).split():
            parameter, equals, value = word.partition("=")
            if equals:
                name = f"module:{module.replace('-', '_')}/{parameter}"
                yield Option(name, value, line, unit=unit, key=module)


def _no_options(unit: Unit, files: Files, taken: set[str]) -> Iterator[Option]:
    return iter(())


_SETTINGS_OF: dict[str, Callable[[Unit, Files, set[str]], Iterator[Option]]] = {
    "sysctl": _sysctl,
    "disk": _disk,
    "vm": _vm,
    "sysfs": _sysfs,
    "scheduler": _scheduler,
    "cpu": _cpu,
    "modules": _modules,
}
"""By plug-in what a section sets. `taken` has the devices of earlier sections of the plug-in: each gets one section."""


def _option(setting: str, line: Line, unit: Unit, key: str) -> Option:
    bound: Literal["", "at least", "at most"] = ""
    value = line.value
    if len(value) > 1 and value[0] in "<>":
        bound, value = ("at least" if value[0] == ">" else "at most"), value[1:].strip()
    return Option(setting, value, line, bound, unit, key)


def _sysctl_files(files: Files) -> Iterator[Option]:
    files_by_name = {
        name: f"{directory}/{name}"
        for directory in reversed(_SYSCTL_DIRECTORIES)
        for name in files.names(directory)
        if name.endswith(".conf")
    }
    for path in (*(files_by_name[name] for name in sorted(files_by_name)), "etc/sysctl.conf"):
        for number, line in enumerate((_text_or_none(files, path) or "").splitlines(), 1):
            key, equals, value = line.strip().partition("=")
            if equals and not key.startswith(("#", ";", "-")):
                yield Option(_sysctl_name(key.strip()), value.strip(), Line(value.strip(), "", f"/{path}", number))
