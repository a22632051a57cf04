"""`sysctl:NAME` and `sys:PATH`: files below /proc/sys and /sys."""

from __future__ import annotations

import glob
from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.settings.block import BlockInstance, device_of, nearest_of
from ioassay.tuning.settings.coupling import excluded, takes_no_zero
from ioassay.tuning.settings.files import FileInstance, names
from ioassay.tuning.settings.model import Instance, Setting
from ioassay.tuning.settings.module import ModuleInstance, module_of

SYSCTL = "sysctl"
SYS = "sys"


class SysctlInstance(FileInstance):
    """A sysctl."""

    def write(self, value: str) -> None:
        """As the base says. What does not take 0 becomes 0 when the one that it excludes changes, which is 0 then."""
        if value == "0" and takes_no_zero(self.name):
            other = excluded(self.name)
            instance = SysctlInstance(other, self.path.with_name(other.rpartition(".")[2]))
            instance.write("1")
            instance.write("0")
        else:
            super().write(value)

    def check(self, value: str, now: str) -> str:
        value = super().check(value, now)
        if value == "0" and takes_no_zero(self.name):
            raise UsageError(
                f"{self.name}=0: the kernel does not take 0.",
                f"Set {excluded(self.name)} instead; that makes this one 0.",
            )
        return value


class Sysctl(Setting):
    """As sysctl(8) names them: dots between the parts, or slashes where a part has dots in it."""

    def __init__(self, where: str, root: Path) -> None:
        super().__init__(f"{SYSCTL}:{where}")
        separators = [sign for sign in where if sign in "./"]
        swapped = where if separators[:1] == ["/"] else where.translate(str.maketrans("./", "/."))
        self._parts = swapped.split("/")
        if len(self._parts) < 2 or not all(self._parts) or {".", ".."} & set(self._parts):
            raise UsageError(f"{self.name} names no sysctl.", "Write sysctl:NAME, such as sysctl:vm.dirty_ratio.")
        self._root = root / "proc/sys"

    def instances(self) -> list[Instance]:
        paths = self._expanded(self._root.joinpath(*self._parts))
        if not paths:
            directory = self._root
            for part in self._parts:
                if not glob.glob(str(directory / part)):
                    raise UsageError(f"{self.name}: no such parameter; {nearest_of(part, names(directory))}")
                directory /= part
            raise UsageError(f"{self.name}: a directory, not a parameter; {nearest_of('', names(directory))}")
        return paths

    def exact(self) -> Instance:
        return self._instance_of(self._root.joinpath(*self._parts))

    def _expanded(self, path: Path) -> list[Instance]:
        paths = [path] if path.is_file() else map(Path, sorted(glob.glob(str(path))))
        return [self._instance_of(file) for file in paths if file.is_file()]

    def _instance_of(self, path: Path) -> Instance:
        parts = path.relative_to(self._root).parts
        name = ".".join(parts) if not any("." in part for part in parts) else "/".join(parts)
        return SysctlInstance(f"{SYSCTL}:{name}", path)


class Sys(Setting):
    """Any file below /sys; those of block devices and modules are what `block:` and `module:` name."""

    def __init__(self, where: str, root: Path) -> None:
        where = where.strip("/").removeprefix("sys/")
        super().__init__(f"{SYS}:{where}")
        if not where or ".." in where.split("/"):
            raise UsageError(
                f"{self.name} names no file.", "Write sys:PATH, such as sys:kernel/mm/transparent_hugepage/enabled."
            )
        self._root, self._path = root, root / "sys" / where

    def instances(self) -> list[Instance]:
        paths = [self._path] if self._path.is_file() else map(Path, sorted(glob.glob(str(self._path))))
        instances = {
            instance.name: instance for instance in (self._instance_of(path) for path in paths if path.is_file())
        }
        if not instances:
            deepest = next(above for above in self._path.parents if glob.glob(str(above)))
            part = self._path.relative_to(deepest).parts[0]
            if glob.glob(str(deepest / part)):
                raise UsageError(f"{self.name}: a directory, not a file; {nearest_of('', names(deepest / part))}")
            there = sorted({name for directory in glob.glob(str(deepest)) for name in names(Path(directory))})
            raise UsageError(f"{self.name}: no such file; {nearest_of(part, there)}")
        return [*instances.values()]

    def exact(self) -> Instance:
        return self._instance_of(self._path)

    def _instance_of(self, path: Path) -> Instance:
        if of_device := device_of(path, self._root):
            return BlockInstance(self._root, *of_device)
        if of_module := module_of(path, self._root):
            return ModuleInstance(self._root, *of_module)
        return FileInstance(f"{SYS}:{path.relative_to(self._root / 'sys')}", path)
