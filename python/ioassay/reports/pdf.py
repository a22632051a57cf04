"""A page as PDF, printed by the headless browser of the machine: A4, figures as vectors, bookmarks, tagged.

How it looks on paper stands in `templates/document.css` and `templates/sheet.css`. The PDF says what the page says, but
its bytes are the browser's: they differ from version to version and carry the moment of printing. Not: what is on the
page (`document`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from ioassay.errors import CannotRun
from ioassay.processes.limits import small_address_space

BROWSER = "IOASSAY_BROWSER"
"""The environment variable that names the browser, in place of the first of `BROWSERS` on the PATH."""

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "brave-browser",
)
"""Browsers that print with `--print-to-pdf`. Firefox does not."""

LIMIT_S = 300.0
"""Time limit for the browser: a page of 6 MB takes some 10 s."""

_REMEDY = (
    f"Install Chromium or Chrome, or set {BROWSER} to its path. Otherwise, open the page (--format html) in any "
    "browser and print it."
)

_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers often have a tiny /dev/shm
    "--disable-extensions",
    "--no-first-run",
    # The page needs no network, and the browser is not to look for its own updates.
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-pdf-header-footer",  # the page has its own
    "--generate-pdf-document-outline",
)


def find_browser() -> str:
    """The browser that prints. Raises `CannotRun` where there is none."""
    named = os.environ.get(BROWSER)
    for name in [named] if named else BROWSERS:
        if program := shutil.which(name):
            return program
    if named:
        raise CannotRun(f"{BROWSER} is set to {named}, which is not a program.", _REMEDY)
    raise CannotRun("A PDF needs a browser to print it, but none is on the PATH.", _REMEDY)


def printed(page: bytes, limit_s: float = LIMIT_S) -> bytes:
    """The PDF of an HTML page that needs nothing but itself.

    Nothing is left of the browser and of what it wrote, whatever happens. Raises `CannotRun` where there is no browser,
    where it fails, and after `limit_s`.
    """
    browser = find_browser()
    if limited := small_address_space():
        # Chromium may hang then.
        raise CannotRun(f"{browser} cannot print: {limited}.", "Raise that limit, or use --format html.")
    with tempfile.TemporaryDirectory(prefix="ioassay-pdf-") as scratch:
        place = Path(scratch)
        source, target, output = place / "page.html", place / "page.pdf", place / "output.txt"
        source.write_bytes(page)
        command = [browser, *_OPTIONS, f"--user-data-dir={place / 'profile'}", f"--print-to-pdf={target}"]
        if os.geteuid() == 0:
            # Chromium refuses to start its sandbox as root. The page is our own, and nothing else is opened.
            command.append("--no-sandbox")
        code = _run([*command, source.as_uri()], place, output, limit_s)
        if code != 0 or not target.exists():
            raise CannotRun(f"{browser} printed nothing{_failure_text(output.read_text(errors='replace'))}", _REMEDY)
        return target.read_bytes()


def _run(command: list[str], place: Path, path: Path, limit_s: float) -> int:
    """Runs the browser with its files below `place`. Returns its exit status."""
    directories = {"XDG_CONFIG_HOME": str(place), "XDG_CACHE_HOME": str(place)}
    with path.open("wb") as file:
        try:
            process = subprocess.Popen(
                command,
                env=os.environ | directories,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,  # so that it can be ended with all its helpers
            )
        except OSError as error:
            raise CannotRun(f"{command[0]} cannot be started: {error.strerror}.", _REMEDY) from error
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired as error:
        raise CannotRun(f"{command[0]} did not print the page within {limit_s:g} s.", _REMEDY) from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure_text(text: str) -> str:
    """The last line of the output, or its line with FATAL."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "FATAL" in line), lines[-1] if lines else "")
    return f": {last}" if last else "."
