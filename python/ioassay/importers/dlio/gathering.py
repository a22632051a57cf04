"""Which folders hold an execution, and which of their files are read.

DLIO's folders also have logs, traces and Hydra's settings: only files that are called as results are opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ioassay.importers.dlio import checkpoints, training
from ioassay.importers.dlio.execution import (
    Execution,
    read_configuration,
    read_epochs,
    read_output,
    read_summary,
)
from ioassay.importers.gather import Files, run_name
from ioassay.importers.model import Case
from ioassay.importers.source import Refused, Source, below
from ioassay.importers.stored import Gathered

_SUMMARY = "summary.json"
_EPOCHS = re.compile(r"(?:(\d{1,9})_)?per_epoch_stats\.json")
_OUTPUT = re.compile(r"(\d{1,9})_output\.json")
_CONFIGURATIONS = ("dlio_config/config.yaml", "configs/config.yaml", ".hydra/config.yaml")
"""Where Hydra writes the configuration: MLPerf Storage 2.0, 1.0, DLIO itself."""


def gather(paths: Sequence[Path]) -> Iterator[Gathered]:
    """All executions at and below `paths` as one run."""
    files = Files(paths)
    folders: dict[Path, set[Path]] = {}
    for path in below(paths):
        if _is_result(path.name):
            folders.setdefault(path.parent, set()).add(path)
        elif path in paths:
            files.refuse(path, Refused(f"is none of DLIO's {_SUMMARY}, per_epoch_stats.json and N_output.json"))
    if not folders:
        for path in paths:
            files.refuse(path, Refused(f"has no {_SUMMARY}, per_epoch_stats.json or N_output.json of DLIO"))
    yield Gathered(
        tool="dlio",
        title="DLIO",
        name=run_name(
            "dlio",
            [path for path in paths if any(result_folder.is_relative_to(path) for result_folder in folders)] or paths,
        ),
        cases=[case for folder in sorted(folders) for case in _cases(folder, files)],
        files=list(files.read.values()),
        refused=files.refused,
    )


def _is_result(name: str) -> bool:
    return name == _SUMMARY or bool(_EPOCHS.fullmatch(name) or _OUTPUT.fullmatch(name))


def _cases(folder: Path, files: Files) -> list[Case]:
    """The cases of one folder; none if a file is refused, which refuses the folder."""
    try:
        execution = _execution(folder, files)
        cases = [*training.cases(execution), *checkpoints.cases(execution)]
        if not cases:
            raise Refused("has no throughput of an epoch or a checkpoint: data were only generated, or it did not end")
    except _RefusedFile as error:
        files.refuse(error.path, error.reason)
        return []
    except Refused as error:
        files.refuse(folder / _SUMMARY if (folder / _SUMMARY).exists() else folder, error)
        return []
    return cases


class _RefusedFile(Exception):
    """A file for which its whole folder is refused."""

    def __init__(self, path: Path, reason: Refused) -> None:
        super().__init__(str(reason))
        self.path, self.reason = path, reason


def _execution(folder: Path, files: Files) -> Execution:
    execution = Execution()
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    ranks = sorted((int(match[1]), match[0]) for name in names if (match := _OUTPUT.fullmatch(name)))
    epoch_files = sorted((int(match[1] or 0), match[0]) for name in names if (match := _EPOCHS.fullmatch(name)))
    readers: dict[str, Callable[[Source, Execution], None]] = {_SUMMARY: read_summary} if _SUMMARY in names else {}
    readers |= {name: read_epochs for _, name in epoch_files[:1]}  # ranks run in lockstep: the first represents all
    if [rank for rank, _ in ranks] == [*range(len(ranks))]:
        readers |= {name: read_output for _, name in ranks}
    readers |= dict.fromkeys([name for name in _CONFIGURATIONS if (folder / name).is_file()][:1], read_configuration)
    for name, reader in readers.items():
        if (source := files.open(folder / name)) is not None:
            try:
                reader(source, execution)
            except Refused as error:
                raise _RefusedFile(folder / name, error) from None
    return execution
