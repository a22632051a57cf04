"""`module:MODULE/PARAMETER`: what a kernel module is loaded with."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.choices import choices
from ioassay.tuning.settings.block import nearest_of
from ioassay.tuning.settings.errors import CannotRead, NotLive, Vanished
from ioassay.tuning.settings.files import FileInstance, names
from ioassay.tuning.settings.model import Instance, Setting, normalised, refuse_other_kind

KIND = "module"
_DIRECTORIES = ("etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d", "lib/modprobe.d")
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class ModuleInstance(FileInstance):
    """A parameter of a module. Most are read when the module is loaded, and can only be changed for the next time."""

    def __init__(self, root: Path, module: str, parameter: str) -> None:
        self.module, self.parameter = module.replace("-", "_"), parameter
        self._root = root
        path = root / "sys/module" / self.module / "parameters" / parameter
        super().__init__(f"{KIND}:{self.module}/{parameter}", path)

    def read(self) -> str:
        """As the base says. Of a module that does not show it, what modprobe.d says."""
        if self.path.exists():
            return super().read()
        configured = self.configured()
        if configured is None:
            raise Vanished(
                f"{self.name}: neither {self.path} nor modprobe.d has it.", f"Load the module: modprobe {self.module}"
            )
        return configured

    def check(self, value: str, now: str) -> str:
        if not self.not_live():
            return super().check(value, now)
        value = normalised(self.name, value)
        refuse_other_kind(self.name, value, now, choices(self._text()) if self.path.exists() else [])
        return value

    def write(self, value: str) -> None:
        if why := self.not_live():
            raise NotLive(f"{self.name}={value}: {why}.")
        super().write(value)

    def not_live(self) -> str:
        """A parameter without a file that can be written is read when the module is loaded."""
        try:
            if stat.S_IMODE(self.path.stat().st_mode) & 0o222:
                return ""
        except OSError:
            pass
        return f"the module {self.module} reads it only when it is loaded"

    def configured(self) -> str | None:
        """The value in modprobe.d; of several the last, as modprobe takes it."""
        files = {
            path.name: path
            for directory in reversed(_DIRECTORIES)  # of files with one name the first directory's counts
            for path in (self._root / directory).glob("*.conf")
        }
        value = None
        for _, path in sorted(files.items()):
            try:
                text = path.read_text(errors="replace").replace("\\\n", " ")
            except OSError as error:
                raise CannotRead(f"{self.name}: {path} cannot be read: {error.strerror}.") from None
            for line in text.splitlines():
                match line.partition("#")[0].split():
                    case ["options", module, *options] if module.replace("-", "_") == self.module:
                        values = dict(option.partition("=")[::2] for option in options)
                        value = values.get(self.parameter, value)
        return value


class Module(Setting):
    """A parameter of a module that is loaded, or that modprobe.d configures."""

    def __init__(self, where: str, root: Path) -> None:
        super().__init__(f"{KIND}:{where}")
        module, _, parameter = where.partition("/")
        if not _NAME.fullmatch(module) or not _NAME.fullmatch(parameter):
            raise UsageError(
                f"{self.name} names no parameter.",
                "Write module:MODULE/PARAMETER, such as module:mpt3sas/max_sgl_entries.",
            )
        self._root = root
        self._instance = ModuleInstance(root, module, parameter)

    def instances(self) -> list[Instance]:
        instance = self._instance
        if not instance.path.exists() and instance.configured() is None:
            directory = instance.path.parent
            if not directory.parent.is_dir():
                loaded = names(self._root / "sys/module")
                raise UsageError(f"{self.name}: {instance.module} is not loaded; {nearest_of(instance.module, loaded)}")
            raise UsageError(f"{self.name}: no such parameter; {nearest_of(instance.parameter, names(directory))}")
        return [instance]

    def exact(self) -> Instance:
        return self._instance


def module_of(path: Path, root: Path) -> tuple[str, str] | None:
    """The module and the parameter, if a file of /sys is one."""
    match path.parts[len((root / "sys").parts) :]:
        case ("module", module, "parameters", parameter):
            return module, parameter
    return None
