"""`lctl:PARAMETER` and `stripe:DIRECTORY/count|size`: parameters of Lustre, and the default striping of a directory."""

from __future__ import annotations

import os
import re

from ioassay.errors import CannotRun, UsageError
from ioassay.text.units import UnitError, parse_bytes
from ioassay.tuning.choices import choices, chosen
from ioassay.tuning.settings import meaning
from ioassay.tuning.settings.block import nearest_of
from ioassay.tuning.settings.errors import CannotRead, CannotSet, Vanished
from ioassay.tuning.settings.model import Instance, Lifetime, Setting, normalised, refuse_other_kind
from ioassay.tuning.settings.programs import ProgramFailed, ProgramMissing, run

LCTL = "lctl"
STRIPE = "stripe"
_UNITS = {"max_pages_per_rpc": os.sysconf("SC_PAGE_SIZE"), "brw_size": 1 << 20}
"""In how many bytes parameters count whose names do not end with it (Lustre: lprocfs_status.c, lproc_ofd.c).

What is written to `max_pages_per_rpc` counts as bytes from 1 MiB on, with or without a unit.
"""
_GONE = re.compile(r"No such (file|device)|not found", re.IGNORECASE)


class LctlInstance(Instance):
    """A parameter of one device of Lustre, by its full name."""

    lifetime: Lifetime = "remount"
    taken_by = "Lustre"

    def __init__(self, parameter: str) -> None:
        super().__init__(f"{LCTL}:{parameter}")
        self.parameter = parameter

    def read(self) -> str:
        """As the base says; of `crc32 [crc32c]` the chosen word."""
        return chosen(self._text())

    def _text(self) -> str:
        try:
            return run(["lctl", "get_param", "-n", self.parameter]).strip()
        except ProgramFailed as error:
            kind = Vanished if _GONE.search(error.message) and not isinstance(error, ProgramMissing) else CannotRead
            raise kind(f"{self.name}: {error.message}", error.remedy or "Check that Lustre is mounted.") from None

    def write(self, value: str) -> None:
        try:
            run(["lctl", "set_param", f"{self.parameter}={value}"])
        except ProgramFailed as error:
            raise CannotSet(f"{self.name}={value}: {error.message}", error.remedy or "Run as root.") from None

    def check(self, value: str, now: str) -> str:
        """As the base says. Lustre also takes sizes such as 4M."""
        value = normalised(self.name, value)
        text = self._text()
        if "\n" in text:
            raise CannotSet(f"{self.name}: its value has several lines, which could not be put back.")
        if not re.fullmatch(r"[0-9.]+[kKmMgGtT]?[bB]?", value):
            refuse_other_kind(self.name, value, now, choices(text))
        return value

    def is_same(self, requested: str, shown: str) -> bool:
        """As the base says. `4M` is shown in the parameter's own unit: MiB, KiB, pages."""
        last = self.parameter.rpartition(".")[2]
        unit = _UNITS.get(last, 1 << 20 if last.endswith("_mb") else 1 << 10 if last.endswith("_kb") else 1)
        if last == "max_pages_per_rpc" and requested.isdecimal() and int(requested) >= 1 << 20:
            requested = str(int(requested) // unit)
        return meaning.is_same(requested, shown, unit)


class Lctl(Setting):
    """A parameter of Lustre, of one device or of all that a pattern names."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{LCTL}:{where}")
        if not re.fullmatch(r"[^\s=/]+(\.[^\s=]+)+", where) or where.startswith("-"):
            raise UsageError(
                f"{self.name} names no parameter.", "Write lctl:PARAMETER, such as lctl:osc.*.max_rpcs_in_flight."
            )
        self._parameter = where

    def instances(self) -> list[Instance]:
        listed = self._listed(self._parameter)
        if not listed:
            above, _, last = self._parameter.rpartition(".")
            there = sorted({name.rpartition(".")[2] for name in self._listed(f"{above}.*")})
            advice = nearest_of(last, there) if there else f"no device matches {above}; is Lustre mounted?"
            raise UsageError(f"{self.name}: no such parameter; {advice}")
        return [LctlInstance(name) for name in listed]

    def exact(self) -> Instance:
        return LctlInstance(self._parameter)

    def _listed(self, pattern: str) -> list[str]:
        try:
            return [
                line.strip().rstrip("=@/") for line in run(["lctl", "list_param", pattern]).splitlines() if line.strip()
            ]
        except ProgramMissing:
            raise CannotRun(f"{self.name}: lctl is not installed.", "Run it on a node that has Lustre.") from None
        except ProgramFailed as error:
            if _GONE.search(error.message):
                return []
            raise CannotRun(f"{self.name}: {error.message}", error.remedy) from None


_STRIPING = {"count": "-c", "size": "-S", "index": "-i", "pool": "-p"}
"""The values that `lfs setstripe` sets and `lfs getstripe` shows, with the option for it."""

_UNSET = {"count": "0", "size": "0", "index": "-1", "pool": ""}


class StripeInstance(Instance):
    """The default striping of new files in a directory."""

    lifetime: Lifetime = "kept"
    taken_by = "Lustre"
    note = "only files created from now on are striped so"

    def __init__(self, directory: str, what: str) -> None:
        super().__init__(f"{STRIPE}:{directory}/{what}")
        self.directory, self.what = directory, what

    def read(self) -> str:
        """As the base says. 0 where the directory leaves it to the file system."""
        try:
            return self._get(self.what) or _UNSET[self.what]
        except ProgramFailed as error:
            kind = Vanished if "No such file" in error.message else CannotRead
            raise kind(
                f"{self.name}: {error.message}", error.remedy or "Check that the directory is on Lustre."
            ) from None

    def write(self, value: str) -> None:
        """As the base says. `lfs setstripe` resets every option that is not given, so all are given."""
        try:
            striping = {what: self._get(what) for what in _STRIPING} | {self.what: value}
            listed = [
                word
                for what, option in _STRIPING.items()
                if striping[what] not in (_UNSET[what], "")
                for word in (option, striping[what])
            ]
            run(["lfs", "setstripe", *(listed or ["-d"]), self.directory])
        except ProgramFailed as error:
            raise CannotSet(f"{self.name}={value}: {error.message}", error.remedy) from None

    def check(self, value: str, now: str) -> str:
        value = normalised(self.name, value)
        if self.what == "size":
            try:
                value = str(parse_bytes(value))
            except UnitError as error:
                raise UsageError(f"{self.name}: {error.message}", error.remedy) from None
            if int(value) % (64 << 10):
                raise UsageError(f"{self.name}={value}: not a multiple of 64 KiB.", "Write a size such as 1m or 4m.")
        elif not re.fullmatch(r"-1|[0-9]+", value):
            raise UsageError(f"{self.name}={value}: not a number of stripes.", "Write a number, or -1 for all targets.")
        try:
            components = run(["lfs", "getstripe", "-d", "--component-count", self.directory]).strip()
        except ProgramFailed as error:
            raise CannotRead(f"{self.name}: {error.message}", error.remedy) from None
        if components not in ("", "0"):
            raise CannotSet(
                f"{self.name}: the layout of {self.directory} has {components} components, not one.",
                "Create a directory with a plain layout, or define a pair of commands: command:NAME.",
            )
        return value

    def _get(self, what: str) -> str:
        return " ".join(run(["lfs", "getstripe", "-d", "--raw", _STRIPING[what], self.directory]).split())


class Stripe(Setting):
    """The default stripe count or stripe size of a directory."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{STRIPE}:{where}")
        directory, _, what = where.rpartition("/")
        if not directory.startswith("/"):
            raise UsageError(
                f"{self.name} names no directory.", "Write stripe:DIRECTORY/count, such as stripe:/lustre/dir/count."
            )
        if what not in ("count", "size"):
            raise UsageError(f"{self.name}: no such parameter; {nearest_of(what, ['count', 'size'])}")
        self._instance = StripeInstance(directory, what)

    def instances(self) -> list[Instance]:
        return [self._instance]

    def exact(self) -> Instance:
        return self._instance
