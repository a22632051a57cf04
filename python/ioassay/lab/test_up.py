"""Two processes cannot start a lab with the same name, and other users cannot block root's start."""

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
    """The error message of another user's shell that opens the lock with `<` or `>`."""
    command = ["sh", "-c", f": {redirection}{up.LOCKS}"]
    return subprocess.run(
        command, user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, text=True, check=False
    ).stderr


def _another_process_starts(name: str) -> str:
    """The error message of another process that starts a lab with that name; empty if it succeeds."""
    script = f"from ioassay.lab import up\nwith up._alone({name!r}): pass"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stderr


def test_another_user_cannot_open_the_lock() -> None:
    with up._alone(NAME):
        for redirection in "<>":
            assert "Permission denied" in _stranger_opens(redirection)


def test_another_users_socket_does_not_block_a_name() -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(f"\0ioassay-lab-{NAME}")
        with up._alone(NAME):
            pass


def test_a_second_process_is_refused_while_the_first_starts_the_lab() -> None:
    with up._alone(NAME):
        assert f"The lab {NAME} is being started by another process" in _another_process_starts(NAME)
        assert _another_process_starts(f"{NAME}-beside") == ""
    assert _another_process_starts(NAME) == ""


def test_another_users_lock_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "labs.lock"
    monkeypatch.setattr(up, "LOCKS", planted)
    planted.touch()
    os.chown(planted, STRANGER, STRANGER)
    with pytest.raises(UsageError, match=f"{planted} belongs to another user"), up._alone(NAME):
        pass
