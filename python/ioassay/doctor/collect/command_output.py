"""What commands say."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

LIMIT_S = 30


def said(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str | None:
    """What `command` prints, errors included; `None` where it does not start, fails, or takes longer than `LIMIT_S`."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
