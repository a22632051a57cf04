"""Workflows: steps, the files between them, and the fates of files."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ioassay.analysis.profile.findings.files_between_steps import (
    DeletedUnreadEvidence,
    HandOverEvidence,
    IdleFilesEvidence,
    deleted_unread,
    hand_overs,
    idle_files,
)
from ioassay.analysis.profile.findings.profile_facts import ProfileFacts
from ioassay.analysis.profile.maps import Range
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.analysis.profile.workflow import Workflow, common_name, condensed, workflow
from ioassay.analysis.profile.workflow_steps import program_name
from ioassay.profiles.model import FILE_PROCESSES, Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import MapAccess, State
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, joined

S = 10**9
MIB = 1 << 20
GIB = 1 << 30
EXCLUSIVE = 0o200
_REMOVED = {"remove": 1}

Load = Callable[..., Profile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(*tables: TableBuilder) -> Profile:
        (tmp_path / "node.tables").write_bytes(joined(tables))
        return load_profile([tmp_path])

    return loaded


class Process:
    """A process that uses files; each path has its inode."""

    inodes: ClassVar[dict[str, int]] = {}

    def __init__(self, pid: int, command: str, begin_s: float, end_s: float, parent: int = 1, **others: Any) -> None:
        self.begin_ns, self.end_ns = BEGIN_NS + round(begin_s * S), BEGIN_NS + round(end_s * S)
        self.table = TableBuilder(
            pid, command=command.split(), begin_ns=self.begin_ns, end_ns=self.end_ns, tick_ns=1.0,
            **({"parent": parent} | others),
        )  # fmt: skip

    def use(self, path: str, *, read: int = 0, write: int = 0, ns: int = 0, calls: dict[str, int] | None = None,
            failed: dict[str, int] | None = None, is_opened: bool = True, **facts: Any) -> Process:  # fmt: skip
        inode = self.inodes.setdefault(path, len(self.inodes) + 1) if is_opened else 0
        file = self.table.file(
            path, (calls or {}) | (failed or {}), failed, inode=inode, opened_ns=self.begin_ns, closed_ns=self.end_ns,
            **facts,
        )  # fmt: skip
        for operation, moved in (("read", read), ("write", write)):
            if moved:
                self.table.transfers(file, operation, {moved: 1}, ns=ns)
        return self

    def remove(self, *paths: str) -> Process:
        for path in paths:
            self.use(path, calls={"remove": 1}, is_opened=False)
        return self


def pipeline(*, size: int = MIB, wait_s: float = 0, ns: int = 0) -> list[TableBuilder]:
    """A shell that generates two files, sorts each, joins the sorted files, and removes them."""
    later = 6 + wait_s
    steps = [
        Process(10, "sh run.sh", 0, later + 10),
        Process(11, "gen", 0, 1, 10).use("/w/a", write=size, ns=ns).use("/w/b", write=size, ns=ns),
        Process(12, "sort a", 2, 3, 10).use("/w/a", read=size, ns=ns).use("/w/a.sorted", write=size, ns=ns),
        Process(13, "sort b", 4, 5, 10).use("/w/b", read=size, ns=ns).use("/w/b.sorted", write=size, ns=ns),
        Process(14, "join", later, later + 2, 10)
        .use("/w/a.sorted", read=size, ns=ns)
        .use("/w/b.sorted", read=size, ns=ns)
        .use("/w/joined", write=size, ns=ns),
        Process(15, "rm a.sorted b.sorted", later + 3, later + 4, 10).remove("/w/a.sorted", "/w/b.sorted"),
    ]
    return [step.table for step in steps]


def edges(flow: Workflow) -> list[tuple[str, str, int]]:
    names = [step.name for step in flow.steps]
    return sorted((names[exchange.writer], names[exchange.reader], exchange.files) for exchange in flow.exchanges)


def fates(flow: Workflow) -> dict[str, str]:
    return dict(flow.files.select("path", "fate").iter_rows())


def test_a_step_is_a_program_with_its_processes_before_those_that_read_its_files(load: Load) -> None:
    flow = workflow(load(*pipeline()))
    assert [(step.name, step.layer, step.processes) for step in flow.steps] == [
        ("gen", 0, 1),
        ("sort", 1, 2),
        ("join", 2, 1),
    ]
    assert edges(flow) == [("gen", "sort", 2), ("sort", "join", 2)]
    assert flow.chain == 2


def test_an_exchange_has_its_bytes_its_wait_and_whether_its_files_were_removed(load: Load) -> None:
    first, second = workflow(load(*pipeline(wait_s=100))).exchanges
    assert (first.label, first.read_bytes, first.longest_wait_s, first.removed_files) == ("/w/*", 2 * MIB, 3, 0)
    assert (second.label, second.longest_wait_s, second.removed_files) == ("/w/*.sorted", 103, 2)
    assert second.same_node


def test_the_same_program_before_and_after_another_is_two_steps(load: Load) -> None:
    tables = [
        Process(10, "sort x", 0, 1, 1).use("/w/1", write=9).table,
        Process(11, "uniq", 2, 3, 1).use("/w/1", read=9).use("/w/2", write=9).table,
        Process(12, "sort y", 4, 5, 1).use("/w/2", read=9).table,
    ]
    flow = workflow(load(*tables))
    assert [(step.name, step.layer) for step in flow.steps] == [("sort", 0), ("uniq", 1), ("sort", 2)]


def test_ranks_of_a_job_are_one_step_and_exchange_no_files(load: Load) -> None:
    tables = []
    for rank in range(3):
        job = {"SLURM_PROCID": str(rank)}
        process = Process(20 + rank, "./sim", 0, 1, job=job).use("/w/halo", read=9, write=9)
        tables += [process.use(f"/w/out.{rank}", write=9).table]
        tables += [Process(30 + rank, "./post", 2, 3, job=job).use(f"/w/out.{rank}", read=9).table]
    flow = workflow(load(*tables))
    assert [(step.name, step.processes) for step in flow.steps] == [("sim", 3), ("post", 3)]
    assert edges(flow) == [("sim", "post", 3)]
    assert fates(flow)["/w/halo"] == "scratch"


def test_workers_read_what_their_parent_wrote_and_it_reads_what_they_wrote(load: Load) -> None:
    tables = [Process(10, "python3 mr.py", 0, 9).use("/w/in", write=9).use("/w/part", read=9).table]
    tables += [
        Process(11 + index, "python3 mr.py", 2, 4, 10).use("/w/in", read=9).use("/w/part", write=9).table
        for index in range(2)
    ]
    flow = workflow(load(*tables))
    assert edges(flow) == [("mr.py", "mr.py workers", 1), ("mr.py workers", "mr.py", 1)]


def test_a_script_that_another_starts_is_one_step_with_its_children(load: Load) -> None:
    tables = [
        Process(10, "bash run.sh", 0, 20).table,
        Process(11, "bash prepare.sh", 0, 4, 10).table,
        Process(12, "cp x y", 1, 2, 11).use("/w/1", write=9).table,
        Process(13, "sed s y z", 2, 3, 11).use("/w/1", read=9).use("/w/2", write=9).table,
        Process(14, "./solve", 5, 9, 10).use("/w/2", read=9).use("/w/3", write=9).table,
    ]
    flow = workflow(load(*tables))
    assert edges(flow) == [("prepare.sh", "solve", 1)]
    assert fates(flow) == {"/w/1": "scratch", "/w/2": "between steps", "/w/3": "result"}


def test_a_script_that_does_all_the_work_is_no_step_but_its_children_are(load: Load) -> None:
    tables = [
        Process(9, "sh -c ./run.sh", 0, 20).table,
        Process(10, "bash run.sh", 0, 20, 9).table,
        Process(11, "gen", 0, 1, 10).use("/w/1", write=9).table,
        Process(12, "use", 2, 3, 10).use("/w/1", read=9).table,
    ]
    assert edges(workflow(load(*tables))) == [("gen", "use", 1)]


def test_a_read_before_the_write_is_no_exchange(load: Load) -> None:
    tables = [
        Process(10, "reads", 0, 1).use("/w/settings", read=9).table,
        Process(11, "writes", 2, 3).use("/w/settings", write=9).table,
    ]
    assert workflow(load(*tables)).exchanges == ()


def test_a_program_is_read_by_the_process_that_runs_it(load: Load) -> None:
    tables = [
        Process(10, "ld", 0, 1).use("/usr/bin/prog", write=900).table,
        Process(11, "prog", 2, 3).use("/w/out", write=9).table,  # the builder's executables are in /usr/bin
    ]
    assert edges(workflow(load(*tables))) == [("ld", "prog", 1)]


def test_a_mapped_file_is_read(load: Load) -> None:
    reader = Process(11, "git add", 2, 3)
    reader.table.transfers(reader.table.file("/w/1", inode=77), "map", {0: 1})
    writer = Process(10, "gen", 0, 1)
    writer.table.transfers(writer.table.file("/w/1", inode=77), "write", {9: 1})
    assert edges(workflow(load(writer.table, reader.table))) == [("gen", "git add", 1)]


def test_reads_through_maps_between_steps_are_a_range(load: Load) -> None:
    writer = Process(10, "gen", 0, 1).use("/w/1", write=64 * MIB)
    reader = Process(11, "use", 2, 3)
    place = reader.table.file("/w/1", {"open": 1}, inode=reader.inodes["/w/1"], size=64 * MIB)
    reader.table.transfers(place, "map", {0: 1})
    reader.table.transfers(place, "read", {MIB: 1})
    ends = {"bytes": 64 * MIB, "begin": 0, "end": 64 * MIB}
    reader.table.map(place, MapAccess.READ, first_ns=reader.begin_ns, last_end_ns=reader.end_ns, **ends)
    (exchange,) = workflow(load(writer.table, reader.table)).exchanges
    assert (exchange.read_bytes, exchange.mapped) == (MIB, Range(0, 64 * MIB))


def test_files_have_fates(load: Load) -> None:
    writer = Process(10, "writer", 0, 5)
    for name in ("kept", "dropped", "scratch"):
        writer.use(f"/w/{name}", write=100, read=100 if name == "scratch" else 0)
    tables = [writer.use("/w/given", read=5).table, Process(11, "rm dropped", 6, 7).remove("/w/dropped").table]
    flow = workflow(load(*tables))
    assert fates(flow) == {
        "/w/kept": "result",
        "/w/dropped": "deleted unread",
        "/w/scratch": "scratch",
        "/w/given": "input",
    }
    assert flow.of("deleted unread")["path"].to_list() == ["/w/dropped"]


@pytest.mark.parametrize(("open_flags", "fate"), [(EXCLUSIVE, "deleted unread"), (0, "result")])
def test_a_writer_may_have_removed_an_earlier_file_unless_it_created_the_file(
    load: Load, open_flags: int, fate: str
) -> None:
    process = Process(10, "ld", 0, 5).use("/w/prog", write=100, calls={"remove": 1}, open_flags=open_flags)
    assert fates(workflow(load(process.table))) == {"/w/prog": fate}


@pytest.mark.parametrize(
    "facts",
    [
        {"failed": {"open": 1}, "errno": errno.EEXIST},  # gzip -f, tar: open, remove the existing file, open again
        {"failed": {"open": 1}, "errno": errno.ENOTDIR},  # install
        {"replaced": 1},  # it wrote a file, removed it, and wrote it again
    ],
    ids=["was there", "is no directory", "came again"],
)
def test_a_writer_that_creates_the_file_may_have_removed_an_older_one_first(load: Load, facts: dict[str, Any]) -> None:
    process = Process(10, "gzip -f x", 0, 5).use("/w/x.gz", write=100, calls=_REMOVED, open_flags=EXCLUSIVE, **facts)
    assert fates(workflow(load(process.table))) == {"/w/x.gz": "result"}


def test_a_file_that_was_absent_at_a_failed_open_has_no_predecessor(load: Load) -> None:
    process = Process(10, "sim", 0, 5)
    process.use("/w/x", write=100, calls=_REMOVED, failed={"open": 1}, errno=errno.ENOENT, open_flags=EXCLUSIVE)
    assert fates(workflow(load(process.table))) == {"/w/x": "deleted unread"}


@pytest.mark.parametrize(("second", "fate"), [(0, "result"), (5, "deleted unread")])
def test_a_removal_before_the_close_removed_an_earlier_file(load: Load, second: int, fate: str) -> None:
    process = Process(10, "xz -f x", 0, 5).use("/w/x.xz", write=100, calls=_REMOVED, open_flags=EXCLUSIVE)
    process.table.second("remove", second, 1)
    assert fates(workflow(load(process.table))) == {"/w/x.xz": fate}


def test_a_file_written_again_after_its_removal_is_kept(load: Load) -> None:
    tables = [
        Process(10, "writer", 0, 1).use("/w/out", write=100).table,
        Process(11, "rm out", 2, 3).remove("/w/out").table,
        Process(12, "writer", 4, 5).use("/w/out", write=100).table,
    ]
    assert fates(workflow(load(*tables))) == {"/w/out": "result"}


def test_a_renamed_file_is_not_removed_with_its_old_name(load: Load) -> None:
    tables = [
        Process(10, "writer", 0, 1).use("/w/log", write=100).table,
        Process(11, "logrotate", 2, 3).use("/w/log", calls={"rename": 1, "remove": 1}, is_opened=False).table,
    ]
    assert fates(workflow(load(*tables))) == {"/w/log": "result"}


def test_a_removed_name_of_a_linked_file_may_leave_the_file(load: Load) -> None:
    process = Process(10, "git add", 0, 5).use("/w/tmp_obj", write=100, calls={"remove": 1}, open_flags=EXCLUSIVE)
    process.use("/w/object", calls={"create": 1}, is_opened=False)
    assert fates(workflow(load(process.table)))["/w/tmp_obj"] == "result"


def test_a_removal_before_the_write_does_not_remove_the_file(load: Load) -> None:
    tables = [
        Process(10, "rm old", 0, 1).remove("/w/out").table,
        Process(11, "writer", 2, 3).use("/w/out", write=100).table,
    ]
    assert fates(workflow(load(*tables))) == {"/w/out": "result"}


def test_a_failed_removal_does_not_count(load: Load) -> None:
    remover = Process(11, "rm x", 2, 3)
    remover.table.file("/w/out", {"remove": 1}, {"remove": 1})
    profile = load(Process(10, "writer", 0, 1).use("/w/out", write=100).table, remover.table)
    assert fates(workflow(profile)) == {"/w/out": "result"}


def test_a_source_without_users_of_files_has_no_workflow(load: Load) -> None:
    flow = workflow(replace(load(*pipeline()), file_processes=FILE_PROCESSES.to_frame()))
    assert (flow.steps, flow.exchanges, flow.files.height) == ((), (), 0)


def test_reads_of_unknown_processes_are_reads(load: Load) -> None:
    profile = load(*pipeline())
    known = profile.file_processes.filter(read_bytes=0)
    assert fates(workflow(replace(profile, file_processes=known)))["/w/a.sorted"] == "scratch"


def test_a_condensed_layer_merges_its_smallest_steps(load: Load) -> None:
    writer, tools = Process(10, "gen", 0, 1), []
    for index in range(7):
        writer.use(f"/w/{index}", write=10 + index)
        tools.append(Process(20 + index, f"tool{index}", 2, 3).use(f"/w/{index}", read=10 + index).table)
    whole = workflow(load(writer.table, *tools))
    few = condensed(whole, 3)
    assert [step.name for step in few.steps] == ["gen", "5 other steps", "tool5", "tool6"]
    assert sum(exchange.read_bytes for exchange in few.exchanges) == sum(
        exchange.read_bytes for exchange in whole.exchanges
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/bin/sort -n a.txt", "sort"),
        ("python3 /opt/tools/reduce.py --fast", "reduce.py"),
        ("python3.11 -m pip install x", "pip"),
        ("python3 -c import os", "python3 -c"),
        ("/bin/sh -c ./prog > out.txt", "sh -c ./prog > out.txt"),
        ("bash -ec gzip x", "bash -ec gzip x"),
        ("-bash", "bash"),
        ("git pack-objects --all", "git pack-objects"),
        ("Rscript plot.R", "plot.R"),
        ("", "unknown program"),
    ],
)
def test_program_names_name_scripts_and_subcommands(command: str, name: str) -> None:
    assert program_name(command) == name


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["/w/part.1.txt", "/w/part.2.txt"], "/w/part.*.txt"),
        (["/w/a"], "/w/a"),
        (["/w/1/a", "/w/2/b"], "/w/…"),
        (["relative", "/w/a"], "…"),
    ],
)
def test_paths_have_a_common_pattern(paths: list[str], name: str) -> None:
    assert common_name(paths) == name


def facts(profile: Profile) -> ProfileFacts:
    return ProfileFacts(profile, Thresholds())


def test_bytes_that_were_written_and_deleted_unread_are_a_finding(load: Load) -> None:
    tables = [
        Process(10, "sim", 0, 5).use("/w/debug", write=9 * GIB, ns=3 * S).use("/w/out", write=GIB).table,
        Process(11, "rm debug", 6, 7).remove("/w/debug").table,
    ]
    (finding,) = deleted_unread(facts(load(*tables)))
    evidence = finding.evidence
    assert isinstance(evidence, DeletedUnreadEvidence)
    assert (evidence.unread_bytes, evidence.written_bytes, evidence.files) == (9 * GIB, 10 * GIB, 1)
    assert (evidence.spent_ns, evidence.unrecorded) == (3 * S, 0)
    assert not list(deleted_unread(facts(load(*pipeline()))))


def test_the_time_of_a_copy_that_was_deleted_unread_is_unknown(load: Load) -> None:
    copier = Process(10, "cp", 0, 5).use("/w/copy")
    copier.table.transfers(copier.table.file("/w/copy", inode=77), "copy to", {9 * GIB: 1})
    (finding,) = deleted_unread(facts(load(copier.table, Process(11, "rm copy", 6, 7).remove("/w/copy").table)))
    evidence = finding.evidence
    assert isinstance(evidence, DeletedUnreadEvidence)
    assert (evidence.unread_bytes, evidence.spent_ns, evidence.saves_ns) == (9 * GIB, None, None)


def test_processes_without_a_recorder_may_have_read_what_was_deleted(load: Load) -> None:
    writer = Process(10, "sim", 0, 5).use("/w/debug", write=GIB)
    replaced = Process(12, "sh", 0, 5, state=State.REPLACED)
    removes = Process(11, "rm debug", 6, 7).remove("/w/debug")
    (finding,) = deleted_unread(facts(load(writer.table, replaced.table, removes.table)))
    assert isinstance(finding.evidence, DeletedUnreadEvidence)
    assert finding.evidence.unrecorded == 1


def test_hand_overs_are_a_finding_if_they_cost_time(load: Load) -> None:
    (finding,) = hand_overs(facts(load(*pipeline(ns=S // 2))))
    evidence = finding.evidence
    assert isinstance(evidence, HandOverEvidence)
    assert (evidence.files, evidence.removed_files, evidence.handed_on, evidence.same_node) == (4, 2, 2, True)
    assert (evidence.written_bytes, evidence.read_bytes, evidence.spent_ns) == (4 * MIB, 4 * MIB, 8 * S // 2)
    assert evidence.share == pytest.approx(4 / (1 + 1 + 1 + 2))
    assert not list(hand_overs(facts(load(*pipeline(ns=1000)))))


def test_large_files_that_are_idle_for_long_are_a_finding(load: Load) -> None:
    (finding,) = idle_files(facts(load(*pipeline(size=GIB, wait_s=3600))))
    evidence = finding.evidence
    assert isinstance(evidence, IdleFilesEvidence)
    assert (evidence.idle_bytes, evidence.files, evidence.longest_s) == (2 * GIB, 2, 3603)
    assert not list(idle_files(facts(load(*pipeline(size=GIB, wait_s=10)))))
