"""Damaged logs: an error, or a stated loss; never other numbers in silence. Every variation comes from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.profiles.darshan import library
from ioassay.profiles.darshan.library import read_logs
from ioassay.profiles.darshan.log import Log
from ioassay.profiles.darshan.profile import load_profile, profile_of
from ioassay.profiles.darshan.text import read_text

Named = Callable[[str], Path]

HEADER_BYTES = 1328


def written(directory: Path, contents: Sequence[bytes], suffix: str = ".darshan") -> list[Path]:
    paths = [directory / f"damaged{number:03}{suffix}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def flipped(content: bytes, rng: random.Random, least: int = 0) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(least, len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def overwritten(content: bytes, rng: random.Random) -> bytes:
    begin = rng.randrange(len(content))
    noise = rng.randbytes(min(rng.randint(1, 64), len(content) - begin))
    return content[:begin] + noise + content[begin + len(noise) :]


def is_same(first: Log, second: Log) -> bool:
    return (
        (first.job, first.names, first.stripes) == (second.job, second.names, second.stripes)
        and first.records.keys() == second.records.keys()
        and all(rows.equals(second.records[name]) for name, rows in first.records.items())
        and [repr(heat) for heat in first.heats] == [repr(heat) for heat in second.heats]
        and [repr(trace) for trace in first.traces] == [repr(trace) for trace in second.traces]
    )


@pytest.mark.parametrize("name", ["python", "mpi-dxt", "killed"])
def test_a_log_that_was_cut_anywhere_is_refused_or_a_stated_loss(log: Named, tmp_path: Path, name: str) -> None:
    content = log(f"{name}.darshan").read_bytes()
    places = random.Random(22).sample(range(len(content)), 60)
    paths = written(tmp_path, [content[:place] for place in places])
    silent = [
        place for place, read in zip(places, read_logs(paths), strict=True) if isinstance(read, Log) and not read.losses
    ]
    assert silent == []


@pytest.mark.parametrize("name", ["python", "mpi-dxt"])
def test_a_bit_that_flipped_behind_the_header_is_refused_or_a_stated_loss(
    log: Named, tmp_path: Path, name: str
) -> None:
    path, rng = log(f"{name}.darshan"), random.Random(22)
    content = path.read_bytes()
    paths = written(tmp_path, [flipped(content, rng, HEADER_BYTES) for _ in range(60)])
    whole, *damaged = read_logs([path, *paths])
    assert isinstance(whole, Log)
    silent = [got.path for got in damaged if isinstance(got, Log) and not got.losses and not is_same(got, whole)]
    assert silent == []


@pytest.mark.parametrize("name", ["python", "mpi-dxt", "threads-dxt"])
def test_a_damaged_log_is_an_error_or_a_profile(log: Named, tmp_path: Path, name: str) -> None:
    content, rng = log(f"{name}.darshan").read_bytes(), random.Random(name)
    damaged = [overwritten(content, rng) for _ in range(30)]
    damaged += [flipped(content[:HEADER_BYTES], rng) + content[HEADER_BYTES:] for _ in range(30)]
    paths = written(tmp_path, damaged)
    read = list(read_logs(paths))
    assert {type(result) for result in read} == {Log, UsageError}
    for result in read:
        if isinstance(result, Log):
            profile_of([result])


def test_an_unreadable_log_among_several_is_a_loss(log: Named, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.darshan", tmp_path / "bad.darshan"
    good.write_bytes(log("python.darshan").read_bytes())
    bad.write_bytes(good.read_bytes()[:1400])
    profile = load_profile([tmp_path])
    assert [(loss.kind, loss.amount, loss.where) for loss in profile.losses] == [("damaged-bytes", 1400, str(bad))]
    assert profile.processes.height == 1
    with pytest.raises(UsageError, match=r"bad\.darshan cannot be read: Darshan's library says"):
        load_profile([bad])


CRASHING = """
import ctypes, os, signal

class _Function:
    def __init__(self, name):
        self._name = name

    def __call__(self, *arguments):
        if self._name == "darshan_log_get_lib_version":
            return ctypes.addressof(VERSION)
        os.kill(os.getpid(), signal.SIGSEGV)

class _Library:
    def __getattr__(self, name):
        self.__dict__[name] = function = _Function(name)
        return function

VERSION = ctypes.create_string_buffer(b"3.5.0")

def find_utils(ffi, libdutil):
    return _Library()
"""


def test_a_crash_of_the_library_ends_the_reading_of_one_log(
    log: Named, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "stand-in" / "darshan"
    (package / "backend").mkdir(parents=True)
    (package / "__init__.py").write_text("__darshanutil_version__ = '3.5.0'\n")
    (package / "backend" / "api_def_c.py").write_text("def load_darshan_header():\n    return ''\n")
    (package / "discover_darshan.py").write_text(CRASHING)
    monkeypatch.setenv("PYTHONPATH", f"{package.parent}:{Path(library.__file__).parents[3]}")
    content = log("python.darshan").read_bytes()
    read = list(library.read_logs(written(tmp_path, [content, content])))
    assert [isinstance(error, UsageError) and "ended with SIGSEGV" in error.message for error in read] == [True, True]


@pytest.mark.parametrize("name", ["python", "mpi"])
def test_a_text_that_was_cut_anywhere_is_refused_or_a_stated_loss(log: Named, tmp_path: Path, name: str) -> None:
    whole = log(f"{name}.txt")
    content = whole.read_bytes()
    places = random.Random(22).sample(range(len(content.rstrip()) - 1), 60)
    silent = []
    for place, path in zip(places, written(tmp_path, [content[:place] for place in places], ".txt"), strict=True):
        try:
            read = read_text(path)
        except UsageError:
            continue
        if not read.losses:
            silent.append(place)
    assert silent == []


def test_a_text_with_noise_is_an_error_or_a_profile(log: Named, tmp_path: Path) -> None:
    content, rng = log("mpi.txt").read_bytes(), random.Random(22)
    outcomes: list[bool | None] = []
    for path in written(tmp_path, [overwritten(overwritten(content, rng), rng) for _ in range(40)], ".txt"):
        try:
            outcomes.append(bool(load_profile([path]).losses))
        except UsageError:
            outcomes.append(None)
    assert True in outcomes
