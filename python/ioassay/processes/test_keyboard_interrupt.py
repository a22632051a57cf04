"""Handling of Ctrl-C below the commands, which tests/test_process_limits.py tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CAUGHT = """\
import signal
import sys

from ioassay.processes import keyboard_interrupt


def work() -> None:
    exec("signal.raise_signal(signal.SIGINT)")


keyboard_interrupt.allow_below(work.__code__)
keyboard_interrupt.take()
try:
    work()
except KeyboardInterrupt:
    pass
keyboard_interrupt.finish()
sys.exit(3)
"""


def test_a_caught_interruption_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "caught.py").write_text(CAUGHT)
    result = subprocess.run(
        ["env", "--default-signal=INT", sys.executable, "-m", "caught"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (3, "")


def test_nothing_slow_is_imported_before_ctrl_c_is_handled() -> None:
    code = "import ioassay.__main__; print(*{'pathlib', 're', 'typer', 'typing'}.intersection(sys.modules))"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"
