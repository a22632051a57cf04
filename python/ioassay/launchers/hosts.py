"""The nodes for clients: as typed, or those of the current allocation.

Not here: hosts of a lab (`execution.places`), how a launcher gets them.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from ioassay.errors import CannotRun, UsageError
from ioassay.launchers.placement import Node

_NAME = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\]")


def typed(text: str) -> list[Node]:
    """The nodes in `a,b,c`, or in a hostfile of MPI launchers: one host per line, further words are ignored.

    Raises `UsageError`.
    """
    if Path(text).is_file():
        lines = (line.split("#")[0].split() for line in Path(text).read_text().splitlines())
        names = [words[0] for words in lines if words]
    else:
        names = [name.strip() for name in text.split(",") if name.strip()]
    names = [name if name.startswith("[") else name.split(":")[0] for name in names]
    if wrong := [name for name in names if not _NAME.fullmatch(name)]:
        raise UsageError(
            f"`{wrong[0]}` is not a host name.", "Write --hosts a,b,c or --hosts FILE with one host per line."
        )
    if not names:
        raise UsageError(f"`{text}` lists no hosts.", "Write --hosts a,b,c or --hosts FILE with one host per line.")
    return [Node(name) for name in dict.fromkeys(names)]


def allocated() -> list[Node]:
    """The nodes of the current Slurm job, in Slurm's order; empty outside of a job. Raises `CannotRun`."""
    listed = os.environ.get("SLURM_JOB_NODELIST")
    if not listed:
        return []
    command = ["scontrol", "show", "hostnames", listed]
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CannotRun(f"`{' '.join(command)}` failed: {error}.", "List the nodes with --hosts.") from error
    return [Node(name) for name in result.stdout.split()]
