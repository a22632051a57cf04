"""A page as the headless browser of the machine has it once its script has run. Not: printing (`reports.pdf`)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from ioassay.reports.pdf import find_browser

_LIMIT_S = 60
"""A bound against hanging."""


def dumped(page: Path, width: int = 1200) -> str:
    """The page's HTML after its script, in a window of so many pixels. Raises `CannotRun` where there is no browser."""
    with tempfile.TemporaryDirectory() as profile:
        command = [find_browser(), "--headless", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom"]
        command.append(f"--window-size={width},1000")
        if os.geteuid() == 0:
            command.append("--no-sandbox")
        result = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    return result.stdout
