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
    told = document(case([("API", "POSIX"), ("version", "IOR 4.0")], [("machine", "node001")])).study.settings
    assert told == {"API": "POSIX", "machine": "node001"}


def test_a_setting_with_several_values_has_all_of_them_and_says_where_it_is_not_told() -> None:
    found = document(case([("API", "POSIX")]), case([("API", "MPIIO")], [("machine", "node001")]))
    assert found.study.settings == {"API": ["POSIX", "MPIIO"], "machine": ["node001", "–"]}


def test_facts_make_no_workloads_of_their_own() -> None:
    found = document(*(case([("API", "POSIX")], [("machine", name)]) for name in ("node001", "node002")))
    assert [(one.workload, one.repetition) for one in found.cases] == [("posix", 1), ("posix", 2)]


def test_of_very_many_values_it_is_said_how_many_there_are() -> None:
    told = document(*(case([("API", "POSIX")], [("path", f"/scratch/{at}")]) for at in range(1000))).study.settings
    assert told["path"] == [*(f"/scratch/{at}" for at in range(20)), "… and 980 more"]
