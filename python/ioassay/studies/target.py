"""Where a study's I/O goes: a directory, a block device or a URL, as typed after `--target`.

A block device loses what is on it, so it is taken only where it is named a second time (`--destroy-data`).

Not here: looking at the target, but for whether it is a block device; the engine does that.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ioassay import mounts
from ioassay.errors import UsageError

if TYPE_CHECKING:
    from ioassay.protocol.plan import Target as TargetPlan

DATASET_PREFIX = "ioassay-dataset-"
"""The beginning of the names of directories with datasets."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True)
class Target:
    """Where the I/O goes."""

    kind: Literal["directory", "device", "url"]
    place: str
    """An absolute path, or a URL. Its query is no secret: credentials come from the environment."""

    @property
    def api(self) -> str:
        """The storage API that measures it where the study names none."""
        if self.kind != "url":
            return "posix"
        return "nfs" if self.place.startswith("nfs://") else "object"

    def plan(self) -> TargetPlan:
        """As the plan has it."""
        if self.kind == "device":
            return {"device": {"path": self.place, "destroy_data": self.place}}
        return {"url": self.place} if self.kind == "url" else {"directory": self.place}

    def workspace(self, run: str) -> str:
        """The engine's own directory or prefix in it; a device has none and is named itself."""
        if self.kind == "device":
            return self.place
        base, question, query = self.place.partition("?")
        return f"{base.rstrip('/') or '/'}{'' if base == '/' else '/'}ioassay-{run}{question}{query}"

    def inside(self, run: str, name: str) -> str:
        """Something of the run's own on it, for command lines to show."""
        if self.kind == "device":
            return self.place
        base, question, query = self.workspace(run).partition("?")
        return f"{base}/{name}{question}{query}"


def dataset_directory(target: str, name: str) -> str:
    """The directory in which the engine keeps a dataset (`keep: NAME`) on the directory `target`."""
    return f"{'' if target == '/' else target}/{DATASET_PREFIX}{name}"


def parse_target(typed: str, destroy_data: str | None, *, look: bool = True) -> Target:
    """The target that was typed. Raises `UsageError`, and `CannotRun` where it does not answer.

    A path is a block device where one is there, or where `destroy_data` says so; else a directory. Without `look`
    nothing is asked of it, and it is taken for a directory.
    """
    if not typed.isprintable():
        # Plans and results are JSON in UTF-8, and a name that cannot be printed cannot be reported either.
        raise UsageError(
            f"The target {os.fsencode(typed)!r} has a name that cannot be written in UTF-8 or printed.",
            "Use another name for it, for example a symbolic link.",
        )
    if _SCHEME.match(typed):
        if destroy_data is not None:
            raise UsageError("--destroy-data is for block devices, but the target is a URL.", "Leave it out.")
        return Target("url", typed)
    # Absolute, but not resolved: following links would already touch the target.
    path = os.path.abspath(typed)
    if destroy_data is None:
        if look and _is_block_device(path):
            raise UsageError(
                f"{path} is a block device: measuring it destroys all data on it.",
                f"To allow that, name it twice: --target {typed} --destroy-data {typed}",
            )
        return Target("directory", path)
    if os.path.abspath(destroy_data) != path:
        raise UsageError(
            f"--destroy-data names {destroy_data}, but the target is {typed}.",
            "Use the same device for both if all data on it may be destroyed.",
        )
    if not _is_block_device(path):
        raise UsageError(f"--destroy-data: {path} is not a block device.", "Leave it out to measure a directory.")
    return Target("device", path)


def no_directory(path: str, code: int | None, node: str = "") -> UsageError | None:
    """The refusal of a target for which the system gave the error number `code`, on `node` where it is another one.

    `None` where the directory is there and cannot be used, which is no wrong usage.
    """
    wrong = {errno.ENOENT: "does not exist", errno.ENOTDIR: "is not a directory"}.get(code or 0)
    if wrong is None:
        return None
    on = f" on {node}" if node else ""
    return UsageError(f"{path} {wrong}{on}.", "Use an existing directory on the file system to be measured.")


def _is_block_device(path: str) -> bool:
    try:
        return stat.S_ISBLK(mounts.ask(path, lambda: os.stat(path).st_mode))
    except OSError:
        return False
