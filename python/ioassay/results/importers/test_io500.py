"""IO500 submissions of the script and of the program, whole and damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ioassay import reports
from ioassay.analysis.finding import FileLine
from ioassay.analysis.findings import RunFacts
from ioassay.analysis.findings.printed_scores import printed
from ioassay.analysis.printed_scores import Recomputed, recomputed
from ioassay.reports.run import RunReport
from ioassay.results.importers import io500
from ioassay.results.importers.model import Measured
from ioassay.results.importers.stored import Gathered, run
from ioassay.results.loaded import LoadedRun
from ioassay.testing.importer_samples import FILES

GIB = 1 << 30


def _one(*paths: Path) -> Gathered:
    (found,) = io500.gather(paths)
    return found


def _phase(gathered: Gathered, name: str) -> Measured:
    return next(measured for measured in gathered.cases[0].measured if measured.phase == name)


def _doubts(measured: Measured) -> set[str]:
    return {doubt.kind for doubt in measured.doubts}


def _run(gathered: Gathered) -> LoadedRun:
    document, tables = run(gathered, ["ioassay"])
    return LoadedRun(document=document, samples=tables.pop("samples").lazy(), watch=None, **tables)


def _recomputed(gathered: Gathered) -> list[Recomputed]:
    return recomputed(_run(gathered))


def _copy(name: str, to: Path) -> Path:
    return Path(shutil.copytree(FILES / "io500" / name, to / name))


def test_a_submission_of_the_script_has_its_phases_in_gib(tmp_path: Path) -> None:
    found = _one(FILES / "io500" / "script-2019")
    write = _phase(found, "ior-easy-write")
    assert len(found.cases[0].measured) == 12
    assert write.rate_bytes_per_s == 60.081 * GIB  # labelled GB/s
    assert write.bytes == 19_200_000 << 20  # of IOR's own output
    assert (found.cases[0].clients, found.cases[0].ranks) == (10, 160)
    assert not found.refused


def test_a_submission_of_the_program_has_rates_at_the_stonewall_ranks_and_finds(tmp_path: Path) -> None:
    found = _one(FILES / "io500" / "program-2025")
    write, find = _phase(found, "ior-easy-write"), _phase(found, "find")
    assert write.stonewall is not None
    assert write.stonewall.rate_bytes_per_s == pytest.approx(41.77 * GIB)
    assert write.each is not None
    assert write.each.height == 410
    assert (find.operations, find.matched) == (39_744_991, 508_526)
    assert _phase(found, "mdtest-easy-write").operations == pytest.approx(64_912 * 410, rel=1e-6)


def test_how_much_a_system_moves_until_the_stonewall_is_not_taken_for_asked() -> None:
    found = _one(FILES / "io500" / "program-2025")
    sizes = {measured.phase: (measured.bytes, measured.file_set_bytes) for measured in found.cases[0].measured}
    assert sizes["ior-easy-write"][0] is not None
    assert {asked for _, asked in sizes.values()} == {None}


def test_a_tool_that_counts_longer_than_its_phase_took_is_doubted() -> None:
    write = _phase(_one(FILES / "io500" / "program-2025"), "ior-easy-write")
    assert [doubt.message for doubt in write.doubts] == [
        "the tool ran for 758.4 s by its own clock, but the whole phase took only 413.2 s; the nodes' clocks may differ"
    ]


def test_a_table_that_lacks_ranks_is_not_taken_and_said(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    table = place / "ior-easy-write.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:12]))
    write = _phase(_one(place), "ior-easy-write")
    assert write.each is None
    assert "ranks-missing" in _doubts(write)


def test_a_rate_that_is_not_that_of_the_phase_is_doubted(tmp_path: Path) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    summary.write_text(summary.read_text().replace("60.081 GB/s", "80.081 GB/s"))
    assert "does-not-add-up" in _doubts(_phase(_one(place), "ior-easy-write"))


def test_a_summary_alone_is_enough(tmp_path: Path) -> None:
    found = _one(FILES / "io500" / "product-2017" / "result_summary.txt")
    assert (found.cases[0].clients, found.cases[0].ranks) == (None, None)
    assert len(found.files) == 1


def test_printed_scores_that_follow_are_told_from_one_that_lacks_its_root() -> None:
    for name in ("script-2019", "program-2025"):
        scores = _recomputed(_one(FILES / "io500" / name))
        assert [score.follows for score in scores] == [True, True, True], name
    scores = _recomputed(_one(FILES / "io500" / "product-2017"))
    assert [(score.printed.name, score.follows) for score in scores] == [
        ("bandwidth", True),
        ("metadata", True),
        ("total", False),
    ]
    assert scores[2].printed.value == pytest.approx(scores[2].value ** 2, rel=1e-3)  # the script rounded its means


def test_a_finding_about_a_printed_score_names_the_line_that_it_rests_on() -> None:
    told = _run(_one(FILES / "io500" / "product-2017"))
    (finding,) = printed(RunFacts(told))
    line = next(one for one in finding.rests_on if isinstance(one, FileLine))
    assert "[SCORE]" in Path(line.file).read_text().splitlines()[line.line - 1]
    (found,) = (
        one for one in json.loads(reports.build(RunReport(told), "json"))["findings"] if one["kind"] == "printed-score"
    )
    assert line._asdict() in found["rests_on"]
    shown = f"{Path(line.file).name}, line {line.line}"
    assert shown in reports.build(RunReport(told), "html").decode()


def test_a_phase_that_failed_is_left_out_of_the_printed_mean_and_said(tmp_path: Path) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    text = summary.read_text().replace("4.584 GB/s", "0.000 GB/s")
    summary.write_text(text.replace("Bandwidth 19.6533", f"Bandwidth {(60.081 * 74.139 * 7.307) ** (1 / 3):.4f}"))
    bandwidth = _recomputed(_one(place))[0]
    assert bandwidth.follows
    assert bandwidth.left_out == ("ior-hard-write",)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("GB/s : time 312.08", "GB/h : time 312.08", 1),
        ("mdtest_easy_write", "mdtest_easy_wrote", 2),
        ("60.081", "60,081", 1),
        ("[SCORE] Bandwidth 19.6533 GB/s", "[SCORE] 19.6533 GB/s", 13),
        ("mdtest_easy_stat             2765.040 kiops", "mdtest_easy_stat             2765.040 GB/s", 7),
        ("ior_hard_read", "ior_easy_read", 8),
    ],
)
def test_a_summary_that_does_not_fit_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    text = summary.read_text()
    assert old in text
    summary.write_text(text.replace(old, new))
    found = _one(place)
    assert [(Path(one.path).name, one.line) for one in found.refused] == [("result_summary.txt", line)]
    assert not found.cases


def test_a_summary_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    text = summary.read_text()
    for length in range(0, len(text), 7):
        summary.write_text(text[:length])
        found = _one(place)
        assert not found.cases, length
        assert found.refused, length


def test_what_is_damaged_does_not_keep_the_rest_out(tmp_path: Path) -> None:
    good, bad = _copy("script-2019", tmp_path), _copy("program-2025", tmp_path)
    (bad / "ior-easy-write.txt").write_text("<html>not found</html>")
    (bad / "._result_summary.txt").write_bytes(b"\x00\x05\x16\x07" + bytes(100))
    (bad / "job.sh").write_text("#!/bin/sh\n")
    found = list(io500.gather([tmp_path]))
    assert {one.name: len(one.cases) for one in found} == {"program-2025": 1, "script-2019": 1, "": 0}
    refused = sorted(Path(one.path).name for gathered in found for one in gathered.refused)
    assert refused == ["._result_summary.txt", "ior-easy-write.txt"]
    assert good.exists()


def test_a_directory_without_any_submission_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    found = _one(tmp_path)
    assert [one.reason for one in found.refused] == ["has neither result_summary.txt nor result.txt"]


def test_submissions_are_named_after_the_directory_that_tells_them_apart(tmp_path: Path) -> None:
    for name in ("site-a", "site-b"):
        _copy("script-2019", tmp_path / name).rename(tmp_path / name / "results")
    assert [one.name for one in io500.gather([tmp_path])] == ["site-a", "site-b"]


def test_a_submission_is_named_by_institution_and_system_as_it_describes_itself(tmp_path: Path) -> None:
    lines = 'io500_info_institution="Some University, HPC"\nio500_info_system="Big Blue"\n'
    for name, text in (("system-information.txt", lines), ("system-information.json", TREE)):
        place = _copy("script-2019", tmp_path / name.replace(".", "-") / "data") / name
        place.write_text(text)
    assert [one.name for one in io500.gather([tmp_path])] == ["A-site-Blue", "Some-University-HPC-Big-Blue"]


@pytest.mark.parametrize("below", ["", "results", "results/full", "results/G:/2023.05.15-19.55.28"])
def test_a_submission_of_the_public_collection_is_named_by_its_place_there(tmp_path: Path, below: str) -> None:
    place = tmp_path / "Some Lab" / "Red" / "Lustre" / "2023" / "submission-661"
    shutil.copytree(FILES / "io500" / "script-2019", place / below)
    assert _one(tmp_path).name == "Some-Lab-Red-submission-661"


CONFIGURATION = """\
# Supported and current values of the ini file:
[global]
datadir = ./datafiles
api = POSIX
drop-caches = FALSE

[ior-hard]
API = MPIIO --mpiio.useFileView
segmentCount = 80000
run = TRUE
verbosity =
"""

DESCRIPTION = """\
# see the form
io500_info_submitter="A person"
io500_info_filesystem_name="Lustre"
io500_info_ds_storage_devices="40"
io500_info_ds_network=""
io500_info_comment="anything"
"""

TREE = """\
{"DATA":{"type":"Site","att":{"institution":"A site"},"childs":[
 {"type":"IO500","att":{"score":"1.0"},"childs":[{"type":"information","att":{"email":"a@b"},"childs":[]}]},
 {"type":"Supercomputer","att":{"name":"Blue"},"childs":[{"type":"Nodes","att":{"kernel
 version":"4.18"},"childs":[{"type":"Memory","att":{"net capacity":["512","GB"],"protection":""},"childs":[]}]}]}]}}
"""


def _told(place: Path) -> dict[str, object]:
    return run(_one(place), ["ioassay"])[0].study.settings


def test_what_the_phases_tell_of_where_they_ran_is_kept() -> None:
    told = _told(FILES / "io500" / "program-2025")
    assert str(told["machine"]).startswith("Linux node001")
    assert told["API"] == ["MPIIO", "POSIX"]


def test_the_configuration_of_a_submission_is_kept_but_not_where_its_files_lay(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    before = _told(place)
    (place / "config.ini").write_text(CONFIGURATION)
    told = _told(place)
    assert {name: value for name, value in told.items() if name not in before} == {
        "[global] api": "POSIX",
        "[global] drop-caches": "FALSE",
        "[ior-hard] api": "MPIIO --mpiio.useFileView",
        "[ior-hard] segmentcount": "80000",
    }
    (place / "config-orig.ini").write_text("[global]\nAPI = DFS\n")
    assert [name for name in _told(place) if name.startswith("[")] == ["[global] api"]


def test_a_description_of_the_system_is_kept_without_the_people(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path / "submission" / "results")
    (tmp_path / "submission" / "system-information.txt").write_text(DESCRIPTION)
    described = {name: value for name, value in _told(place).items() if name.startswith("system:")}
    assert described == {"system: filesystem name": "Lustre", "system: ds storage devices": "40"}


def test_a_description_may_be_a_tree_of_parts(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    (place / "system-information.json").write_text(TREE)
    described = {name: value for name, value in _told(place).items() if name.startswith("system:")}
    assert described == {
        "system: Supercomputer name": "Blue",
        "system: Nodes kernel version": "4.18",
        "system: Nodes Memory net capacity": "512 GB",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.ini", "api = POSIX\n"), ("system-information.json", '{"DATA": {"type": "Site"}}')],
)
def test_what_a_submission_says_of_itself_in_no_known_form_is_refused_alone(
    tmp_path: Path, name: str, text: str
) -> None:
    place = _copy("program-2025", tmp_path)
    (place / name).write_text(text)
    found = _one(place)
    assert [Path(one.path).name for one in found.refused] == [name]
    assert found.cases
