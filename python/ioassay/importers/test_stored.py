from __future__ import annotations

from collections.abc import Sequence

from ioassay.importers.model import Case, Setting
from ioassay.importers.stored import Gathered, run
from ioassay.store.document import RunDocument


def document(*cases: Case) -> RunDocument:
    gathered = Gathered(tool="ior", title="IOR", name="results", cases=cases, files=[], refused=[])
    return run(gathered, ["ioassay"])[0]


def case(settings: Sequence[tuple[str, str]], facts: Sequence[tuple[str, str]] = ()) -> Case:
    return Case(
        tool_version=None,
        settings=[Setting(name=name, value=value) for name, value in settings],
        amount="",
        clients=1,
        ranks=1,
        measured=[],
        facts=[Setting(name=name, value=value) for name, value in facts],
    )


def test_settings_and_facts_of_imported_results_are_those_of_the_study() -> None:
    settings = document(case([("API", "POSIX"), ("version", "IOR 4.0")], [("machine", "node001")])).study.settings
    assert settings == {"API": "POSIX", "machine": "node001"}


def test_a_setting_with_several_values_has_all_of_them_and_marks_missing_ones() -> None:
    document_of_run = document(case([("API", "POSIX")]), case([("API", "MPIIO")], [("machine", "node001")]))
    assert document_of_run.study.settings == {"API": ["POSIX", "MPIIO"], "machine": ["node001", "–"]}


def test_facts_make_no_workloads_of_their_own() -> None:
    document_of_run = document(*(case([("API", "POSIX")], [("machine", name)]) for name in ("node001", "node002")))
    assert [(entry.workload, entry.repetition) for entry in document_of_run.cases] == [("posix", 1), ("posix", 2)]


def test_very_many_values_are_counted() -> None:
    settings = document(
        *(case([("API", "POSIX")], [("path", f"/scratch/{number}")]) for number in range(1000))
    ).study.settings
    assert settings["path"] == [*(f"/scratch/{number}" for number in range(20)), "… and 980 more"]
