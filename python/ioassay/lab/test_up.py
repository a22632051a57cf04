"""Two processes do not start a lab of one name, and other users cannot keep root from starting it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.lab import up

NAME = f"lock-{os.getpid()}"
STRANGER = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="labs are root's")


def _stranger_opens(redirection: str) -> str:
    """What the shell of another user says that opens the lock with `<` or `>`."""
    command = ["sh", "-c", f": {redirection}{up.LOCKS}"]
    return subprocess.run(
        command, user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, text=True, check=False
    ).stderr


def _another_process_starts(name: str) -> str:
    """What another process is refused with that starts a lab of that name, if it is."""
    script = f"from ioassay.lab import up\nwith up._alone({name!r}): pass"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr


def test_another_user_cannot_open_the_lock() -> None:
    with up._alone(NAME):
        for redirection in "<>":
            assert "Permission denied" in _stranger_opens(redirection)


def test_a_name_that_another_user_has_taken_as_a_socket_is_free() -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(f"\0ioassay-lab-{NAME}")
        with up._alone(NAME):
            pass


def test_a_second_process_is_refused_as_long_as_the_first_starts_it() -> None:
    with up._alone(NAME):
        assert f"The lab {NAME} is being started by another process" in _another_process_starts(NAME)
        assert _another_process_starts(f"{NAME}-beside") == ""
    assert _another_process_starts(NAME) == ""


def test_a_file_of_another_user_in_its_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "labs.lock"
    monkeypatch.setattr(up, "LOCKS", planted)
    planted.touch()
    os.chown(planted, STRANGER, STRANGER)
    with pytest.raises(UsageError, match=f"{planted} belongs to another user"), up._alone(NAME):
        pass
