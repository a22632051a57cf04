"""Early ends of the control plane, by Ctrl-C or limits of processes and files, without a traceback."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .support import DEADLINE_S, measure, study, workload

MOMENTS = 4
LATEST_S = 1.0

BRIEFLY = ["--set", "repetitions=1", "--set", "time=20ms", "--set", "write_time=20ms", "--set", "create_time=20ms"]
"""What keeps the study `quick` short."""

INTERRUPTIBLE = ["env", "--default-signal=INT"]

START = """\
from ioassay.processes import keyboard_interrupt
keyboard_interrupt.take()
print("ready", flush=True)
input()
from ioassay.__main__ import main
main()
"""
"""The command as its script starts it; when the first thing that it does is done, it says so and waits for a line."""

USER = 61234
"""Nobody: root's processes are not limited in number. It may read what root may, such as this Python."""
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
READING = ["--inh-caps=-all,+dac_read_search,+dac_override", "--ambient-caps=-all,+dac_read_search,+dac_override"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that can be reported."""
    place = tmp_path_factory.mktemp("stored")
    (place / "target").mkdir()
    measure(study(place, workload("one")), place / "target", place / "run")
    return place / "run"


def arguments_of(command: str, stored: Path, place: Path) -> list[str]:
    place.mkdir(exist_ok=True)
    return {
        "help": ["run", "--help"],
        "report": ["report", str(stored), "-o", str(place / "report.html")],
        "studies": ["studies"],
        "list": ["list", str(stored.parent)],
        "compare": ["compare", str(stored), str(stored)],
        "publish": ["publish", str(stored), "-o", str(place / "published")],
        "size": ["size", "explain", "astra"],
        "tune": ["tune", "check", str(place)],
        "run": ["run", "quick", "--target", str(place), "--out", str(place / "run"), *BRIEFLY],
    }[command]


@pytest.mark.parametrize("command", ["help", "studies", "list", "report", "compare", "publish", "size", "tune", "run"])
def test_ctrl_c_at_any_moment_is_no_traceback(command: str, stored: Path, tmp_path: Path) -> None:
    moments = random.Random(command)
    codes = []
    # The first comes before the command may begin, so that one at least does not find it done, however fast it is.
    waits = [0.0, *(moments.uniform(index, index + 1) * LATEST_S / MOMENTS for index in range(1, MOMENTS))]
    started = []
    for number, wait_s in enumerate(waits):
        process = subprocess.Popen(
            [*INTERRUPTIBLE, sys.executable, "-c", START, *arguments_of(command, stored, tmp_path / f"{number}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if wait_s == 0.0:
            process.send_signal(signal.SIGINT)
        # Also then: a signal that comes just before the process waits for the line is noticed only after it.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("go\n")
            process.stdin.flush()
        started.append((time.monotonic() + wait_s, process))
    for when, process in started:
        time.sleep(max(0.0, when - time.monotonic()))
        process.send_signal(signal.SIGINT)
    for _, process in started:
        _, err = process.communicate(timeout=DEADLINE_S)
        assert "Traceback" not in err
        assert process.returncode in (0, 3), err
        assert process.returncode == 0 or "interrupted" in err.lower()
        codes.append(process.returncode)
    assert 3 in codes


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes another user's rights, which only root may")
@pytest.mark.parametrize(("limit", "words"), [("nproc=5", "ulimit -u"), ("nofile=16", "ulimit -n")])
@pytest.mark.parametrize("command", ["studies", "report", "run"])
def test_a_limit_that_is_too_low_is_one_error(
    command: str, limit: str, words: str, stored: Path, tmp_path: Path
) -> None:
    # From within: access(2), which arguments are checked by, asks for the user's own rights to each directory above.
    stored.parent.chmod(0o755)
    typed = [sys.executable, "-m", "ioassay", *arguments_of(command, Path(stored.name), tmp_path / "place")]
    limited = [*AS_USER, *READING, "prlimit", f"--{limit}", *typed]
    result = subprocess.run(limited, capture_output=True, text=True, check=False, cwd=stored.parent)
    assert (result.returncode, result.stdout) == (3, "")
    message, remedy = result.stderr.splitlines()
    assert message.startswith("ioassay: This process ")
    assert words in remedy
