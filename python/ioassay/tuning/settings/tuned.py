"""`tuned:profile`: the active profile of TuneD.

The value is the profile's name, of several all names with spaces between them; `off`; or `NAME (automatic)` where TuneD
chose it by itself.
"""

from __future__ import annotations

from pathlib import Path

from ioassay.errors import UsageError
from ioassay.tuning.settings.errors import CannotRead, CannotSet, NotLive, Vanished
from ioassay.tuning.settings.model import Instance, Lifetime, Setting, normalised
from ioassay.tuning.settings.programs import ProgramFailed, run
from ioassay.tuning.snapshot import Unreadable
from ioassay.tuning.system.tuned import ActiveProfile, LiveFiles, active_profile, is_running, profile_names
from ioassay.yaml_models.source import nearest

KIND = "tuned"
OFF = "off"
_AUTOMATIC = " (automatic)"
_TIMEOUT_S = 120.0


class TunedInstance(Instance):
    """The profile that is active."""

    lifetime: Lifetime = "kept"
    taken_by = "TuneD"
    note = "TuneD restores what the previous profile had changed, and applies the new one whole"

    def __init__(self, root: Path) -> None:
        super().__init__(f"{KIND}:profile")
        self._root = root

    def read(self) -> str:
        active = self._active()
        return f"{active.name or OFF}{_AUTOMATIC if active.is_automatic and active.name else ''}"

    def write(self, value: str) -> None:
        if value.endswith(_AUTOMATIC):
            words = ["auto_profile"]
        else:
            words = [OFF] if value == OFF else ["profile", *value.split()]
        try:
            run(["tuned-adm", *words], _TIMEOUT_S)
        except ProgramFailed as error:
            raise CannotSet(f"{self.name}={value}: {error.message}", error.remedy) from None

    def check(self, value: str, now: str) -> str:
        value = normalised(self.name, value)
        if value != OFF and not value.endswith(_AUTOMATIC):
            known = profile_names(LiveFiles(self._root))
            for name in value.split():
                if name not in known:
                    raise UsageError(f"{self.name}={value}: no such profile; {nearest(name, known)}")
        if why := self._not_running():
            raise NotLive(f"{self.name}={value}: {why}.", "Start it: systemctl start tuned.")
        return value

    def _not_running(self) -> str:
        return "" if is_running(self._root) else "TuneD does not run"

    def _active(self) -> ActiveProfile:
        try:
            active = active_profile(LiveFiles(self._root))
        except Unreadable as error:
            raise CannotRead(f"{self.name}: {error}.", "Run as root.") from None
        if active is None:
            raise Vanished(f"{self.name}: TuneD is not installed.", "Install it, or leave this setting out.")
        return active


class Tuned(Setting):
    """The active profile."""

    def __init__(self, where: str, root: Path) -> None:
        super().__init__(f"{KIND}:{where}")
        if where != "profile":
            raise UsageError(f"{self.name}: TuneD has no such setting.", "Write tuned:profile=NAME.")
        self._instance = TunedInstance(root)

    def instances(self) -> list[Instance]:
        self._instance.read()
        return [self._instance]

    def exact(self) -> Instance:
        return self._instance
