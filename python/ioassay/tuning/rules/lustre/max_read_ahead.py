"""How far a client of Lustre reads ahead."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Assignment, Change, Fine, Judgement, Rule, each
from ioassay.tuning.rules.lustre import parameters
from ioassay.tuning.rules.sources import LUSTRE_PARAMETERS, lustre_source
from ioassay.tuning.system import System

_MOST_MB, _MOST_PER_FILE_MB = 1024, 256
_OF_MEMORY = 32
_PER_FILE = 4


def _judge(system: System) -> Iterator[Judgement]:
    return each(parameters.groups(system, "llite", "max_read_ahead_mb"), _group, otherwise=parameters.NO_CLIENT)


def _group(group: parameters.Group) -> Iterator[Judgement]:
    per_file = group.sibling("max_read_ahead_per_file_mb")
    all_files, one_file = group.numbers(), per_file.numbers()
    wanted = max(1, min(_MOST_MB, (group.system.memory_bytes >> 20) // _OF_MEMORY))
    wanted_per_file = max(1, min(_MOST_PER_FILE_MB, wanted // _PER_FILE))
    assignments: list[Assignment] = []
    if min(all_files) < wanted:  # First, because it limits the other.
        assignments.append(group.assign(max(wanted, *all_files)))
    if one_file and min(one_file) < wanted_per_file:
        assignments.append(per_file.assign(max(wanted_per_file, *one_file)))
    shown = _shown(parameters.span(all_files), parameters.span(one_file) if one_file else "")
    if not assignments:
        yield Fine(group.file_system, shown)
    else:
        aim = _shown(str(max(wanted, *all_files)), str(max(wanted_per_file, *one_file)) if one_file else "")
        yield Change(group.file_system, shown, aim, assignments=tuple(assignments))


def _shown(all_files: str, one_file: str) -> str:
    return f"{all_files} MiB" + (f", {one_file} MiB a file" if one_file else "")


RULE = Rule(
    name="lustre-max-read-ahead",
    title="Let clients read ahead as far as newer versions do",
    area="Lustre",
    reason="Read-ahead keeps several OSTs busy for one reader. Old versions stop at 40 or 64 MiB, which a fast network "
    "carries in milliseconds; newer ones take a 32nd of memory, up to 1 GiB, and 256 MiB a file.",
    risk="Random readers fetch data that nobody uses; memory is taken from applications while files are read.",
    sources=(LUSTRE_PARAMETERS, lustre_source("lustre/llite/llite_internal.h", "SBI_DEFAULT_READ_AHEAD_MAX")),
    judge=_judge,
    parameters=("max_read_ahead_mb", "max_read_ahead_per_file_mb"),
)
