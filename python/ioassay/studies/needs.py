"""What a study needs at each of its scales: storage, and cases to run.

`python -m ioassay.studies.needs` writes it down for the built-in studies (`overview.BUILTIN`), with `--check` it says
whether that is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ioassay.launchers import DEFAULT
from ioassay.studies.cases import expand
from ioassay.studies.library import builtin_studies
from ioassay.studies.overview import BUILTIN, Need, Overview
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve, scales
from ioassay.studies.target import Target
from ioassay.yaml_models.source import Source


def judge(source: Source) -> None:
    """Has the engine judge the study at each of its scales. Raises `SourceError`, `CannotRun`."""
    for scale in _scales(source):
        refuse(resolve(source, scale, []))


def overview(source: Source) -> Overview:
    """What the study needs at each of its scales. Raises `SourceError`."""
    study = resolve(source, None, []).study
    needs = [_need(source, scale) for scale in _scales(source)]
    return Overview(study.name, study.title, study.question, source.text, needs)


def _scales(source: Source) -> list[str | None]:
    return [*scales(source)] or [None]


def _need(source: Source, scale: str | None) -> Need:
    resolved = resolve(source, scale, [])
    # Neither run nor target nor launcher change what a case takes.
    expanded = expand(resolved, "run", Target("directory", "/"), DEFAULT)
    cases = [case.entry for case in expanded]
    of_cases = [case.amounts for case in expanded if case.amounts["event"] == "amounts"]
    return Need(
        scale=scale,
        cases=len(cases),
        at_once_bytes=max(case.file_set_bytes for case in cases),
        written_bytes=sum(case.written_bytes for case in cases),
        walled=any(event["may_write_less"] for event in of_cases),
        again=any(event["may_write_again"] for event in of_cases),
        stops_early=any(entry.stops_early for entry in resolved.entry.workloads),
    )


def main(arguments: Sequence[str]) -> int:
    """Writes the overviews of the built-in studies, or with `--check` says whether they are stale."""
    for source in builtin_studies().values():
        # What the engine refuses, such as one that is older than the study, amounts to nothing.
        judge(source)
    documents = [overview(source).document() for source in builtin_studies().values()]
    text = json.dumps([{key: document[key] for key in document if key != "yaml"} for document in documents], indent=2)
    file = Path(str(BUILTIN))
    if arguments != ["--check"]:
        file.write_text(text + "\n", encoding="utf-8")
    elif not file.is_file() or file.read_text(encoding="utf-8") != text + "\n":
        print(f"{file} is stale: run python -m ioassay.studies.needs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
