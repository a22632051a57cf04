"""What the tools say, and the rates read from it. Excerpts of real output of small jobs, two ranks each."""

from __future__ import annotations

import json
from pathlib import Path

import bare
import elbencho
import engine
import find_tree
import fio
import io500
import ior
import mdtest
import pfind
import pytest
from pairs import Measurement, alternate, compare
from summary import Record, render
from tool import Failed, Manner, Missing, Place, locate
from work import IN_MEMORY, KIB, MIB, ON_DISK, TRAIN_GOAL, Data, Find, Metadata, Train, goal

IOR = """{
  "Version": "4.1.0+dev",
  "tests": [
    {
    "TestID": 0,
    "Results": [
            {
        "access": "read",
        "bwMiB": 6259.0495,
        "blockKiB": 262144.0000,
        "xferKiB": 4.0000,
        "iops": 1602328.4476,
        "latency": 0.0000,
        "openTime": 0.0000,
        "wrRdTime": 2.0450,
        "closeTime": 0.0362,
        "totalTime": 2.0450
      }
]
  }
]
}"""

MDTEST = """\
-- started at 11/21/2026 09:50:31 --

mdtest-4.1.0+dev was launched with 2 total task(s) on 1 node(s)
2 tasks, 100000 files

SUMMARY rate (in ops/sec): (of 1 iterations)
   Operation                     Max            Min           Mean        Std Dev
   ---------                     ---            ---           ----        -------
   File creation              211700.741     211700.741     211700.741          0.000
   File stat                 1096504.199    1096504.199    1096504.199          0.000
   File read                  447206.866     447206.866     447206.866          0.000
   File removal               291277.786     291277.786     291277.786          0.000
   Tree creation               20360.699      20360.699      20360.699          0.000
   Tree removal                62601.552      62601.552      62601.552          0.000
-- finished at 11/21/2026 09:50:33 --
"""

FIO = """\
note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
{
  "fio version" : "fio-3.42",
  "jobs" : [
    {
      "jobname" : "peers",
      "error" : 0,
      "job_runtime" : 2000,
      "read" : { "io_bytes" : 8678187008, "iops" : 2118698.0, "runtime" : 1000, "total_ios" : 2118698 },
      "write" : { "io_bytes" : 0, "iops" : 0.0, "runtime" : 0, "total_ios" : 0 }
    }
  ]
}
"""

ELBENCHO = """\
{"phase_type":"MKDIRS","first_done":{"elapsed_time_ms":"0","entries\\/s":"3105"},"last_done":{"entries\\/s":"4987"}}
{"phase_type":"WRITE","last_done":{"elapsed_time_ms":"418","entries\\/s":"238867","iops":"238867","entries":"100000"}}
{"phase_type":"STAT","last_done":{"elapsed_time_ms":"65","entries\\/s":"1535107","entries":"100000"}}
{"phase_type":"READ","last_done":{"elapsed_time_ms":"191","entries\\/s":"521118","iops":"521119","entries":"100000"}}
{"phase_type":"RMFILES","last_done":{"elapsed_time_ms":"331","entries\\/s":"301802","entries":"100000"}}
"""

PFIND = """\
[DONE] rate: 2286.440 kiops time: 0.4s found: 20000 (scanned 1000000 files, scanned dirents: 1001000)
MATCHED 20000/1000000
"""

BARE = """\
{"operation":"write","operations":1114112,"ns":1109724411}
{"operation":"read","operations":1441792,"ns":1057751324}
"""

ENGINE = """\
{"event":"started","version":2,"run":"peers"}
{"event":"phase","step":0,"name":"write","complete":true,"operations":131072,"duration_ns":168676764}
{"event":"phase","step":1,"name":"read","complete":true,"operations":4456448,"duration_ns":2022956949}
{"event":"finished","outcome":"complete"}
"""


def test_ior_counts_bytes_from_the_first_open_to_the_last_close() -> None:
    assert ior.parse(IOR, "read") == pytest.approx(6259.0495 * 256)


def test_a_summary_of_ior_without_the_phase_is_refused() -> None:
    with pytest.raises(Failed, match="0 results of write"):
        ior.parse(IOR, "write")


def test_mdtest_has_a_rate_for_each_phase() -> None:
    rates = {"create": 211700.741, "stat": 1096504.199, "read": 447206.866, "remove": 291277.786}
    assert mdtest.parse(MDTEST) == pytest.approx(rates)


def test_a_table_of_mdtest_that_lacks_a_phase_is_refused() -> None:
    with pytest.raises(Failed, match="File stat"):
        mdtest.parse(MDTEST.replace("File stat", "File sta"))


def test_fio_may_say_something_before_its_json() -> None:
    assert fio.parse(FIO, "read") == pytest.approx(2118698)


@pytest.mark.parametrize("output", ["fio: failed", FIO.replace('"error" : 0', '"error" : 28')])
def test_a_failed_job_of_fio_is_refused(output: str) -> None:
    with pytest.raises(Failed):
        fio.parse(output, "read")


def test_a_job_of_fio_that_did_something_else_is_refused() -> None:
    with pytest.raises(Failed, match="nothing that is a write"):
        fio.parse(FIO, "write")


def test_elbencho_counts_entries_or_transfers_until_the_last_thread_is_done() -> None:
    assert elbencho.parse(ELBENCHO, "create", "entries/s") == 238867
    assert elbencho.parse(ELBENCHO, "stat", "entries/s") == 1535107
    assert elbencho.parse(ELBENCHO, "remove", "entries/s") == 301802
    assert elbencho.parse(ELBENCHO, "read", "iops") == 521119


def test_results_of_elbencho_of_two_runs_are_refused() -> None:
    with pytest.raises(Failed, match="2 phases READ"):
        elbencho.parse(ELBENCHO * 2, "read", "iops")


def test_pfind_prints_matches_and_rate() -> None:
    matches, scanned, rate = pfind.parse(PFIND)
    assert (matches, scanned) == (20_000, 1_000_000)
    assert rate == pytest.approx(2_286_440)


def test_output_of_pfind_without_rates_is_refused() -> None:
    with pytest.raises(Failed):
        pfind.parse("MATCHED 20000/1000000\n")


def test_bare_loops_print_operations_and_time() -> None:
    assert bare.parse(BARE, "read") == pytest.approx(1441792 / 1.057751324)


def test_the_engine_writes_a_record_for_each_phase() -> None:
    records = engine.parse(ENGINE)
    assert list(records) == ["write", "read"]
    assert records["read"]["duration_ns"] == 2022956949


def test_of_an_epoch_the_reads_count_and_not_the_accelerators_steps() -> None:
    step = '{"event":"phase","name":"read","operation":"step","complete":true,"operations":25,"duration_ns":7}\n'
    epoch = ENGINE.replace('"name":"read"', '"name":"read","operation":"read"') + step
    assert engine.parse(epoch)["read"]["operations"] == 4456448


def test_samples_are_files_to_the_bare_loop_and_a_dataset_in_the_same_order_to_the_engine(tmp_path: Path) -> None:
    work = next(work for work in IN_MEMORY if isinstance(work, Train) and work.loader_threads)
    assert goal(work.name, "bare") == TRAIN_GOAL
    create, read = engine.plan_of(work, tmp_path, Manner(paths="at"))["steps"]
    assert create["jobs"][0]["work"]["operation"] == {"kind": "create", "fsync": False}
    epoch = read["jobs"][0]["work"]["operation"]
    assert (epoch["shuffle"], epoch["batch"], epoch["compute_ns"]) == ("none", 4, 0)


def test_a_phase_of_the_engine_that_is_not_complete_is_refused() -> None:
    with pytest.raises(Failed, match="`read` is not complete"):
        engine.parse(ENGINE.replace('"name":"read","complete":true', '"name":"read","complete":false'))


def test_each_piece_of_work_has_a_plan_with_a_phase_for_each_rate(tmp_path: Path) -> None:
    (tmp_path / find_tree.STAMP).touch()
    for work in (*IN_MEMORY, *ON_DISK):
        phases = [step["name"] for step in engine.plan_of(work, tmp_path, Manner(paths="at"))["steps"]]
        assert set(work.rates) <= set(phases), work.name


def test_no_piece_of_work_takes_two_gib() -> None:
    for work in (*IN_MEMORY, *ON_DISK):
        match work:
            case Data():
                taken = work.ranks * work.rank_bytes
            case Metadata():
                taken = work.ranks * work.files_per_rank * (KIB + (4 * KIB if work.file_bytes else 0))
            case Find():
                taken = work.files * (KIB + 4 * KIB // 10)
            case Train():
                taken = work.samples * (KIB + max(work.sample_bytes, 4 * KIB))
        assert taken < 2048 * MIB, work.name


def test_the_tree_to_find_in_has_what_is_expected(tmp_path: Path) -> None:
    work = Find("find", directories=2, files_per_directory=40, pattern="*01*")
    find_tree.create(work, tmp_path, pause_s=0.02)
    stamp = (tmp_path / find_tree.STAMP).stat().st_mtime_ns
    files = [path for path in (tmp_path / find_tree.TREE).rglob(work.pattern) if path.is_file()]
    matches = [path for path in files if path.stat().st_size == work.size_bytes and path.stat().st_mtime_ns > stamp]
    find_tree.expect(work, matches=len(matches), scanned=80)
    with pytest.raises(Failed, match="where 4 match"):
        find_tree.expect(work, matches=len(matches) - 1)


def test_the_rates_of_md_workbench_are_read_from_the_lines_of_its_phases() -> None:
    output = """\
[RESULT]       ior-easy-write        0.000000 GiB/s : time 0.000 seconds [INVALID]
[      ]   mdworkbench-create       38.939231 kIOPS : time 2.402 seconds
[RESULT]    mdworkbench-bench      128.813798 kIOPS : time 5.991 seconds
[      ]   mdworkbench-delete      104.989262 kIOPS : time 0.911 seconds
"""
    assert io500.parse(output) == pytest.approx({"create": 38939.231, "replace": 128813.798, "remove": 104989.262})
    with pytest.raises(Failed, match="no line `mdworkbench-delete`"):
        io500.parse(output.replace("delete", "clean"))


def test_the_first_tool_alternates_between_pairs() -> None:
    rates = list(alternate("work", "peer", lambda: {"read": 2.0}, lambda: {"read": 1.0}, pairs=3))
    assert [each.tool for each in rates] == ["ioassay", "peer", "peer", "ioassay", "ioassay", "peer"]
    assert [each.position for each in rates] == [1, 2, 1, 2, 1, 2]


def test_ratios_are_taken_within_pairs() -> None:
    ours, theirs = iter([1.0, 10.0, 100.0]), iter([2.0, 10.0, 25.0])
    pairs = alternate("work", "peer", lambda: {"read": next(ours)}, lambda: {"read": next(theirs)}, pairs=3)
    (comparison,) = compare(list(pairs))
    assert comparison.ratios == [0.5, 1.0, 4.0]
    assert comparison.ratio == 1.0


def test_a_pair_with_one_side_only_does_not_count() -> None:
    lonely = Measurement("work", "peer", 0, 1, "ioassay", "read", 1.0, 0.0)
    assert compare([lonely]) == []


def test_the_summary_says_what_was_left_out_and_what_missed_its_goal() -> None:
    rates = alternate("work", "peer", lambda: {"read": 1.0}, lambda: {"read": 2.0}, pairs=1)
    record = Record("command", "a host", {"peer": "1.0"}, list(rates), notes=["mdtest: `mdtest` is not on the path"])
    page = render(record)
    assert "- mdtest: `mdtest` is not on the path" in page
    assert "| work | read | peer | 0.500 | 0.50 to 0.50 | 1 | 1.00 | **no** | 1 | 2 |" in page


def test_commands_and_failures_name_no_path_of_this_machine(tmp_path: Path) -> None:
    place = Place(tmp_path / "target", tmp_path, "/bin:/usr/bin")
    with pytest.raises(Failed, match=r"ended with \d: .*\$OUT/absent") as failed:
        place.run("ls", tmp_path / "target/absent", tmp_path / "absent")
    assert str(tmp_path) not in str(failed.value)
    assert place.commands == ["ls $DIR/absent $OUT/absent"]


def test_a_program_that_is_not_there_is_missing() -> None:
    with pytest.raises(Missing, match="`ior` is not on the path"):
        locate("ior", "/nowhere")


def test_plans_are_json(tmp_path: Path) -> None:
    plan = engine.plan_of(IN_MEMORY[0], tmp_path, Manner())
    assert json.loads(json.dumps(plan)) == plan


def test_ioassay_reads_at_offsets_drawn_afresh_beside_a_tool_that_does(tmp_path: Path) -> None:
    def orders(manner: Manner) -> list[str]:
        plan = engine.plan_of(IN_MEMORY[0], tmp_path, manner)
        return [step["jobs"][0]["work"]["order"] for step in plan["steps"]]

    assert orders(elbencho.Elbencho.manner) == ["sequential", "random", "random-with-replacement"]
    assert orders(ior.Ior.manner) == ["sequential", "random", "random"]
