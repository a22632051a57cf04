from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.results.lock import Lock, in_use


def test_a_held_run_is_refused_and_its_holder_named(tmp_path: Path) -> None:
    with Lock.acquire(tmp_path):
        assert in_use(tmp_path)
        with pytest.raises(UsageError, match=f"in use by process {os.getpid()} on "):
            Lock.acquire(tmp_path)
    assert not in_use(tmp_path)
    Lock.acquire(tmp_path).release()


def test_a_run_that_was_never_locked_is_not_in_use(tmp_path: Path) -> None:
    assert not in_use(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_stays_in_use_until_the_last_heir_of_its_lock_is_gone(tmp_path: Path) -> None:
    lock = Lock.acquire(tmp_path)
    heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.descriptor])
    lock.release()
    assert in_use(tmp_path)
    heir.send_signal(signal.SIGKILL)
    heir.communicate()
    assert not in_use(tmp_path)


def test_an_engine_that_lost_its_control_plane_is_waited_for(tmp_path: Path) -> None:
    holder = "import sys; from pathlib import Path; from ioassay.results.lock import Lock; import subprocess; "
    holder += "held = Lock.acquire(Path(sys.argv[1])); "
    holder += "subprocess.Popen(['sleep', '0.3'], pass_fds=[held.descriptor])"
    subprocess.run([sys.executable, "-c", holder, str(tmp_path)], check=True)
    assert in_use(tmp_path)
    Lock.acquire(tmp_path).release()
