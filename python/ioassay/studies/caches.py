"""What a study can say of cold caches: ways to try on the clients, commands for servers, the site's remount.

Not here: how any of it is done; the engine does that.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Self

from ioassay.studies.values import CacheMethod, HostName, Waiting, Words, each_once
from ioassay.yaml_models.model import Field, Part, model_validator

if TYPE_CHECKING:
    from ioassay.protocol.plan import Hook as HookPlan
    from ioassay.protocol.plan import SiteCommand as SiteCommandPlan
    from ioassay.protocol.plan import StepColdCache as StepColdCachePlan

TIME_LIMIT_NS = 300 * 10**9
"""An unmount writes out what is dirty, and a server may need its time to start."""

VIA = "ssh -o BatchMode=yes"
"""How a command reaches a server."""

REMOUNT = (
    'findmnt --fstab --mountpoint "$IOASSAY_MOUNT_POINT" '
    '|| { echo "$IOASSAY_MOUNT_POINT is not in /etc/fstab: give the remount a command of its own"; exit 1; }; '
    'umount "$IOASSAY_MOUNT_POINT" && mount "$IOASSAY_MOUNT_POINT"'
)
"""The remount where the study gives no command. Nothing is unmounted that could not be mounted again."""


def local(words: list[str] | str) -> list[str]:
    """The program and its arguments on the node itself. A line is for its shell."""
    return ["sh", "-c", words] if isinstance(words, str) else words


class Remount(Part):
    """The site's way to unmount the target's file system and to mount it anew, once on every client node."""

    command: Words | None = Field(
        default=None,
        description="A line for the shell, or a list of words. Its environment has `IOASSAY_MOUNT_POINT`, "
        "`IOASSAY_MOUNT_SOURCE`, `IOASSAY_MOUNT_TYPE`, `IOASSAY_MOUNT_OPTIONS` (as the kernel reports them) and "
        "`IOASSAY_TARGET`. Default: `umount` and `mount` of the mount point, which must be in `/etc/fstab`.",
    )
    time_limit: Waiting = Field(
        default=TIME_LIMIT_NS, description="Time limit on a node; then the command is killed and counts as failed."
    )

    def plan(self) -> SiteCommandPlan:
        """As the plan has it."""
        return {"words": local(self.command or REMOUNT), "time_limit_ns": self.time_limit}


class Hook(Part):
    """A command for servers, run from the first client node: for one host after the other, until one fails."""

    hosts: list[HostName] = Field(
        default=[], description="The servers. Default: the command runs once, on the first client node itself."
    )
    command: Words = Field(
        description="The command: a line for the server's shell, such as `systemctl restart nfs-server`, or a list "
        "of words."
    )
    via: Words = Field(
        default=VIA,
        description="How to reach a host: the words before its name. Default: `ssh` without prompts, as the user who "
        "runs the study.",
    )
    time_limit: Waiting = Field(
        default=TIME_LIMIT_NS, description="Time limit for each host; then the command is killed and counts as failed."
    )

    @model_validator(mode="after")
    def _hosts_once(self) -> Self:
        each_once("lists a host")(self.hosts)
        return self

    def plan(self) -> list[HookPlan]:
        """As the plan has it: a command for each host."""
        if not self.hosts:
            return [{"command": self._command(local(self.command))}]
        # What takes a command to another host joins its words, and a shell there takes them apart again.
        line = self.command if isinstance(self.command, str) else shlex.join(self.command)
        via = shlex.split(self.via) if isinstance(self.via, str) else self.via
        return [{"host": host, "command": self._command([*via, host, line])} for host in self.hosts]

    def _command(self, words: list[str]) -> SiteCommandPlan:
        return {"words": words, "time_limit_ns": self.time_limit}


class ColdCache(Part):
    """Empties caches, then measures what each node still has in memory. A plain list stands for `methods` alone."""

    hooks: list[Hook] = Field(default=[], description="Commands for servers, before anything is done on the clients.")
    methods: list[CacheMethod] = Field(
        default=[],
        description="Methods to try on every client node, in this order, until almost nothing is left in memory. "
        "`drop-caches`: all caches of the node (needs root). `fadvise`: the files' pages. `remount`: unmount the file "
        "system and mount it again. `read-other-rank`: each rank reads what a rank of the next node wrote, or, on a "
        "single node, what the next rank wrote (IOR's `-C`).",
    )
    remount: Remount | None = Field(default=None, description="The command of the method `remount`.")

    @model_validator(mode="after")
    def _remounts(self) -> Self:
        if self.remount is not None and "remount" not in self.methods:
            raise ValueError("has a `remount` command, but `remount` is not among its `methods`; add it")
        return self

    def plan(self) -> StepColdCachePlan:
        """The step of the plan."""
        made: StepColdCachePlan = {"step": "cold-cache", "attempts": [*self.methods]}
        if hooks := [command for hook in self.hooks for command in hook.plan()]:
            made["hooks"] = hooks
        if "remount" in self.methods:
            made["remount"] = (self.remount or Remount()).plan()
        return made
