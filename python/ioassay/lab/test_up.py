"""Two processes do not start a lab of one name, and other users cannot keep root from starting it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.lab import up

NAME = f"lock-{os.getpid()}"
LOCK = Path(f"/run/ioassay-lab-{NAME}.lock")
STRANGER = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="labs are root's")


def _stranger_opens(redirection: str) -> str:
    """What the shell of another user says that opens the lock with `<` or `>`."""
    command = ["sh", "-c", f": {redirection}{LOCK}"]
    return subprocess.run(
        command, user=STRANGER, group=STRANGER, extra_groups=[], capture_output=True, text=True, check=False
    ).stderr


def test_another_user_can_neither_make_nor_open_the_lock() -> None:
    assert "Permission denied" in _stranger_opens(">")
    with up._alone(NAME):
        assert "Permission denied" in _stranger_opens("<")
    assert not LOCK.exists()


def test_a_name_that_another_user_has_taken_as_a_socket_is_free() -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(f"\0ioassay-lab-{NAME}")
        with up._alone(NAME):
            assert LOCK.exists()


def test_a_second_process_is_refused_as_long_as_the_first_starts_it() -> None:
    with up._alone(NAME), pytest.raises(UsageError, match="is being started by another process"), up._alone(NAME):
        pass
    with up._alone(NAME):
        pass


def test_a_file_of_another_user_in_its_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "_LOCKS", tmp_path)
    planted = tmp_path / LOCK.name
    planted.touch()
    os.chown(planted, STRANGER, STRANGER)
    with pytest.raises(UsageError, match=f"{planted} belongs to another user"), up._alone(NAME):
        pass


def test_a_lock_whose_file_was_removed_meanwhile_is_none(tmp_path: Path) -> None:
    file = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    (tmp_path / "lock").unlink()
    assert not up._locked(file)
    os.close(file)
