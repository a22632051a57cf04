"""The output of a program in several processes, for tests of what must be the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys


def printed_elsewhere(program: str) -> set[str]:
    """The output of a Python program in two processes that order their sets and hashes differently."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
