"""Answers about checkpoints in the report of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ioassay import reports
from ioassay.analysis.checkpoints import checkpoints
from ioassay.analysis.names import Names
from ioassay.analysis.test_checkpoints import saved
from ioassay.reports.run import RunReport, checkpoint_pictures, pictures
from ioassay.reports.run.checkpoints import sentence
from ioassay.reports.run.content import assemble
from ioassay.studies.test_checkpoint import CHECKPOINT
from ioassay.studies.test_workloads import HEAD
from ioassay.testing.measured_study import measured


def test_the_answer_is_the_stall_and_the_rank_that_is_last() -> None:
    run = saved(measured(HEAD + CHECKPOINT))
    (phase,) = checkpoints(run)
    assert sentence(phase, Names(run.document)).endswith(
        "save-checkpoint: a checkpoint of 1.86 GiB stalls training for 400 ms (median of 3; the longest, generation 2, "
        "500 ms), at 5.00 GB/s; rank 1 on n1 is last in 2 of 3. Training loses 42 % of its time to them."
    )
    each_another = replace(phase, generations=phase.generations[1:])
    assert "; no rank is last twice." in sentence(each_another, Names(run.document))
    restored = replace(phase, is_save=False, cached_bytes=3 * 10**9, generations=phase.generations[:1])
    assert sentence(restored, Names(run.document)).endswith(
        "restoring 1.86 GiB takes 400 ms, at 5.00 GB/s; rank 1 on n1 is last. Partly served from memory: 100 % were in "
        "the page cache before."
    )


def test_a_figure_has_the_time_of_each_rank_that_has_files() -> None:
    run = saved(measured(HEAD + CHECKPOINT))
    content = assemble(run)
    (picture,) = pictures.drawn(content).checkpoints
    assert picture.data["rank"].to_list() == [0, 1]
    for column, seconds in (("median_s", [0.2, 0.4]), ("lowest_s", [0.2, 0.3]), ("highest_s", [0.38, 0.4])):
        assert picture.data[column].to_list() == pytest.approx(seconds)
    assert "rank 1 on n1 takes 400 ms" in picture.description
    assert "Time of own files (s)" in picture.svg
    assert "stall" in picture.svg
    page = reports.build(RunReport(run), "html").decode()
    assert "time by rank" in page


def test_a_single_rank_with_files_has_no_figure() -> None:
    run = saved(measured(HEAD + CHECKPOINT))
    alone = replace(run, checkpoints=run.checkpoints.filter(rank=0))
    assert checkpoint_pictures.pictures(assemble(alone)) == []
