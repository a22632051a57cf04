"""IO500 submissions of the script and of the program, whole and damaged."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay import reports
from ioassay.analysis.finding import FileLine
from ioassay.analysis.findings import RunFacts
from ioassay.analysis.findings.printed_scores import printed
from ioassay.analysis.printed_scores import RecomputedScore, recomputed
from ioassay.importers import io500
from ioassay.importers.io500 import cases, result_ini, score_hash, summary
from ioassay.importers.io500.score_hash import ScoreHash
from ioassay.importers.model import Case, Measurement, Setting
from ioassay.importers.stored import Gathered, run
from ioassay.reports.run import RunReport
from ioassay.store.loaded import LoadedRun
from ioassay.testing.importer_samples import FILES, source
from ioassay.testing.importer_samples import printed as printed_file

GIB = 1 << 30


def _one(*paths: Path) -> Gathered:
    (submission,) = io500.gather(paths)
    return submission


def _phase(gathered: Gathered, name: str) -> Measurement:
    return next(measured for measured in gathered.cases[0].measured if measured.phase == name)


def _doubts(measured: Measurement) -> set[str]:
    return {doubt.kind for doubt in measured.doubts}


def _run(gathered: Gathered) -> LoadedRun:
    document, tables = run(gathered, ["ioassay"])
    return LoadedRun(document=document, samples=tables.pop("samples").lazy(), watch=None, **tables)


def _recomputed(gathered: Gathered) -> list[RecomputedScore]:
    return recomputed(_run(gathered))


def _copy(name: str, to: Path) -> Path:
    return Path(shutil.copytree(FILES / "io500" / name, to / name))


def test_a_submission_of_the_script_has_its_phases_in_gib(tmp_path: Path) -> None:
    submission = _one(FILES / "io500" / "script-2019")
    write = _phase(submission, "ior-easy-write")
    assert len(submission.cases[0].measured) == 12
    assert write.rate_bytes_per_s == 60.081 * GIB  # labelled GB/s
    assert write.bytes == 19_200_000 << 20  # of IOR's own output
    assert (submission.cases[0].clients, submission.cases[0].ranks) == (10, 160)
    assert not submission.refused


def test_a_submission_of_the_program_has_stonewall_rates_ranks_and_finds(tmp_path: Path) -> None:
    submission = _one(FILES / "io500" / "program-2025")
    write, find = _phase(submission, "ior-easy-write"), _phase(submission, "find")
    assert write.stonewall is not None
    assert write.stonewall.rate_bytes_per_s == pytest.approx(41.77 * GIB)
    assert write.each is not None
    assert write.each.height == 410
    assert (find.operations, find.matched) == (39_744_991, 508_526)
    assert _phase(submission, "mdtest-easy-write").operations == pytest.approx(64_912 * 410, rel=1e-6)


def test_the_amount_until_the_stonewall_is_not_the_requested_size() -> None:
    submission = _one(FILES / "io500" / "program-2025")
    sizes = {measured.phase: (measured.bytes, measured.file_set_bytes) for measured in submission.cases[0].measured}
    assert sizes["ior-easy-write"][0] is not None
    assert {requested for _, requested in sizes.values()} == {None}


def test_a_tool_that_took_longer_than_its_phase_is_doubted() -> None:
    write = _phase(_one(FILES / "io500" / "program-2025"), "ior-easy-write")
    assert [doubt.message for doubt in write.doubts] == [
        "the tool ran for 758.4 s by its own clock, but the whole phase took only 413.2 s; the nodes' clocks may differ"
    ]


def test_a_table_that_lacks_ranks_is_ignored_and_reported(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    table = place / "ior-easy-write.csv"
    table.write_text("".join(table.read_text().splitlines(keepends=True)[:12]))
    write = _phase(_one(place), "ior-easy-write")
    assert write.each is None
    assert "ranks-missing" in _doubts(write)


def test_a_rate_that_differs_from_its_phase_is_doubted(tmp_path: Path) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    summary.write_text(summary.read_text().replace("60.081 GB/s", "80.081 GB/s"))
    assert "does-not-add-up" in _doubts(_phase(_one(place), "ior-easy-write"))


def test_a_summary_alone_is_enough(tmp_path: Path) -> None:
    submission = _one(FILES / "io500" / "product-2017" / "result_summary.txt")
    assert (submission.cases[0].clients, submission.cases[0].ranks) == (None, None)
    assert len(submission.files) == 1


def test_printed_scores_that_follow_are_distinguished_from_one_without_a_root() -> None:
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


def test_a_finding_about_a_printed_score_names_its_line() -> None:
    loaded = _run(_one(FILES / "io500" / "product-2017"))
    (finding,) = printed(RunFacts(loaded))
    line = next(evidence for evidence in finding.rests_on if isinstance(evidence, FileLine))
    assert "[SCORE]" in Path(line.file).read_text().splitlines()[line.line - 1]
    (entry,) = (
        finding_entry
        for finding_entry in json.loads(reports.build(RunReport(loaded), "json"))["findings"]
        if finding_entry["kind"] == "printed-score"
    )
    assert line._asdict() in entry["rests_on"]
    line_text = f"{Path(line.file).name}, line {line.line}"
    assert line_text in reports.build(RunReport(loaded), "html").decode()


def test_a_failed_phase_is_left_out_of_the_printed_mean_and_reported(tmp_path: Path) -> None:
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
    submission = _one(place)
    assert [(Path(refused.path).name, refused.line) for refused in submission.refused] == [("result_summary.txt", line)]
    assert not submission.cases


def test_a_truncated_summary_is_refused(tmp_path: Path) -> None:
    place = _copy("script-2019", tmp_path)
    summary = place / "result_summary.txt"
    text = summary.read_text()
    for length in range(0, len(text), 7):
        summary.write_text(text[:length])
        submission = _one(place)
        assert not submission.cases, length
        assert submission.refused, length


def test_damaged_files_do_not_affect_the_others(tmp_path: Path) -> None:
    good, bad = _copy("script-2019", tmp_path), _copy("program-2025", tmp_path)
    (bad / "ior-easy-write.txt").write_text("<html>not found</html>")
    (bad / "._result_summary.txt").write_bytes(b"\x00\x05\x16\x07" + bytes(100))
    (bad / "job.sh").write_text("#!/bin/sh\n")
    submissions = list(io500.gather([tmp_path]))
    assert {submission.name: len(submission.cases) for submission in submissions} == {
        "program-2025": 1,
        "script-2019": 1,
    }
    refused = sorted(Path(refused_file.path).name for gathered in submissions for refused_file in gathered.refused)
    assert refused == ["ior-easy-write.txt"]  # the other is an AppleDouble file, passed over
    assert good.exists()


def test_a_directory_without_a_submission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    submission = _one(tmp_path)
    assert [refused.reason for refused in submission.refused] == ["has neither result_summary.txt nor result.txt"]


def test_submissions_are_named_after_the_directory_that_distinguishes_them(tmp_path: Path) -> None:
    for name in ("site-a", "site-b"):
        _copy("script-2019", tmp_path / name).rename(tmp_path / name / "results")
    assert [submission.name for submission in io500.gather([tmp_path])] == ["site-a", "site-b"]


def test_a_submission_is_named_by_its_institution_and_system(tmp_path: Path) -> None:
    lines = 'io500_info_institution="Some University, HPC"\nio500_info_system="Big Blue"\n'
    for name, text in (("system-information.txt", lines), ("system-information.json", TREE)):
        place = _copy("script-2019", tmp_path / name.replace(".", "-") / "data") / name
        place.write_text(text)
    assert [submission.name for submission in io500.gather([tmp_path])] == [
        "A-site-Blue",
        "Some-University-HPC-Big-Blue",
    ]


@pytest.mark.parametrize("below", ["", "results", "results/full", "results/G:/2023.05.15-19.55.28"])
def test_a_submission_of_the_public_collection_is_named_by_its_path(tmp_path: Path, below: str) -> None:
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


def test_facts_of_the_phases_are_kept() -> None:
    settings = _told(FILES / "io500" / "program-2025")
    assert str(settings["machine"]).startswith("Linux node001")
    assert settings["API"] == ["MPIIO", "POSIX"]


def test_the_configuration_is_kept_without_paths(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    before = _told(place)
    (place / "config.ini").write_text(CONFIGURATION)
    settings = _told(place)
    assert {name: value for name, value in settings.items() if name not in before} == {
        "[global] api": "POSIX",
        "[global] drop-caches": "FALSE",
        "[ior-hard] api": "MPIIO --mpiio.useFileView",
        "[ior-hard] segmentcount": "80000",
    }
    (place / "config-orig.ini").write_text("[global]\nAPI = DFS\n")
    assert [name for name in _told(place) if name.startswith("[")] == ["[global] api"]


def test_a_system_description_is_kept_without_people(tmp_path: Path) -> None:
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
def test_a_description_in_an_unknown_format_is_refused_alone(tmp_path: Path, name: str, text: str) -> None:
    place = _copy("program-2025", tmp_path)
    (place / name).write_text(text)
    submission = _one(place)
    assert [Path(refused.path).name for refused in submission.refused] == [name]
    assert submission.cases


def _edited(place: Path, name: str, old: str, new: str) -> Gathered:
    """The submission in `place`, a text in one of its files replaced everywhere."""
    text = (place / name).read_text()
    assert old in text
    (place / name).write_text(text.replace(old, new))
    return _one(place)


def _messages(gathered: Gathered, phase: str = "find") -> list[str]:
    return [doubt.message for doubt in _phase(gathered, phase).doubts]


def test_a_score_edited_in_one_file_is_doubted_with_both_values(tmp_path: Path) -> None:
    submission = _edited(_copy("program-2025", tmp_path), "result_summary.txt", "TOTAL 22.076675", "TOTAL 32.076675")
    message = "total: result_summary.txt has 32.076675, but result.txt 22.076675"
    assert all(message in _messages(submission, measured.phase) for measured in submission.cases[0].measured)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= 22.076675", "= 32.076675", "total: result_summary.txt has 22.076675, but result.txt 32.076675"),
        ("= 6.486577", "= 9.486577", "bandwidth: result_summary.txt has 6.486577, but result.txt 9.486577"),
        ("= 1706.298589", "= 2706.298589", "result_summary.txt has 1706.298589, but result.txt 2706.298589"),
    ],
)
def test_a_number_edited_in_result_txt_is_doubted_and_fits_no_hash(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    submission = _edited(_copy("program-2025", tmp_path), "result.txt", old, new)
    assert message in _messages(submission)
    (doubt,) = (doubt for doubt in _phase(submission, "find").doubts if doubt.kind == "score-hash")
    assert "result.txt has the hash AD436794 for its scores" in doubt.message
    assert Setting(name="score hash", value="AD436794, fits none") in submission.cases[0].facts


@pytest.mark.parametrize("garbage", ["= nan", "=", "= 22,076675"])
def test_a_result_txt_without_a_number_is_refused_and_leaves_the_summary(tmp_path: Path, garbage: str) -> None:
    submission = _edited(_copy("program-2025", tmp_path), "result.txt", "= 1706.298589", garbage)
    assert [(Path(refused.path).name, refused.line) for refused in submission.refused] == [("result.txt", 53)]
    assert len(submission.cases[0].measured) == 13


def test_a_score_of_an_invalid_run_is_compared_without_invalid(tmp_path: Path) -> None:
    submission = _edited(_copy("program-2025", tmp_path), "result.txt", "= 22.076675", "= 22.076675 [INVALID]")
    assert not submission.refused
    assert not any("22.076675" in message for message in _messages(submission))


def test_the_time_of_a_phase_that_two_files_print_differently_is_doubted(tmp_path: Path) -> None:
    submission = _edited(_copy("program-2025", tmp_path), "result.txt", "= 23.3000", "= 33.3000")
    assert "time of find: result_summary.txt has 23.300, but result.txt 33.3000" in _messages(submission)


def test_numbers_that_the_form_of_the_system_repeats_are_compared(tmp_path: Path) -> None:
    place = _copy("program-2025", tmp_path)
    tree = {
        "type": "Site",
        "att": {},
        "childs": [
            {"type": "IO500", "att": {"score": "22.08", "scoreBW": ["6.49", "GiB/s"], "scoreMD": ""}, "childs": []},
            {"type": "find", "att": {"mixed": ["1806.30", "kOP/s"]}, "childs": []},
        ],
    }
    (place / "system-information.json").write_text(json.dumps({"DATA": tree}))
    submission = _one(place)
    assert not submission.refused
    for name in ("result_summary.txt", "result.txt"):
        assert f"{name} has 1706.298589, but system-information.json 1806.30" in _messages(submission)
    assert not any("22.08" in message for message in _messages(submission))


def _hashed(text: str) -> list[ScoreHash]:
    return list(score_hash.hashes(result_ini.read(source(text))))


def test_the_hash_of_a_score_says_which_rule_it_follows() -> None:
    text = (FILES / "io500" / "program-2025" / "result.txt").read_text()
    (printed_hash,) = _hashed(text)
    assert (printed_hash.printed, printed_hash.expected, printed_hash.rule) == (
        "AD436794",
        "AD436794",
        "phases, means and score",
    )


@pytest.mark.parametrize(
    ("numbers", "printed", "rule"),
    [
        # Of public submissions: 545 (io500-isc21_v1-12), and the extended score of 582 (io500-sc21).
        ("isc21", "1FECCF58", "phases and score, without the means (io500-isc21_v1)"),
        ("isc21", "1FE5BD5F", "phases and score, without the means (io500-isc21_v1), of an invalid run"),
        ("isc21", "6B523981", "phases, means and score"),
        ("isc21", "6B523982", None),
    ],
)
def test_hash_rules_of_other_versions_are_known(numbers: str, printed: str, rule: str | None) -> None:
    phases = {
        "ior-easy-write": "112.999945",
        "mdtest-easy-write": "4815.063677",
        "timestamp": "0.000000",
        "ior-hard-write": "108.445586",
        "mdtest-hard-write": "1714.672326",
        "find": "5057.189716",
        "ior-easy-read": "108.468716",
        "mdtest-easy-stat": "9277.016263",
        "ior-hard-read": "92.411538",
        "mdtest-hard-stat": "8016.986057",
        "mdtest-easy-delete": "1982.357356",
        "mdtest-hard-read": "1923.210161",
        "mdtest-hard-delete": "2217.838889",
    }
    text = "version = io500-isc21_v1-12\n" + "".join(f"[{name}]\nscore = {value}\n" for name, value in phases.items())
    text += f"[SCORE]\nMD = 3567.847794\nBW = 105.276201\nSCORE = 612.869856\nhash = {printed}\n"
    (printed_hash,) = _hashed(text)
    assert (printed_hash.expected, printed_hash.rule) == ("6B523981", rule)


def test_optional_phases_have_the_hash_of_the_extended_score() -> None:
    text = "[ior-easy-write]\nscore = 1.000000\n[find-easy]\nscore = 2.000000\n[mdworkbench-create]\nscore = 0.000000\n"
    text += "[SCORE]\nMD = 1.000000\nBW = 1.000000\nSCORE = 1.000000\nhash = {}\n"
    text += "[SCOREX]\nMD = 2.000000\nBW = 1.000000\nSCORE = 1.414214\nhash = {}\n"
    standard, extended = (printed_hash.expected for printed_hash in _hashed(text.format("0", "0")))
    assert [printed_hash.rule for printed_hash in _hashed(text.format(standard, extended))] == [
        "phases, means and score",
        "optional phases, means and score",
    ]
    again = text.replace("[find-easy]\nscore = 2", "[find-easy]\nscore = 3").format(standard, extended)
    assert [printed_hash.rule for printed_hash in _hashed(again)] == ["phases, means and score", None]


def _with_phases(**amounts: tuple[int, int]) -> Gathered:
    """The submission `program-2025` with phases whose files say this: operations, and the tool's own seconds."""
    place = "io500/program-2025"
    phases = {}
    for name, (operations, seconds) in amounts.items():
        phase = name.replace("_", "-")
        measurement = Measurement(
            file=Path("own.txt"),
            line=1,
            phase=phase,
            operation="create",
            operations=operations,
            duration_ns=seconds * 10**9,
        )
        phases[phase] = (
            Case(tool_version=None, settings=[], amount="", clients=1, ranks=1, measured=[measurement]),
            measurement,
        )
    parsed = cases.Parsed(
        summary=summary.read(printed_file(f"{place}/result_summary.txt")),
        sections=result_ini.read(printed_file(f"{place}/result.txt")),
        phases=phases,
    )
    return Gathered(
        tool="io500",
        title="IO500",
        name="s",
        cases=[cases.case(parsed)],
        files=[],
        refused=[],
        printed=cases.printed(parsed),
    )


@pytest.mark.parametrize(("seconds", "hidden"), [(299, True), (301, False)])
def test_a_write_of_less_than_300_s_that_its_phase_hides_is_doubted(seconds: int, hidden: bool) -> None:
    write = _phase(_with_phases(mdtest_hard_write=(1, seconds)), "mdtest-hard-write")
    messages = [doubt.message for doubt in write.doubts if doubt.kind == "hidden-short-write"]
    assert [
        message.startswith("mdtest wrote for 299.0 s, but the rules require 300 s; the 391.4 s") for message in messages
    ] == ([True] if hidden else [])


@pytest.mark.parametrize(("created", "more"), [(39_000_000, False), (19_872_496, True)])
def test_a_find_that_visited_far_more_than_was_created_is_doubted(created: int, more: bool) -> None:
    submission = _with_phases(mdtest_easy_write=(created - 1, 664), mdtest_hard_write=(1, 391))
    messages = [
        doubt.message for doubt in _phase(submission, "find").doubts if doubt.kind == "visited-more-than-created"
    ]
    assert len(messages) == int(more)
    assert all("visited 39,744,991 entries, but mdtest had created 19,872,496 files" in message for message in messages)


def test_a_report_says_why_its_score_differs_from_the_printed_one() -> None:
    files = 19_872_496
    loaded = _run(_with_phases(mdtest_easy_write=(files - 411, 664), mdtest_hard_write=(1, 391)))
    measurements = loaded.measurements.with_columns(files=pl.when(phase="ior-easy-write").then(410).otherwise("files"))
    measurements = measurements.with_columns(files=pl.when(phase="ior-hard-write").then(0).otherwise("files"))
    text = reports.build(RunReport(replace(loaded, measurements=measurements)), "md").decode()
    note = f"counts 50 % of 1706.3 kIOPS: it visited 39744991 entries, but there were {files} files"
    assert f"The IO500 printed 22.076675 (find: {note})." in text
    assert f"valid: {note}" in text
