"""A stored directory of another user, with everything in it that could lead a reader or writer astray."""

from __future__ import annotations

import os
import resource
import shutil
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.store.lock import Lock, in_use
from ioassay.store.net_directory import read_net
from ioassay.store.run_directory import load
from ioassay.store.run_writer import RunWriter
from ioassay.store.stored_directory import StoredDirectory, add_file
from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

SOMEBODY_ELSE = 65534


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return store(RunBuilder().workload("seq").clients(1, 2).build(), tmp_path / "run")


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file that must stay as it is."""
    file = tmp_path / "victim"
    file.write_text("precious")
    yield file
    assert file.read_text() == "precious"


@pytest.fixture
def foreign(run: Path) -> Path:
    if os.geteuid() != 0:
        pytest.fail("these tests give files away, which takes root")
    for path in (run, *run.rglob("*")):
        os.chown(path, SOMEBODY_ELSE, SOMEBODY_ELSE)
    return run


def _everything(path: Path) -> dict[str, tuple[int, int]]:
    return {str(file): (file.lstat().st_ino, file.lstat().st_mtime_ns) for file in (path, *path.rglob("*"))}


def _killed(run: Path) -> None:
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"state": "complete",\n  "started"', '"state": "running",\n  "started"'))


def test_a_link_under_the_name_of_a_temporary_file_is_not_written_through(run: Path, victim: Path) -> None:
    (run / ".report.html.new").symlink_to(victim)
    add_file(run, "report.html", b"the report")
    assert (run / "report.html").read_bytes() == b"the report"


def test_a_link_in_place_of_the_report_is_replaced_and_not_followed(run: Path, victim: Path) -> None:
    (run / "report.html").symlink_to(victim)
    add_file(run, "report.html", b"the report")
    assert not (run / "report.html").is_symlink()


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_lock_that_is_a_link_is_neither_emptied_nor_locked(
    run: Path, victim: Path, link: Callable[[Path, Path], None]
) -> None:
    (run / "lock").unlink(missing_ok=True)
    link(victim, run / "lock")
    with StoredDirectory.open(run) as directory, pytest.raises(UsageError, match="lock is not"):
        Lock.acquire(directory)


def test_completing_a_run_whose_lock_is_a_link_writes_nothing(run: Path, victim: Path) -> None:
    _killed(run)
    (run / "lock").symlink_to(victim)
    before = _everything(run)
    with pytest.raises(UsageError, match="lock is a symbolic link"):
        load(run)
    assert _everything(run) == before


def test_nothing_is_written_into_the_run_of_another_user(foreign: Path) -> None:
    before = _everything(foreign)
    assert load(foreign).document.state == "complete"
    with pytest.raises(UsageError, match="belongs to another user") as refused:
        add_file(foreign, "report.html", b"")
    assert "-o" in refused.value.remedy
    with pytest.raises(UsageError, match="belongs to another user"):
        RunWriter.reopen(foreign)
    assert _everything(foreign) == before


def test_the_killed_run_of_another_user_is_completed_in_memory_alone(foreign: Path) -> None:
    shutil.rmtree(foreign / "logs", ignore_errors=True)
    _killed(foreign)
    text = (foreign / "run.json").read_text()
    (foreign / "run.json").write_text(
        text.replace('"state": "complete",\n      "error"', '"state": "pending",\n      "error"')
    )
    before = _everything(foreign)
    assert load(foreign).document.state == "interrupted"
    assert _everything(foreign) == before


def test_an_empty_directory_of_another_user_does_not_become_a_run(tmp_path: Path, foreign: Path) -> None:
    document = load(foreign).document
    others_directory = tmp_path / "theirs"
    others_directory.mkdir()
    os.chown(others_directory, SOMEBODY_ELSE, SOMEBODY_ELSE)
    with pytest.raises(UsageError, match="belongs to another user"):
        RunWriter.create(others_directory, document, {})
    assert not any(others_directory.iterdir())


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    os.mknod(path, 0o020666, os.makedev(1, 5))  # /dev/zero: it never ends


def _directory(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


@pytest.mark.parametrize("make", [_fifo, _device, _directory, _socket, _link])
@pytest.mark.parametrize("name", ["run.json", "measurements.parquet", "samples.parquet"])
def test_only_regular_files_are_read(run: Path, name: str, make: Callable[[Path], None]) -> None:
    (run / name).unlink()
    make(run / name)
    with pytest.raises(UsageError, match=rf"{name} is (not a regular file|a symbolic link)"):
        load(run)


@pytest.mark.parametrize("make", [_fifo, _device, _directory, _socket, _link])
def test_a_lock_that_is_no_file_holds_nobody_up(run: Path, make: Callable[[Path], None]) -> None:
    make(run / "lock")
    with StoredDirectory.open(run) as directory:
        for use in (in_use, Lock.acquire):
            with pytest.raises(UsageError, match="lock is"):
                use(directory)


def test_a_folder_of_logs_that_is_a_link_is_not_entered(run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run / "logs").symlink_to(elsewhere)
    (run / "ranks.parquet").unlink()
    with pytest.raises(UsageError, match="logs is not a directory"):
        load(run)


@pytest.mark.parametrize("name", ["../../x", "/etc", "..", "a/b", "a\\u0000b", "a\\u001bb", ""])
@pytest.mark.parametrize("key", ["id", "run"])
def test_names_that_become_paths_cannot_lead_out_of_the_directory(run: Path, key: str, name: str) -> None:
    text = (run / "run.json").read_text()
    honest = '"id": "seq-c1-r1"' if key == "id" else '"run": "20260202-024000-example"'
    assert honest in text
    (run / "run.json").write_text(text.replace(honest, f'"{key}": "{name}"'))
    with pytest.raises(UsageError, match=r"run\.json is damaged: .*a file name"):
        load(run)


def test_a_document_of_the_network_that_never_ends_is_refused(tmp_path: Path) -> None:
    _device(tmp_path / "net.json")
    with pytest.raises(UsageError, match="is not a regular file"):
        read_net(tmp_path)


def test_samples_stay_those_that_were_loaded_whatever_takes_their_place(run: Path) -> None:
    loaded = load(run)
    expected = load(run).samples.collect()
    (run / "samples.parquet").unlink()
    os.mkfifo(run / "samples.parquet")
    assert loaded.samples.collect().equals(expected)


def test_more_runs_than_descriptors_can_be_loaded(run: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Tests that ran before in this process may have left some open.
    enough_for_half = len(os.listdir("/proc/self/fd")) + 20
    resource.setrlimit(resource.RLIMIT_NOFILE, (enough_for_half, hard))
    loaded = []
    try:
        loaded = [load(run) for _ in range(40)]
        assert sum(run_read.samples.collect().height for run_read in loaded) == 40 * loaded[0].samples.collect().height
    finally:
        del loaded
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_standard_error_is_what_it_was_after_many_threads_have_loaded(run: Path) -> None:
    before = os.fstat(2)
    with ThreadPoolExecutor(8) as threads:
        assert len(list(threads.map(load, [run] * 32))) == 32
    assert os.path.samestat(before, os.fstat(2))


def test_a_page_that_polars_panics_at_is_an_error_of_one_line(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = run / "measurements.parquet"
    whole = table.read_bytes()
    messages = []
    for offset in range(500, len(whole), 7):
        table.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0xFF]) + whole[offset + 1 :])
        try:
            load(run)
        except UsageError as error:
            messages.append(error.message)
        if messages[-1:] == [f"{table} is damaged: a page of it cannot be decoded."]:
            break
    else:
        pytest.fail(f"no damage is one that polars panics at: {set(messages)}")
    assert capfd.readouterr().err == ""
