"""Errors of settings: the path, the reason in words, and what to try."""

from __future__ import annotations

import errno
import os

from ioassay.errors import CannotRun

_GONE = {errno.ENOENT, errno.ENODEV, errno.ENXIO}

_REMEDIES = {
    errno.EACCES: "Run as root.",
    errno.EPERM: "Run as root; containers and kernel lockdown refuse it to root too.",
    errno.EROFS: "It is mounted read-only: run on the host, not in a container.",
    errno.EINVAL: "The kernel or its driver does not take this value; try another.",
    errno.ERANGE: "The value is out of the kernel's range; try another.",
    errno.EBUSY: "The device is in use; try again later, or when it is idle.",
    errno.EOPNOTSUPP: "The driver of this device does not support it.",
    errno.ENOMEM: "The kernel has no memory for it; try a lower value.",
}


class CannotRead(CannotRun):
    """A setting whose value cannot be read."""


class Vanished(CannotRead):
    """A setting that is no longer there: its device, mount or module is gone."""


class CannotSet(CannotRun):
    """A setting that did not take a value."""


class NotTaken(CannotSet):
    """A setting that accepted a value without an error and has another one."""

    def __init__(self, name: str, requested: str, before: str, shown: str, taken_by: str) -> None:
        outcome = f"kept {shown}" if shown == before else f"made it {shown}"
        super().__init__(
            f"{name}: asked {requested}, {taken_by} {outcome}.", f"Ask for a value that {taken_by} takes as it is."
        )
        self.name, self.before, self.is_changed = name, before, shown != before


class NotLive(CannotSet):
    """A setting that only a persistent file can change."""


def reason(error: OSError) -> str:
    """The error in words, with its symbol: `Invalid argument (EINVAL)`."""
    if error.errno is None:
        return str(error)
    return f"{os.strerror(error.errno)} ({errno.errorcode.get(error.errno, error.errno)})"


def cannot_read(name: str, path: object, error: OSError) -> CannotRead:
    """The error of a failed read of `path`."""
    if error.errno in _GONE:
        return Vanished(
            f"{name}: {path} is not there: {reason(error)}.", "Check that the device or mount still exists."
        )
    return CannotRead(f"{name}: {path} cannot be read: {reason(error)}.", _REMEDIES.get(error.errno or 0, ""))


def cannot_set(name: str, value: str, path: object, error: OSError) -> CannotSet:
    """The error of a failed write of `value` to `path`."""
    if error.errno in _GONE:
        return CannotSet(
            f"{name}: {path} is not there: {reason(error)}.", "Check that the device or mount still exists."
        )
    return CannotSet(f"{name}={value}: {path}: {reason(error)}.", _REMEDIES.get(error.errno or 0, ""))
