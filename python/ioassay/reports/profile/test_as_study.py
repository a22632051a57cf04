"""Studies that replay recorded applications: that they can be run, and what they say."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from ioassay.analysis.replay import replay
from ioassay.analysis.replay.phases import NAMES
from ioassay.profiles.sources import load_profile
from ioassay.reports.profile.as_study import text
from ioassay.store.document import CaseEntry, StudyEntry
from ioassay.studies.cases import expand
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.testing.faulty_application import calm, faulty
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record
from ioassay.yaml_models.source import parse_source

S, MIB = 10**9, 1 << 20

PROFILES = Path(__file__).parents[2] / "profiles"
DARSHAN = PROFILES / "darshan/testdata"


def written(path: Path) -> str:
    profile = load_profile([path])
    replayed = replay(profile)
    assert replayed is not None
    return text(replayed, profile, "app")


def run(study: str, *, scale: str | None = None) -> tuple[StudyEntry, CaseEntry, Any]:
    resolved = resolve(parse_source(study, "app.yaml", "study"), scale, [])
    ((case, plan, _),) = expand(resolved, "R", Target("directory", "/t"), "local")
    return resolved.entry, case, plan


def test_the_study_of_an_application_does_what_it_did(tmp_path: Path) -> None:
    entry, case, _ = run(written(store_record(tmp_path / "record", *calm())))
    assert entry.replays is not None
    assert (entry.replays.processes, entry.replays.phases) == (8, [f"phase-{index}" for index in range(1, 7)])
    done = [job for phase in case.phases if phase.name in entry.replays.phases for job in phase.jobs]
    assert sum(count for job in done for _, count in job.sizes["write"]) == entry.replays.write.operations
    assert sum(size * count for job in done for size, count in job.sizes["write"]) == entry.replays.write.bytes
    assert entry.replays.write.bytes == 8 * 6 * 12 * 64 * MIB


def test_every_source_gives_a_study_that_resolves(tmp_path: Path) -> None:
    records = [store_record(tmp_path / "faulty", *faulty())]
    if pytest.importorskip("darshan"):
        records += [DARSHAN / name for name in ("mpi.darshan", "python.darshan", "threads-dxt.darshan")]
    plain = tmp_path / "mpi.txt"
    plain.write_bytes(gzip.decompress((DARSHAN / "mpi.txt.gz").read_bytes()))
    traces = [PROFILES / "dftracer" / "testdata" / "writer.pfw", *(PROFILES / "recorder" / "testdata").glob("node-*")]
    assert len(traces) == 3
    for record in [*records, plain, *traces]:
        entry, case, plan = run(written(record))
        assert entry.replays is not None
        assert case.phases[-1].name == entry.replays.phases[-1]
        assert plan["ranks"]["clients"] * plan["ranks"]["per_client"] >= 1


def test_pauses_and_pace_are_settings_of_which_a_scale_has_none(tmp_path: Path) -> None:
    study = written(store_record(tmp_path / "record", *calm()))
    _, _, recorded = run(study)
    pauses = [step["duration_ns"] for step in recorded["steps"] if step["step"] == "pause"]
    # From the last of 194 calls of each rank, which is due in the middle of its share of 12 s.
    assert pauses == [88_031_000_000] * 5
    works = [step["jobs"][0]["work"] for step in recorded["steps"] if step.get("name", "").startswith("phase-")]
    assert {work["duration_ns"] for work in works} == {12 * S}
    _, _, unlimited = run(study, scale="unlimited")
    assert {step["duration_ns"] for step in unlimited["steps"] if step["step"] == "pause"} == {0}
    assert not any("duration_ns" in str(step) for step in unlimited["steps"] if step["step"] == "phase")


def test_comments_name_files_as_the_user_does_and_keys_name_none(tmp_path: Path) -> None:
    study = written(store_record(tmp_path / "record", *calm()))
    assert "# 8 files of about 4.50 GiB, each used by one process: /scratch/climate/checkpoint.*" in study
    assert "Phase 2, 100 s after the first began, 12.0 s long: writes 6.00 GiB" in study
    assert not any("/scratch" in line for line in study.splitlines() if not line.lstrip().startswith("#"))
    assert max(map(len, study.splitlines())) <= 100


@pytest.mark.parametrize("name", ["a\nb: ${c}", 'quoted " and # and ${x}', "umläut – 漢字", "\x1b[31mred", "x" * 300])
def test_strange_names_of_files_and_commands_stay_comments_and_texts(tmp_path: Path, name: str) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 20 * S)
    file = table.file(f"/scratch/{name}", {"open": 1}, inode=3)
    table.transfers(file, "write", {MIB: 4})
    table.second("write", 3, 4, moved=4 * MIB)
    entry, _, _ = run(written(store_record(tmp_path / "record", table, command=["app", name])))
    assert entry.replays is not None
    assert entry.replays.source.startswith("app ")


def test_operations_left_out_or_replaced_are_reported(tmp_path: Path) -> None:
    tables = faulty()
    tables[0].file("/scratch/listed", {"list": 3})
    study = written(store_record(tmp_path / "record", *tables))
    entry, _, _ = run(study)
    assert entry.replays is not None
    # The writes of MPI are replayed as the calls beneath them.
    assert {skipped.operation for skipped in entry.replays.left_out} == {"list"}
    assert "calls on streams (stdio) were taken as the calls that reach the file system" in study.replace("\n# ", " ")


def test_a_source_without_times_has_one_phase_and_says_so(tmp_path: Path) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 20 * S)
    file = table.file("/scratch/a", {"open": 1}, inode=3)
    table.transfers(file, "write", {MIB: 4})
    study = written(store_record(tmp_path / "record", table))
    entry, _, _ = run(study)
    assert entry.replays is not None
    assert entry.replays.phases == ["phase-1"]
    assert "The source has no time line" in study


def made_up(draw: random.Random) -> list[TableBuilder]:
    """Processes that do anything to files, some of them shared, at any time."""
    tables = []
    is_mpi = draw.random() < 0.5
    for index in range(draw.choice([1, 2, 3, 7])):
        begin_s = draw.randrange(20)
        table = TableBuilder(
            100 + index,
            begin_ns=BEGIN_NS + begin_s * S,
            end_ns=BEGIN_NS + (begin_s + draw.randrange(2, 60)) * S,
            job={"SLURM_PROCID": str(index)} if is_mpi else None,
        )
        for _ in range(draw.randrange(12)):
            _add_file(draw, table, index)
        for _ in range(draw.randrange(8)):
            calls = draw.choice([1, 17, 1000])
            operation = draw.choice(["read", "write", "open", "stat", "create", "remove", "rename", "sync", "list"])
            table.second(operation, draw.randrange(60), calls, moved=calls * draw.choice([0, 1, 4096, MIB]), ns=1000)
        tables.append(table)
    return tables


def _add_file(draw: random.Random, table: TableBuilder, process: int) -> None:
    number = draw.randrange(40)
    path = draw.choice([f"/scratch/{number}", f"/scratch/{process}/{number}", "/data/one"])
    names = [*NAMES, "list", "seek", "lock"]
    calls = {name: draw.choice([1, 2, 3, 100]) for name in names if draw.random() < 0.3}
    failed = {name: draw.randint(0, count) for name, count in calls.items() if draw.random() < 0.3}
    opened_ns = table.begin_ns + draw.randrange(20 * S)
    closed_ns = opened_ns + draw.randrange(20 * S) if draw.random() < 0.7 else None
    inode = zlib.crc32(path.encode()) + 1 if draw.random() < 0.8 else 0
    size = draw.choice([0, 0, 1, 5000, 3 * MIB])
    file = table.file(path, calls, failed, inode=inode, size=size, opened_ns=opened_ns, closed_ns=closed_ns)
    for operation in ("read", "write", "stream read", "stream write", "copy to"):
        if draw.random() < 0.3:
            sizes = {draw.choice([0, 1, 100, 4096, 5001, MIB, 80 * MIB]): draw.choice([1, 2, 50, 3000]) for _ in "123"}
            order = {name: draw.choice([0, 1, sum(sizes.values()) // 2]) for name in ("consecutive", "forward")}
            table.transfers(file, operation, sizes, **order)


@pytest.mark.parametrize("seed", range(25))
def test_the_engine_takes_the_study_of_any_application(tmp_path: Path, seed: int) -> None:
    profile = load_profile([store_record(tmp_path / "record", *made_up(random.Random(seed)))])
    replayed = replay(profile)
    if replayed is None:
        return
    study = text(replayed, profile, "app")
    refuse(resolve(parse_source(study, "app.yaml", "study"), None, []))


def test_long_times_are_written_in_hours(tmp_path: Path) -> None:
    table = TableBuilder(end_ns=BEGIN_NS + 13_000 * S)
    for index, second in enumerate((10, 12_355)):
        opened_ns = BEGIN_NS + second * S
        file = table.file(
            f"/scratch/{index}", {"open": 1}, inode=3 + index, opened_ns=opened_ns, closed_ns=opened_ns + S
        )
        table.transfers(file, "write", {MIB: 4})
        table.second("write", second, 4, moved=4 * MIB)
    study = written(store_record(tmp_path / "record", table))
    assert "# Phase 2, 3.43 h after the first began" in study
