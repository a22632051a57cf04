from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.lab import build_cache
from ioassay.lab.build_cache import Workbench
from ioassay.lab.requirements import Built, Command, missing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test."""
    monkeypatch.setenv("IOASSAY_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(bench: Workbench) -> None:
    """Builds a file, and leaves temporary files."""
    bench.run("sh", "-c", 'touch "$TMPDIR/temporary" "$XDG_CONFIG_HOME/telemetry"')
    (bench.result / "tool").touch()


def in_cache(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("IOASSAY_LAB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert build_cache.directory() == tmp_path / ".cache/ioassay/lab"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert build_cache.directory() == Path("/var/cache/ioassay/lab")
    monkeypatch.setenv("IOASSAY_LAB_CACHE", "/srv/labs")
    assert build_cache.directory() == Path("/srv/labs")


def test_only_the_result_of_a_build_stays(place: Path) -> None:
    build_cache.build("tool-1", make)
    assert in_cache(place) == ["tool-1", "tool-1.lock", "tool-1/tool"]


def test_a_finished_build_is_not_repeated(place: Path) -> None:
    build_cache.build("tool-1", make)
    build_cache.build("tool-1", lambda bench: pytest.fail("it is there"))


def test_a_build_that_fails_leaves_nothing_and_the_next_one_succeeds(place: Path) -> None:
    def fail(bench: Workbench) -> None:
        make(bench)
        bench.run("sh", "-c", "exit 7")

    with pytest.raises(CannotRun, match=r"failed \(7\)"):
        build_cache.build("tool-1", fail)
    assert in_cache(place) == ["tool-1.lock"]
    build_cache.build("tool-1", make)
    assert (place / "tool-1/tool").exists()


def test_a_missing_tool_is_named(place: Path) -> None:
    with pytest.raises(CannotRun, match="`ioassay-no-such-tool` cannot be started: No such file"):
        build_cache.build("tool-1", lambda bench: bench.run("ioassay-no-such-tool"))


def test_a_killed_build_leaves_nothing_that_looks_ready(place: Path) -> None:
    def be_killed(bench: Workbench) -> None:
        make(bench)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        build_cache.build("tool-1", be_killed)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not (place / "tool-1").exists()
    build_cache.build("tool-1", make)
    assert in_cache(place) == ["tool-1", "tool-1.lock", "tool-1/tool"]


def test_a_concurrent_build_waits_for_the_first(place: Path) -> None:
    built: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def slowly(bench: Workbench) -> None:
        begun.set()
        assert go_on.wait(30)
        make(bench)
        built.append("first")

    first = threading.Thread(target=build_cache.build, args=("tool-1", slowly))
    second = threading.Thread(target=build_cache.build, args=("tool-1", lambda bench: built.append("second")))
    first.start()
    assert begun.wait(30)
    second.start()
    assert not (place / "tool-1").exists()
    go_on.set()
    first.join(30)
    second.join(30)
    assert built == ["first"]
    assert (place / "tool-1/tool").exists()


def test_build_tools_are_missing_only_until_the_build_exists(tmp_path: Path) -> None:
    compiler = Command("ioassay-no-such-compiler", "compiler")
    built = Built("tool", tmp_path / "tool", "compiled", lambda: None, (compiler,))
    assert missing([built, built]) == [compiler, built]
    (tmp_path / "tool").touch()
    assert missing([built]) == []
