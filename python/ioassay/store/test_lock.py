from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.store.lock import Lock, in_use
from ioassay.store.stored_directory import StoredDirectory


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[StoredDirectory]:
    with StoredDirectory.open(tmp_path) as opened:
        yield opened


def test_a_held_run_is_refused_and_its_holder_named(directory: StoredDirectory) -> None:
    with Lock.acquire(directory):
        assert in_use(directory)
        with pytest.raises(UsageError, match=f"in use by process {os.getpid()} on "):
            Lock.acquire(directory)
    assert not in_use(directory)
    Lock.acquire(directory).release()


def test_a_run_that_was_never_locked_is_not_in_use(directory: StoredDirectory) -> None:
    assert not in_use(directory)
    assert list(directory.path.iterdir()) == []


def test_a_run_stays_in_use_until_the_last_heir_of_its_lock_is_gone(directory: StoredDirectory) -> None:
    lock = Lock.acquire(directory)
    heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock.descriptor])
    lock.release()
    assert in_use(directory)
    heir.send_signal(signal.SIGKILL)
    heir.communicate()
    assert not in_use(directory)


def test_an_engine_that_lost_its_control_plane_is_waited_for(directory: StoredDirectory) -> None:
    holder = "import sys; from pathlib import Path; from ioassay.store.lock import Lock; import subprocess; "
    holder += "from ioassay.store.stored_directory import StoredDirectory; "
    holder += "held = Lock.acquire(StoredDirectory.open(Path(sys.argv[1]))); "
    holder += "subprocess.Popen(['sleep', '2'], pass_fds=[held.descriptor])"
    subprocess.run([sys.executable, "-c", holder, str(directory.path)], check=True)
    assert in_use(directory)
    Lock.acquire(directory).release()
