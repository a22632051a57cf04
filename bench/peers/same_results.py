"""Gives published command lines of IOR and mdtest to the originals and to ours: the same files, rows and exit status?

    python bench/peers/same_results.py --engine target/release/ioassay-engine --peers-path DIR --scratch DIR

The lines are those of crates/frontends/tests/corpus/command-lines.tsv that both take. They are scaled down to a few
transfers and files, and run in empty directories below the scratch directory, which belongs on a tmpfs. A line that
reads comes after the same line made to write. Prints each line that differs, then how many did not, and exits with 1 if
one differed. MPI-IO needs `ioassay mpi build` and `ioassay api build mpiio` before.

Not here: how fast either is (`run.py`), and lines that one of them refuses (the tests of the corpus).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory

from mpi import mpirun

TABLE = Path(__file__).resolve().parents[2] / "crates/frontends/tests/corpus/command-lines.tsv"
RANKS = 2
DEADLINE_S = 60

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MOST = {"ior": {"-s": 8, "-i": 2}, "mdtest": {"-n": 600, "-I": 5, "-i": 2}}
"""The largest value of an option, by tool. A tree of mdtest's may have 256 leaves, and each is to have a file."""
_TRANSFERS = 4
"""Of an IOR block."""
_PATHS = re.compile(r"(?:(?<==)|(?<=@)|^)(?:file|dir|status|ranks\.csv)$")
"""What the table has in the place of paths."""
_UNSIZED = ("status", "ranks.csv")
"""Files whose sizes depend on how long something took."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
_ROWS = {
    "ior": re.compile(r"\s*(?:write|read|remove|access|stonewalling|Max |Pairs)\b"),
    "mdtest": re.compile(r"\s*(?:Directory|File|Tree) (?:creation|stat|rename|removal|read)|SUMMARY"),
}
_ASIDE = re.compile(r"WARNING:.*\n?")
_BY_MPI = re.compile(r"mpiio|hdf5|ncmpi", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    tool: str
    words: tuple[str, ...]
    published: int
    """Public runs that had it."""

    @property
    def reads(self) -> bool:
        """True if it needs what another line has written."""
        wanted, writes = (("-r", "-W"), "-w") if self.tool == "ior" else (("-T", "-r", "-E"), "-C")
        return writes not in self.words and any(word in self.words for word in wanted)

    def writing(self) -> Line:
        """The same line made to write what it reads, and to leave it."""
        if self.tool == "mdtest":
            return Line(self.tool, (*_without(self.words, "-T", "-r", "-E", "-X"), "-C"), 0)
        # Twice given it draws from a file that is there.
        drawn = ("-z",) if self.words.count("-z") > 1 else ()
        words = [*_without(self.words, "-r", "-R", "-W", "-c", *drawn), "-w", "-k"]
        is_walled = "stoneWallingWearOut=1" in words
        if any("StatusFile" in word for word in words) and not is_walled:
            words += ["-D", "300", "-O", "stoneWallingWearOut=1"]
        return Line(self.tool, tuple(words), 0)


@dataclass(frozen=True)
class Outcome:
    """What can be compared."""

    ended_well: bool
    rows: tuple[str, ...]
    """The lines of results without their figures."""
    files: tuple[tuple[str, int | None], ...]
    """What is left, with the bytes of files."""


def published(table: str) -> Iterator[Line]:
    """The lines of the table that both take."""
    for row in table.splitlines():
        if not row.startswith("#"):
            tool, arguments, times, original, ours, _ = row.split("\t")
            if original == ours == "taken":
                yield Line(tool, tuple(arguments.split()), int(times))


def scaled(line: Line) -> Line:
    """The line with a few transfers or files."""
    given = list(_options(line))
    transfer = next((_size(value) for name, value in given if name == "-t"), 0) or _size("256k")
    most = {**_MOST[line.tool], **({"-b": transfer * _TRANSFERS} if line.tool == "ior" else {})}

    def smaller(name: str, value: str) -> str:
        return str(most[name]) if _size(value) > most.get(name, _size(value)) else value

    words = (word for name, value in given for word in ((name,) if value is None else (name, smaller(name, value))))
    return Line(line.tool, tuple(words), line.published)


def shape(tool: str, printed: str) -> tuple[str, ...]:
    """The lines of results that a tool printed, with `#` for each number, without what another rank said within one."""
    lines = (_NUMBER.sub("#", line) for line in _ASIDE.sub("", printed).splitlines())
    return tuple(" ".join(line.split()) for line in lines if _ROWS[tool].match(line))


def _without(words: Sequence[str], *left_out: str) -> list[str]:
    return [word for word in words if word not in left_out]


def _options(line: Line) -> Iterator[tuple[str, str | None]]:
    """The words, options that are scaled apart from their values."""
    names = {"-t", "-b", *_MOST[line.tool]} if line.tool == "ior" else set(_MOST[line.tool])
    words = iter(line.words)
    for word in words:
        attached = word[2:].removeprefix("=")
        if word in names:
            yield word, next(words)
        elif word[:2] in names and attached[:1].isdigit():
            yield word[:2], attached
        else:
            yield word, None


def _size(text: str | None) -> int:
    """The bytes, or the number, that `text` says; 0 where it says none."""
    match = re.fullmatch(r"(\d+)([kmgt]?)b?", text or "", re.IGNORECASE)
    return int(match[1]) << _UNITS[match[2].lower()] if match else 0


class Tools:
    """The originals and ours."""

    def __init__(self, engine: Path, peers: Path) -> None:
        self._engine, self._peers = engine.resolve(), peers.resolve()
        as_root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
        self._environment = {**os.environ, **as_root}

    def outcome(self, line: Line, directory: Path, *, ours: bool) -> Outcome:
        """The outcome of `line` in `directory`, which is empty."""
        if line.tool == "mdtest":
            (directory / "dir").mkdir()
        if line.reads:
            self._run(line.writing(), directory, ours)
        ended_well, printed = self._run(line, directory, ours)
        left = sorted(path for path in directory.rglob("*"))
        sizes = (None if path.is_dir() or path.name in _UNSIZED else path.stat().st_size for path in left)
        names = (str(path.relative_to(directory)) for path in left)
        return Outcome(ended_well, shape(line.tool, printed), tuple(zip(names, sizes, strict=True)))

    def _run(self, line: Line, directory: Path, ours: bool) -> tuple[bool, str]:
        words = [_PATHS.sub(lambda match: str(directory / match[0]), word) for word in line.words]
        if not ours:
            command = [*mpirun(RANKS), str(self._peers / line.tool), *words]
        elif _BY_MPI.search(" ".join(words)):
            command = [*mpirun(RANKS), str(self._engine), line.tool, *words]
        else:
            command = [str(self._engine), line.tool, "--ranks", str(RANKS), *words]
        ran = subprocess.run(
            command,
            cwd=directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        return ran.returncode == 0, ran.stdout


def main() -> int:
    """Compares what the command line names. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engine", type=Path, required=True, help="ioassay-engine")
    parser.add_argument("--peers-path", type=Path, required=True, help="directory of ior and mdtest")
    parser.add_argument("--scratch", type=Path, required=True, help="directory on a tmpfs")
    parser.add_argument("--only", default="", help="lines that match this regular expression")
    asked = parser.parse_args()
    tools = Tools(asked.engine, asked.peers_path)
    patterns, times, same_patterns, same_times = 0, 0, 0, 0
    for line in published(TABLE.read_text(encoding="utf-8")):
        typed = " ".join((line.tool, *line.words))
        if not re.search(asked.only, typed):
            continue
        small = scaled(line)
        outcomes = []
        for ours in (False, True):
            with TemporaryDirectory(dir=asked.scratch) as directory:
                outcomes.append(tools.outcome(small, Path(directory), ours=ours))
        patterns, times = patterns + 1, times + line.published
        if outcomes[0] == outcomes[1]:
            same_patterns, same_times = same_patterns + 1, same_times + line.published
            continue
        print(typed)
        for field in fields(Outcome):
            theirs, our_value = (getattr(outcome, field.name) for outcome in outcomes)
            if theirs != our_value:
                print(f"  {field.name}: original {theirs}\n  {field.name}: ours     {our_value}", flush=True)
    print(f"{same_patterns} of {patterns} patterns are the same, {same_times} of {times} public lines.")
    return 0 if same_patterns == patterns else 1


if __name__ == "__main__":
    sys.exit(main())
