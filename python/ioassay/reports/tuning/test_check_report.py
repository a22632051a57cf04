"""`tune check` as documents and on a terminal: the same judgements; a terminal shows no addresses and few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from ioassay.reports import build
from ioassay.reports.tuning import CheckReport
from ioassay.testing import io_path_nodes, tuned_systems
from ioassay.testing.snapshots import disk, snapshot
from ioassay.testing.terminal_text import terminal_text
from ioassay.tuning.check import CheckRequest, examine
from ioassay.tuning.rules import RULES
from ioassay.tuning.snapshot import Snapshot


@pytest.fixture(scope="module")
def report() -> CheckReport:
    rules = ["nr-requests", "vfs-cache-pressure", "raid-cache-block"]
    asked = CheckRequest.of(
        transfer="1MiB", raid="segment=128k,data=8,parity=2,cache-block=4k", storage=None, rules=rules
    )
    return CheckReport(examine([tuned_systems.md3460_oss()], asked))


@pytest.fixture(scope="module")
def lines(report: CheckReport) -> list[str]:
    return [line.rstrip() for line in terminal_text(replace(report, columns=80).terminal()).splitlines()]


def test_addresses_of_sources_are_in_documents_and_not_on_the_terminal(report: CheckReport, lines: list[str]) -> None:
    assert "(https://" in build(report, "md").decode()
    assert not [line for line in lines if "https://" in line]
    assert any(line.startswith("  Source: ") for line in lines)


def test_devices_that_need_the_same_are_one_row_and_one_command(lines: list[str]) -> None:
    text = "\n".join(lines)
    command, together = (line for line in lines if "nr_requests=1024" in line)
    assert command.startswith("  ioassay tune apply block:{dm-0,dm-1,")
    assert command.endswith("}/nr_requests=1024")
    assert command.count(",") == 17
    assert together == f"{command} sysctl:vm.vfs_cache_pressure=50"
    assert text.count("128  ") == 1


def test_only_commands_are_wider_than_the_terminal(lines: list[str]) -> None:
    wide = [line for line in lines if len(line) > 80]
    assert wide
    assert all(line.startswith(("  ioassay tune apply ", "  On a Dell MD")) for line in wide)


def test_settings_that_split_requests_come_first_and_say_so() -> None:
    asked = CheckRequest.of(transfer="1MiB", raid="segment=128k,data=8,parity=2", storage=None, rules=[])
    report = CheckReport(examine([tuned_systems.md3460_oss()], asked))
    _, _, changes = build(report, "md").decode().partition("## What to change")
    named = [line.rpartition("*")[2].strip() for line in changes.splitlines() if line.startswith("- **Rule:")]
    assert named[:2] == ["max-sectors-kb", "max-sgl-entries"]
    weights = {rule.name: rule.weight for rule in RULES}
    assert [weights[name] for name in named[2:]] == sorted(
        (weights[name] for name in named[2:]), key=("large", "usual", "small").index
    )
    usual = [name for name in named[2:] if weights[name] == "usual"]
    assert usual == [rule.name for rule in RULES if rule.name in usual]
    assert changes.count("**Found here:** ") == 2


def _report(snapshots: Sequence[Snapshot], *rules: str) -> CheckReport:
    asked = CheckRequest.of(transfer="1MiB", raid=None, storage=None, rules=rules)
    return CheckReport(examine(snapshots, asked))


def test_changes_are_counted_as_what_is_to_be_done_and_not_for_each_device(lines: list[str]) -> None:
    summary = " ".join(lines).rpartition("3 rules on 1 host: ")[2]
    assert summary.startswith("3 recommended changes in 20 places")


def test_nothing_judged_is_no_all_clear_in_any_form() -> None:
    report = _report([snapshot(disk("loop0", queue={"max_sectors_kb": 256}), target="/dev/loop0")], "max-sectors-kb")
    for text in (
        terminal_text(replace(report, columns=100).terminal()),
        build(report, "md").decode(),
        build(report, "html").decode(),
    ):
        assert "No setting was judged" in text
        assert "no setting was judged" in text
        assert "as recommended" not in text
    assert report.data()["verdict"] == "nothing judged"
    (path,) = report.data()["paths"]
    split = next(conclusion for conclusion in path["conclusions"] if conclusion["is_problem"])
    assert split["outcome"] == "no recommendation"
    assert "loop0 lies on a file" in split["reason"]


def test_a_problem_whose_rule_was_left_out_is_not_judged() -> None:
    report = _report([snapshot(disk("sda", queue={"max_sectors_kb": 256}), target="/dev/sda")], "nomerges")
    (path,) = report.data()["paths"]
    split = next(conclusion for conclusion in path["conclusions"] if conclusion["is_problem"])
    assert (split["outcome"], split["reason"]) == ("not judged", "Not judged: max-sectors-kb was left out by --rule.")


@pytest.mark.parametrize("make", [tuned_systems.md3460_oss, tuned_systems.md3460_oss_tuned, io_path_nodes.oss_snapshot])
@pytest.mark.parametrize("rules", [(), ("nomerges",), ("max-sectors-kb",)])
def test_every_problem_in_a_picture_has_an_outcome(make: Callable[[], Snapshot], rules: tuple[str, ...]) -> None:
    for path in _report([make()], *rules).data()["paths"]:
        for conclusion in path["conclusions"]:
            if conclusion["is_problem"]:
                assert conclusion["reason"]
                assert (conclusion["outcome"] == "recommended") == bool(conclusion["rules"])


def test_settings_not_judged_are_reported_beside_those_as_recommended() -> None:
    without = [snapshot({"proc/sys/vm/zone_reclaim_mode": "0"})]
    text = terminal_text(replace(_report(without, "zone-reclaim-mode", "dirty-limit"), columns=100).terminal())
    assert "Nothing among the 1 setting that could be judged; 1 could not, see below." in text
    assert "Nothing: the setting that was judged is as recommended." in terminal_text(
        replace(_report(without, "zone-reclaim-mode"), columns=100).terminal()
    )


def _nodes(number: int, odd: Mapping[int, Mapping[str, str]]) -> list[Snapshot]:
    """Nodes with two disks of too few requests, some of them with other files."""
    files = {**disk("sda"), **disk("sdb")}
    return [snapshot({**files, **odd.get(index, {})}, host=f"n{index:03}") for index in range(1, number + 1)]


def test_many_nodes_that_need_the_same_are_one_line_and_outliers_are_named() -> None:
    good = {f"sys/block/{name}/queue/nr_requests": "1024" for name in ("sda", "sdb")}
    other = {"sys/block/sdb/queue/nr_requests": "32"}
    report = _report(_nodes(30, {7: good, 9: other}), "nr-requests")
    (group,) = report.data()["changes"]
    assert [(len(place["hosts"]), place["subjects"], place["value"]) for place in group["places"]] == [
        (28, ["sda", "sdb"], "64"),
        (1, ["sda"], "64"),
        (1, ["sdb"], "32"),
    ]
    text = terminal_text(replace(report, columns=100).terminal())
    assert "n[001-006,008,010-030] (28" in text
    assert "1 other node without it: n007 (as recommended)." in text
    assert text.count("ioassay tune apply") == 1
    assert "Try it on n[001-006,008-030]" in text
    assert "1 recommended change in 58 places" in text
    assert text.count("I/O path to ") == 1


def test_values_of_today_that_differ_on_every_node_are_one_line() -> None:
    odd = {index: {"proc/sys/vm/vfs_cache_pressure": str(200 + index)} for index in range(1, 31)}
    (group,) = _report(_nodes(30, odd), "vfs-cache-pressure").data()["changes"]
    (place,) = group["places"]
    assert place["value"] == "201, 202, 203, … (30 values)"
    assert len(place["hosts"]) == 30


def test_harmful_settings_come_before_those_that_split_requests() -> None:
    odd = {1: {"proc/sys/vm/min_free_kbytes": "100"}}
    report = _report(_nodes(1, odd), "max-sectors-kb", "min-free-kbytes")
    assert [change["rule"] for change in report.data()["changes"]] == ["min-free-kbytes", "max-sectors-kb"]
    assert "This value ruins I/O on any node." in terminal_text(replace(report, columns=100).terminal())


def test_rules_that_do_not_apply_are_counted_once_whatever_the_number_of_devices() -> None:
    # Of 18 devices `scheduler` applies to 6, `wbt-lat-usec` to none.
    asked = CheckRequest.of(transfer=None, raid=None, storage=None, rules=["scheduler", "wbt-lat-usec"])
    text = terminal_text(CheckReport(examine([tuned_systems.md3460_oss()], asked), 80).terminal())
    assert "Rules that do not apply here: 1 of 2; " in text


def test_commands_that_differ_in_a_name_are_one(report: CheckReport) -> None:
    asked = CheckRequest.of(
        transfer="1MiB", raid=None, storage=None, rules=["max-sectors-kb", "lustre-fragmented-bulk"]
    )
    text = terminal_text(CheckReport(examine([tuned_systems.md3460_oss()], asked), 100).terminal())
    assert "For dm-0, dm-1, dm-2, dm-3, dm-4, dm-5" in " ".join(text.split())
    assert text.count("multipath -f ") == 1
    assert text.count("lctl set_param osd-ldiskfs.NAME.brw_stats=0") == 1


def test_options_that_only_a_new_mount_takes_are_not_offered_to_be_set_on_the_running_system() -> None:
    # `ioassay tune apply mount:/data/rsize=1048576` is refused, and with it all other settings of one command.
    options = "rw,vers=4.2,hard,proto=tcp,rsize=32768,wsize=32768"
    files = {
        "proc/self/mountinfo": f"40 1 0:38 / /data rw,relatime - nfs4 server:/export {options}\n",
        "proc/sys/vm/vfs_cache_pressure": "0",
        "proc/sys/vm/swappiness": "200",
        "proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 8388604 0 -2\n",
    }
    report = _report([snapshot(files)], "nfs-transfer-size", "vfs-cache-pressure", "swappiness")
    text = terminal_text(replace(report, columns=80).terminal())
    assert "  set rsize=1048576 in /etc/fstab or the automounter's map, then: umount /data && mount /data\n" in text
    assert "mount:" not in text
    (together,) = (line for line in text.splitlines() if "vfs_cache_pressure" in line and "swappiness" in line)
    assert together.startswith("  ioassay tune apply sysctl:")


def test_a_split_that_no_asked_rule_judges_is_no_all_clear() -> None:
    report = _report([snapshot(disk("sda", queue={"max_sectors_kb": 256}), target="/dev/sda")], "nomerges")
    assert report.data()["verdict"] == "partly judged"
    assert "what is split or misaligned above was not judged" in " ".join(
        terminal_text(replace(report, columns=80).terminal()).split()
    )


def test_a_limit_of_the_device_is_the_reason_why_a_split_stays() -> None:
    report = _report([snapshot(disk("vda", queue={"max_sectors_kb": 1280}), target="/dev/vda")], "max-sectors-kb")
    assert report.data()["verdict"] == "as recommended"
    text = " ".join(terminal_text(replace(report, columns=80).terminal()).split())
    assert "max_segments is a limit of the device or its driver" in text
    assert "What is split or misaligned above stays so, for the reason given there." in text
