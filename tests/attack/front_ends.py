"""Command lines of the engine's front ends, made from their own lists of options, among other people's files."""

from __future__ import annotations

import functools
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ioassay.processes.engine import find_engine

from . import foreign, mutate
from .attempt import ENGINE, Command
from .family import Family, of_commands

_TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_OPTION = re.compile(r"^  (?P<names>-O \w+|\+?[-\w.+]+(?:, [-\w.]+)*)(?: (?P<value>[A-Z0-9|][^a-z ]*\S*))?(?: |$)")
_SMALL = ("4k", "16k", "64k", "1k", "4096")
_VALID: dict[str, Sequence[str]] = {
    "SIZE": _SMALL,
    "BYTES": _SMALL,
    "N": ("0", "1", "1", "2", "3", "5"),
    "0|1": ("0", "1"),
    "0|1|2": ("0", "1", "2"),
    "SECONDS": ("0", "1"),
    "MINUTES": ("0", "1"),
    "MILLISECONDS": ("0", "1"),
    "MICROSECONDS": ("0", "10"),
    "USEC": ("0", "10"),
    "MIB": ("1", "2"),
    "KIB": ("4", "64", "1024"),
    "API": ("POSIX", "AIO", "MMAP", "DUMMY", "MPIIO", "posix"),
    "TYPE": ("timestamp", "offset", "incompressible", "random", "t", "o", "i", "r"),
    "default|JSON|CSV": ("default", "JSON", "CSV"),
    "TEST": ("0", "1", "2", "3", "5", "6", "7", "8", "9", "10", "11", "12"),
    "CHILDREN": ("1", "2", "3"),
    "PERCENT": ("0", "50", "100"),
    "RATE": ("10", "1000"),
    "PATTERN": ("1", "99"),
    "ADVICE": ("0", "1", "2", "3", "4"),
    "MODE": ("standard", "extended"),
    "LEVEL": ("0", "1", "10"),
}
_PLACES = (
    *foreign.CONTENTS,
    *("link", "directory-link", "hard-link", "fifo", "tree", ".", "testfile", "iozone.DUMMY.0", "missing/file"),
)
_RANKS = ("1", "2", "3", "4")
_NO_RANKS = ("0", "-1", "x", "4294967296", "99999999999999999999")


@dataclass(frozen=True)
class _Option:
    names: tuple[str, ...]
    value: str | None
    is_refused: bool


@functools.cache
def _options(tool: str) -> list[_Option]:
    """The options in the front end's help, without those that overwrite existing files (`--overwrite`)."""
    printed = subprocess.run([find_engine(), tool, "-h"], capture_output=True, text=True, check=True).stdout
    own_section = printed.partition("ioassay's own options")[0]
    parsed = [(_OPTION.match(line), "[refused: " in line) for line in own_section.splitlines()]
    return [_Option(tuple(match["names"].split(", ")), match["value"], refused) for match, refused in parsed if match]


def _value(random: Random, kind: str, place: Path) -> str:
    if random.random() < 0.15:
        return mutate.value(random).replace("\0", "")
    kind = kind.rstrip(".,…")
    if "FILE" in kind or "DIR" in kind or "PATH" in kind or kind in ("NAMES", "MOUNT"):
        return _path(random, place)
    return random.choice(_VALID.get(kind, mutate.NUMBERS))


def _path(random: Random, place: Path) -> str:
    """A new name or that of an existing entry, sometimes as an absolute path."""
    name = f"{foreign.NAMED}/{random.choice((*_PLACES, 'new', 'new', 'new', 'new/deep'))}"
    return str(place / name) if random.random() < 0.3 else name


def _some(random: Random, tool: str, place: Path, most: int) -> list[str]:
    """Some of its options, each with a value where it takes one."""
    chosen = []
    for _ in range(random.randint(0, most)):
        option = random.choice(_options(tool))
        if option.is_refused and random.random() < 0.9:
            continue
        name = random.choice(option.names)
        value = _value(random, option.value, place) if option.value else None
        if name.startswith("-O "):
            chosen += ["-O", f"{name[3:]}={value}"]
        elif not name.startswith("-"):
            chosen.append(f"{name}={value}")
        elif value is None:
            chosen.append(name)
        else:
            chosen += [f"{name}={value}"] if name.startswith("--") and random.random() < 0.5 else [name, value]
    return chosen


def _own(random: Random) -> list[str]:
    """Options that all front ends have."""
    arguments = ["--ranks", random.choice(_NO_RANKS)] if random.random() < 0.03 else []
    arguments += ["--run", "run"] if random.random() < 0.3 else []
    return arguments + (["--overwrite"] if random.random() < 0.1 else [])


def _ranks(random: Random) -> list[str]:
    return ["--ranks", random.choice(_RANKS)] if random.random() < 0.6 else []


def _ior(random: Random, place: Path) -> list[str]:
    verbs = random.choice((["-w"], ["-r"], ["-w", "-r"], [], ["-W"], ["-R"]))
    sizes = ["-b", random.choice(("64k", "128k")), "-t", random.choice(("4k", "16k"))]
    return ["ior", "-o", _path(random, place), *sizes, *verbs, *_ranks(random), *_some(random, "ior", place, 4)]


def _mdtest(random: Random, place: Path) -> list[str]:
    count = ["-n", random.choice(("1", "5", "17"))] if random.random() < 0.8 else ["-I", "2"]
    return ["mdtest", "-d", _path(random, place), *count, *_ranks(random), *_some(random, "mdtest", place, 4)]


def _iozone(random: Random, place: Path) -> list[str]:
    children = random.randint(1, 3)
    names = [_path(random, place) for _ in range(children)] if random.random() < 0.7 else []
    tests = [
        part for test in random.sample((1, 2, 3, 5, 8, 9, 10, 4), random.randint(0, 2)) for part in ("-i", str(test))
    ]
    files = ["-F", *names] if names else []
    arguments = ["-t", str(children), "-i", "0", *tests, "-s", random.choice(("64k", "16")), "-r", "4k", *files]
    return ["iozone", *arguments, *_some(random, "iozone", place, 3)]


def _obdfilter_survey(random: Random, place: Path) -> list[str]:
    targets = str(place) if random.random() < 0.6 else " ".join(_path(random, place) for _ in range(2))
    arguments = [f"targets={targets}", "size=1", "nobjhi=2", "thrhi=2", "rszlo=64", "rszhi=128", f"rslt_loc={place}"]
    return ["obdfilter-survey", *arguments, *_some(random, "obdfilter-survey", place, 3)]


@functools.cache
def _ini() -> str:
    listed = subprocess.run([find_engine(), "io500", "--list"], capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in listed.splitlines() if not line.startswith("#"))


def _io500(random: Random, place: Path) -> list[str]:
    text = _ini()
    if random.random() < 0.8:
        text = text.replace("datadir = ./datafiles", f"datadir = {_path(random, place)}")
        text = text.replace("stonewall-time = 300", "stonewall-time = 1")
        text = re.sub(r"^n = \d+$", "n = 10", text, flags=re.MULTILINE)
        text = re.sub(r"^blockSize = \d+m$", "blockSize = 2m", text, flags=re.MULTILINE)
    if random.random() < 0.7:
        text = mutate.text(random, text, ["TRUE", "FALSE", "POSIX", "[global]", "[ior-easy]", "run", "n"])
    (place / "config.ini").write_bytes(mutate.as_bytes(random, text))
    return ["io500", "config.ini", *_ranks(random), *_some(random, "io500", place, 2)]


def _command_line(random: Random, place: Path) -> list[Command]:
    tool = random.choice((_ior, _ior, _ior, _mdtest, _mdtest, _iozone, _iozone, _obdfilter_survey, _io500))
    arguments = [argument.replace("\0", "") for argument in [*tool(random, place), *_own(random)]]
    environment = {"IOASSAY_SCALE_DOWN": random.choice(("10", "1000", "x", "0"))} if random.random() < 0.1 else {}
    stop = random.choice(_TERMINATING)
    commands = [Command(arguments, ENGINE, environment, stop)]
    if "--run" in arguments:
        commands.append(Command(["report", "run", "--format", "json"]))
    return commands


FAMILY = Family(
    "front-ends", "Command lines of ior, mdtest, iozone, obdfilter-survey, io500", of_commands(_command_line)
)
