"""The interface of all settings, whatever they are read from and written to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Literal

from ioassay.errors import UsageError
from ioassay.tuning.settings import meaning
from ioassay.yaml_models.source import nearest

Lifetime = Literal["reboot", "remount", "kept", "unknown"]
"""How long a live change lasts: until a reboot, until a remount at most, beyond both, or as the user's command does."""

MOST_CHARACTERS = 4096
"""The longest value: the kernel's files take a page."""


class Instance(ABC):
    """One value on this machine. A setting with a pattern in its name has several."""

    lifetime: Lifetime = "reboot"
    taken_by = "the kernel"
    """The component that turns a written value into the one that `read` shows."""
    note = ""
    """A warning for the user before it is changed."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def read(self) -> str:
        """The value now, normalised. Raises `CannotRead`; `Vanished` if it is no longer there."""

    @abstractmethod
    def write(self, value: str) -> None:
        """Changes the value. Raises `CannotSet`."""

    def check(self, value: str, now: str) -> str:
        """`value` normalised, if it can be set where `now` is set. Changes nothing.

        Raises `UsageError` for a value that cannot be meant, `CannotSet` where it cannot be written.
        """
        return normalised(self.name, value)

    def is_same(self, requested: str, shown: str) -> bool:
        """Whether a value as it was asked for is the one that `read` shows, maybe in another form."""
        return meaning.is_same(requested, shown)

    def is_taken(self, requested: str, shown: str) -> bool:
        """Whether a value was taken if `read` shows this once it was written."""
        return self.is_same(requested, shown)

    def not_live(self) -> str:
        """Why only a persistent file can change it; empty where it can be changed now."""
        return ""

    def identity(self) -> dict[str, str]:
        """Facts that distinguish the device from another one that takes its name later."""
        return {}


class Setting(ABC):
    """The settings that `KIND:WHERE` names."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def instances(self) -> list[Instance]:
        """All values that the name stands for, at least one.

        Raises `UsageError` for what does not exist, with the nearest that does; `CannotRun` where that cannot be seen.
        """

    @abstractmethod
    def exact(self) -> Instance:
        """The value of exactly this name, whether it is there or not."""


def normalised(name: str, value: str) -> str:
    """`value` on one line with single spaces. Raises `UsageError`."""
    text = " ".join(value.split())
    if not text:
        raise UsageError(f"{name}: the value is empty.", f"Write {name}=VALUE.")
    if not text.isprintable() or len(text) > MOST_CHARACTERS:
        raise UsageError(f"{name}: the value is too long or cannot be printed.", "Write one short line.")
    return text


def refuse_other_kind(name: str, value: str, now: str, choices: list[str]) -> None:
    """Raises `UsageError` for a word that is not among the choices, or for text where there are integers now."""
    if choices:
        if value not in choices:
            raise UsageError(f"{name}={value}: no such choice; {nearest(value, choices)}")
        return
    integers = [is_integer(word) for word in now.split()]
    if integers and all(integers):
        words = value.split()
        if not all(map(is_integer, words)):
            raise UsageError(f"{name}={value}: not an integer; it is {now} now.", "Write an integer without a unit.")
        if len(words) != len(integers):
            raise UsageError(f"{name}={value}: {len(words)} of {len(integers)} numbers; it is {now} now.")


def is_integer(text: str) -> bool:
    """Whether the kernel would read it as an integer."""
    return re.fullmatch(r"-?(0x[0-9a-fA-F]+|[0-9]+)", text) is not None
