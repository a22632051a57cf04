"""Processes that look like a lab but are not ours: commands of root ignore them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ioassay.errors import CannotRun
from ioassay.lab import record
from ioassay.lab.namespaces import Space
from ioassay.lab.process_handle import ProcessHandle
from ioassay.lab.running import find, running

from .support import ioassay, until

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="root's commands are what is attacked"),
]

NAME = f"impostor-{os.getpid()}"
STRANGER = 65534

RECORD = record.Lab(
    name=NAME,
    title="Not a lab",
    yaml="",
    started="2026-01-01T00:00:00Z",
    hosts=[record.Member(name="client1", role="client", address="10.86.0.1")],
    link_bits_per_s=None,
    ssh=False,
    slurm=False,
    targets=[
        record.Target(
            storage="xfs", about="", kind="directory", place="/tmp", api="posix", environment={"LD_PRELOAD": "/evil.so"}
        )
    ],
    disks={},
    disk_servers={},
    disk_bytes=0,
    disk_place="/",
)

HOLD = "sleep 300 & wait $!"
LOOK_ALIKE = f"sh -c '{HOLD}' ioassay-host client1 & exec sh -c '{HOLD}' ioassay-lab {NAME}"

OWN_TOOLS = """\
for tool in ss ip id; do mount --bind "$1/tool" "$(command -v $tool)"; done
mount -t tmpfs own /run && mkdir /run/ioassay && cp "$1/lab.json" /run/ioassay/
"""
"""What is then found in the namespace under the names of tools leaves a trace."""

NAMESPACES = ["unshare", "--fork", "--kill-child", "--pid", "--mount-proc", "--mount", "--net"]


def as_stranger() -> None:
    os.setgroups([])
    os.setresgid(STRANGER, STRANGER, STRANGER)
    os.setresuid(STRANGER, STRANGER, STRANGER)


def hold_record() -> None:
    """Creates a record that the next program of this process holds open."""
    file = record.create()
    record.publish(file, RECORD)
    fcntl.fcntl(file, fcntl.F_SETFD, 0)


def stranger() -> None:
    as_stranger()
    hold_record()


def program_of_a_stranger_with_roots_rights() -> None:
    """A program that takes root's identity by its set-user-ID bit, and keeps inherited descriptors."""
    os.seteuid(STRANGER)
    hold_record()
    os.seteuid(0)


WAYS: dict[str, tuple[Callable[[], None], list[str]]] = {
    "another user's namespaces": (stranger, [*NAMESPACES, "--map-root-user"]),
    "another user's process": (stranger, []),
    "a program with root's rights that another user started": (program_of_a_stranger_with_roots_rights, NAMESPACES),
    "a user namespace of root's": (hold_record, [*NAMESPACES, "--map-root-user"]),
    "root in a container": (hold_record, ["setpriv", "--bounding-set=-sys_module,-sys_rawio", *NAMESPACES]),
    "root's process without a record": (lambda: None, NAMESPACES),
}


class Impostor:
    """A process that looks like the first one of a lab, with a host in it."""

    def __init__(self, way: str, place: Path) -> None:
        become, words = WAYS[way]
        self.trace = place / "trace"
        (place / "tool").write_text(f'#!/bin/sh\necho "$0 $@" >> {self.trace}\n')
        (place / "tool").chmod(0o755)
        (place / "lab.json").write_text(RECORD.model_dump_json())
        script = f"set -e; {OWN_TOOLS if 'unshare' in words else ''}\n{LOOK_ALIKE}"
        self._outer = subprocess.Popen(
            [*words, "sh", "-c", script, "sh", str(place)],
            preexec_fn=become,  # noqa: PLW1509  (there is one thread)
            close_fds=False,
            start_new_session=True,
        )
        until(lambda: self._look() is not None, "the impostor to be up")
        first = self._look()
        assert first is not None
        self.first = first

    def _look(self) -> psutil.Process | None:
        assert self._outer.poll() is None, "the impostor did not come up"
        outer = psutil.Process(self._outer.pid)
        for process in (outer, *outer.children(recursive=True)):
            with contextlib.suppress(psutil.Error):  # those that set it up come and go
                words = process.cmdline()
                if words[:1] == ["sh"] and words[-2:] == ["ioassay-lab", NAME]:
                    return process
        return None

    def end(self) -> None:
        """Ends it with all that it has started."""
        os.killpg(self._outer.pid, signal.SIGKILL)
        self._outer.wait()

    @property
    def is_unharmed(self) -> bool:
        """True while it runs and none of its programs was executed."""
        return self.first.is_running() and self.first.status() != psutil.STATUS_ZOMBIE and not self.trace.exists()


@contextmanager
def impostor(way: str) -> Iterator[Impostor]:
    place = Path(tempfile.mkdtemp())
    place.chmod(0o777)
    created = Impostor(way, place)
    try:
        yield created
    finally:
        created.end()
        shutil.rmtree(place)


@pytest.mark.parametrize("way", WAYS)
def test_an_impostor_is_not_a_lab(way: str) -> None:
    with impostor(way) as process:
        assert NAME not in running()
        with pytest.raises(CannotRun, match="is not up"):
            find(NAME)
        assert process.is_unharmed


def test_no_command_uses_or_ends_another_users_impostor(tmp_path: Path) -> None:
    with impostor("another user's namespaces") as process:
        for arguments in (("lab", "status"), ("lab", "status", "--json")):
            code, out, _ = ioassay(*arguments)
            assert (code, NAME in out) == (0, False), out
        for arguments in (
            ("lab", "status", NAME),
            ("lab", "exec", NAME, "id"),
            ("lab", "cut", f"{NAME}/client1"),
            ("lab", "down", NAME, "--force"),
            ("run", "quick", "--target", f"lab:{NAME}", "--out", str(tmp_path / "run")),
            ("run", "quick", "--target", str(tmp_path), "--clients", f"lab:{NAME}", "--out", str(tmp_path / "run")),
            ("net", "--clients", f"lab:{NAME}", "--servers", "localhost=127.0.0.1", "--out", str(tmp_path / "net")),
        ):
            code, _, err = ioassay(*arguments)
            assert (code, f"The lab {NAME} is not up." in err) == (3, True), (arguments, err)
        assert process.is_unharmed


def test_a_host_whose_process_has_ended_is_unusable_even_if_its_number_is_reused() -> None:
    process = subprocess.Popen(["sleep", "300"])
    space = Space(ProcessHandle(process.pid))
    assert space.attempt("true").returncode == 0
    process.kill()
    process.wait()
    with number_taken_again(process.pid):
        assert space.attempt("true").returncode != 0
        with pytest.raises(ProcessLookupError):
            space.path("/").stat()
        assert not space.first.exists
        with pytest.raises(ProcessLookupError):
            space.first.kill()


@contextmanager
def number_taken_again(pid: int) -> Iterator[None]:
    """Another process that has this number."""
    for _ in range(1000):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        with subprocess.Popen(["sleep", "300"]) as other:
            try:
                if other.pid == pid:
                    yield
                    return
            finally:
                other.kill()
    pytest.fail(f"no process gets the number {pid}")
