"""Groups processes into steps of a workflow, as its author would name them.

A step is a program with all its processes at the same place of the chain: the ranks of a job, the workers of a pool,
`sort` for each of ten files. A shell script that another script starts is one step with all its children. The script
that starts all others is no step; its children are.

Not: the files between steps (`workflow`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from ioassay.profiles.model import Profile

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "csh", "tcsh", "fish", "busybox"})

_INTERPRETERS = re.compile(r"(python|pypy|perl|ruby|R|Rscript|julia|node|lua|tclsh|php)[\d.]*")

_WITH_COMMANDS = frozenset(
    {
        "git",
        "samtools",
        "bcftools",
        "bedtools",
        "gatk",
        "cdo",
        "gmx",
        "cargo",
        "go",
        "openssl",
        "apptainer",
        "singularity",
    }
)
"""Programs whose first argument is a subcommand."""

_COMMAND = re.compile(r"[a-z][a-z-]*")

_MODULE_OPTIONS = ("-m", "--module")
"""Options that the program's name follows."""

_CODE_OPTIONS = ("-c", "-e")
"""Options that code follows, which is no name."""

_MOST_CHARACTERS = 32
"""The most characters of a name that is shell code."""


@dataclass
class _Process:
    number: int
    node: str
    pid: int
    parent_pid: int
    rank: int | None
    command: str
    program: str
    is_shell: bool
    begin_ns: int
    end_ns: int
    written_bytes: int
    parent: _Process | None = None
    children: list[_Process] = field(default_factory=list)

    def with_ancestors(self) -> Iterator[_Process]:
        """The process, its parent, and so on."""
        process: _Process | None = self
        while process is not None:
            yield process
            process = process.parent


def program_name(command: str, executable: str = "") -> str:
    """The usual name of what a process runs: the script of an interpreter, otherwise the program."""
    words = command.split()
    if not words:
        return posixpath.basename(executable) or "unknown program"
    name = posixpath.basename(words[0]).lstrip("-") or words[0]
    if name in _WITH_COMMANDS and len(words) > 1 and _COMMAND.fullmatch(words[1]):
        return f"{name} {words[1]}"
    if name not in _SHELLS and not _INTERPRETERS.fullmatch(name):
        return name
    return _script_name(name, words[1:])


def _script_name(interpreter: str, words: Sequence[str]) -> str:
    """The name of what an interpreter with these arguments runs."""
    is_shell = interpreter in _SHELLS
    for index, word in enumerate(words):
        after = words[index + 1 :]
        if word in _MODULE_OPTIONS and after:
            return after[0]
        if word in _CODE_OPTIONS or (is_shell and word.startswith("-") and word.endswith("c")):
            code = " ".join(after) if is_shell else ""
            return f"{interpreter} {word} {_shortened(code)}".rstrip()
        if not word.startswith("-"):
            return posixpath.basename(word) or word
    return interpreter


def _shortened(code: str) -> str:
    return code if len(code) <= _MOST_CHARACTERS else f"{code[: _MOST_CHARACTERS - 1]}…"


def units(profile: Profile) -> pl.DataFrame:
    """The unit of each process, which is never divided between steps, and the name of its program: process, unit, name,
    begin_ns, end_ns. Units are numbered by begin.
    """
    processes = list(_processes(profile))
    _find_parents(processes)
    drivers = _drivers(processes)
    keys: dict[int, tuple[object, ...]] = {}
    names: dict[int, str] = {}
    for process in processes:
        script = _script(process, drivers)
        if process.rank is not None:
            keys[process.number], names[process.number] = ("rank", process.program), process.program
        elif script is not None:
            keys[process.number], names[process.number] = ("script", script.number), script.program
        else:
            is_worker = (
                process.parent is not None
                and process.parent.command == process.command
                and process.parent.program != ""
            )
            names[process.number] = (
                f"{process.program} workers" if is_worker and not process.is_shell else process.program
            )
            keys[process.number] = (process.node, process.parent_pid, names[process.number])
    return _numbered(processes, keys, names)


def _processes(profile: Profile) -> Iterator[_Process]:
    columns = ("process", "node", "pid", "parent_pid", "rank", "command", "executable", "begin_unix_ns", "end_unix_ns")
    for process, node, pid, parent, rank, command, executable, begin, end, written in profile.processes.select(
        *columns, pl.col("written_bytes").fill_null(0)
    ).iter_rows():
        first = posixpath.basename(((command or "").split() or [executable or ""])[0]).lstrip("-")
        yield _Process(
            process, node or "", -1 if pid is None else pid, -1 if parent is None else parent, rank, command or "",
            program_name(command or "", executable or ""), first in _SHELLS, begin, end, written,
        )  # fmt: skip


def _find_parents(processes: list[_Process]) -> None:
    by_pid: dict[tuple[str, int], list[_Process]] = {}
    for process in sorted(processes, key=lambda it: (it.begin_ns, it.number)):
        earlier = by_pid.get((process.node, process.parent_pid), [])
        parent = next((it for it in reversed(earlier) if it is not process), None)
        if parent is not None:
            process.parent = parent
            parent.children.append(process)
        if process.pid >= 0:
            by_pid.setdefault((process.node, process.pid), []).append(process)


def _drivers(processes: list[_Process]) -> frozenset[int]:
    """The scripts that start the steps: each root, its forks, and a script that does all the writing for it."""
    written: dict[int, int] = {}
    for process in reversed(processes):  # children have higher numbers: processes are numbered by begin
        subtree_bytes = process.written_bytes + sum(
            written[child.number] for child in process.children if child.number in written
        )
        written[process.number] = subtree_bytes
    driver_numbers: set[int] = set()
    waiting = [process for process in processes if process.parent is None]
    while waiting:
        process = waiting.pop()
        driver_numbers.add(process.number)
        waiting += [child for child in process.children if child.is_shell and child.command == process.command]
        writers = [child for child in process.children if written.get(child.number)]
        if (
            len(writers) == 1
            and writers[0].is_shell
            and writers[0].number not in driver_numbers
            and not process.written_bytes
        ):
            waiting.append(writers[0])
    return frozenset(driver_numbers)


def _script(process: _Process, drivers: frozenset[int]) -> _Process | None:
    """The script that a process belongs to: the outermost one that is no driver."""
    outermost = None
    for ancestor in process.with_ancestors():
        if ancestor.is_shell and ancestor.number not in drivers:
            outermost = ancestor
    return outermost


def _numbered(
    processes: list[_Process], keys: Mapping[int, tuple[object, ...]], names: Mapping[int, str]
) -> pl.DataFrame:
    """Units of processes with the same key that overlap in time."""
    latest: dict[tuple[object, ...], tuple[int, int]] = {}
    rows = []
    count = 0
    for process in sorted(processes, key=lambda it: (it.begin_ns, it.number)):
        key = keys[process.number]
        unit, until_ns = latest.get(key, (-1, -1))
        if unit < 0 or (process.begin_ns >= until_ns and key[0] != "script"):
            unit, count = count, count + 1
        latest[key] = unit, max(until_ns, process.end_ns)
        rows.append((process.number, unit, names[process.number], process.begin_ns, process.end_ns))
    schema = {"process": pl.Int64, "unit": pl.Int64, "name": pl.String, "begin_ns": pl.Int64, "end_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
