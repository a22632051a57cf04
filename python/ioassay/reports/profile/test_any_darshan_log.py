"""Whatever modules a Darshan log has, and whatever these know: a report, a replay, and totals that are those of files.

Logs are our own, with each module absent, cut, of all processes together, or without what older versions of
Darshan do not count. Every variation comes from a seed.
"""

from __future__ import annotations

import gzip
import importlib.util
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.profile.totals import totals
from ioassay.analysis.replay import replay
from ioassay.profiles.darshan.conftest import TESTDATA
from ioassay.profiles.darshan.library import read_logs
from ioassay.profiles.darshan.log import SHARED, TRACED, Log
from ioassay.profiles.darshan.profile import profile_of
from ioassay.profiles.darshan.text import read_text
from ioassay.profiles.model import OF_OPERATION, Profile
from ioassay.reports import build
from ioassay.reports.document.terminal import rendered
from ioassay.reports.profile import ProfileReport, as_study
from ioassay.reports.profile.content import assemble
from ioassay.reports.profile.document import terminal

PROCESSES = 4
DRAWS = 6

Change = Callable[[pl.DataFrame, random.Random], pl.DataFrame | None]


def cut(rows: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """Some of the records, as where Darshan had no memory for more."""
    return rows.sample(rng.randrange(rows.height + 1), seed=rng.randrange(1 << 30))


def shared_only(rows: pl.DataFrame, _: random.Random) -> pl.DataFrame:
    return rows.unique("id", maintain_order=True).with_columns(rank=pl.lit(SHARED, pl.Int64))


def of_rank_0(rows: pl.DataFrame, _: random.Random) -> pl.DataFrame:
    return rows.unique("id", maintain_order=True).with_columns(rank=pl.lit(0, pl.Int64))


def slow_to_open(rows: pl.DataFrame, _: random.Random) -> pl.DataFrame:
    return rows.with_columns(pl.col("^.*_F_META_TIME$") * 1e5 + 10)


def uncounted(rows: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """Without some counters, as of an older version."""
    names = [name for name in rows.columns if name not in ("id", "rank")]
    return rows.drop(rng.sample(names, rng.randrange(len(names) + 1)))


def unknown(rows: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """With -1 in some counters: Darshan could not count them."""
    names = [name for name in rows.columns if name not in ("id", "rank")]
    return rows.with_columns(
        pl.lit(-1).cast(rows[counter].dtype).alias(counter) for counter in rng.sample(names, len(names) // 2)
    )


CHANGES: Mapping[str, Change] = {
    "absent": lambda *_: None,
    "cut": cut,
    "shared only": shared_only,
    "of rank 0": of_rank_0,
    "slow to open": slow_to_open,
    "uncounted": uncounted,
    "unknown": unknown,
}


def variations(log: Log, seed: str) -> Iterator[tuple[str, Log]]:
    """Each module changed in each way alone, and some draws in which all are."""
    rng = random.Random(seed)
    every = [*log.records, "HEATMAP", "DXT"]
    for name in every:
        for change in CHANGES if name in log.records else ("absent",):
            yield f"{name} {change}", changed(log, {name: [change]}, rng)
    for _ in range(DRAWS):
        drawn = {name: rng.sample([*CHANGES], 2) for name in every}
        yield str(drawn), changed(log, drawn, rng)


def changed(log: Log, changes: Mapping[str, list[str]], rng: random.Random) -> Log:
    records = dict(log.records)
    absent = {name for name, of in changes.items() if "absent" in of}
    for name, of in changes.items():
        rows: pl.DataFrame | None = records.get(name)
        for change in of:
            rows = None if rows is None else CHANGES[change](rows, rng)
        if rows is not None:
            records[name] = rows
        else:
            records.pop(name, None)
    traced = [trace for trace in log.traces if "DXT" not in absent and trace.module in records]
    return replace(
        log,
        # Rows of all processes together are of a job with several.
        job=replace(log.job, processes=max(log.job.processes, PROCESSES)),
        records=records,
        heats=() if "HEATMAP" in absent else log.heats,
        traces=traced if "cut" not in changes.get("DXT", ()) else traced[::2],
        modules=tuple(name for name in log.modules if name not in absent and TRACED.get(name) not in absent),
    )


def read(name: str, tmp_path: Path) -> Log:
    if name.endswith(".darshan"):
        if importlib.util.find_spec("darshan") is None:
            pytest.skip("PyDarshan is not installed: pip install 'ioassay[darshan]'")
        (log,) = read_logs([TESTDATA / name])
        assert isinstance(log, Log)
        return log
    path = tmp_path / name
    path.write_bytes(gzip.decompress((TESTDATA / f"{name}.gz").read_bytes()))
    return read_text(path)


def moved_in_files(profile: Profile, direction: str) -> int:
    return int(profile.file_operations.filter(direction == OF_OPERATION)["bytes"].sum())


@pytest.mark.parametrize("name", ["mpi.darshan", "mpi-dxt.darshan", "killed.darshan", "python.txt"])
def test_any_log_has_a_report_and_totals_that_are_those_of_its_files(name: str, tmp_path: Path) -> None:
    for what, log in variations(read(name, tmp_path), name):
        profile = profile_of([log])
        sums = totals(profile)
        moved = {direction: sums.of(direction).bytes for direction in ("read", "write")}
        assert {direction: bytes_ or 0 for direction, bytes_ in moved.items()} == {
            direction: moved_in_files(profile, direction) for direction in moved
        }, what
        content = assemble(profile, None)
        assert rendered(terminal(content))
        assert build(ProfileReport(content), "json")
        if (study := replay(profile)) is not None:
            assert as_study.text(study, profile, "log")


def test_a_log_whose_records_are_all_of_several_processes_has_a_report(tmp_path: Path) -> None:
    """No process is known to have spent time in metadata, and all together spent much."""
    log = read("mpi.txt", tmp_path)
    changes = {name: ["shared only", "slow to open"] for name in log.records}
    content = assemble(profile_of([changed(log, changes, random.Random(1))]), None)
    (line,) = [line for line in content.findings if line.finding.evidence.kind == "metadata-time"]
    assert "Metadata operations take" in str(line.finding.message.text)
