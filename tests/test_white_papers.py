"""Every command line that the white papers print in their appendices, run as printed, on less.

What a paper says of it must stand in the run directory. `-np` says how many ranks there are; what launchers need
besides (host files, transports) is the launcher's business. Amounts are divided by IOASSAY_SCALE_DOWN.

Sources: "Dell EMC Isilon F800 and H600 I/O Performance" (2018), appendix; "Optimising Lustre on Dell storage"
(University of Cambridge), command lines; "Dell EMC Ready Solution for HPC PixStor Storage, capacity expansion"
(2020), command lines.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ioassay.processes.engine import find_engine
from ioassay.store.document import JobEntry
from ioassay.store.loaded import LoadedRun
from ioassay.store.run_directory import load

from .support import DEADLINE_S

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40

TOOLS = ("ior", "mdtest", "iozone", "obdfilter-survey")

ISILON = (
    "mpirun --allow-run-as-root -np {np} -npernode 1 -hostfile hosts -nolocal /home/xin/bin/ior -a POSIX -v -i 1 -d 3 "
    "-e {layout}-k -o /mnt/nfs/test {access} -s 1 -t 1m -b {block}g"
)

PIXSTOR = (
    "mpirun --allow-run-as-root -np {np} --hostfile my_hosts.{np} --mca btl_openib_allow_ib 1 --mca pml ^ucx "
    "--oversubscribe --prefix /mmfs1/perftest/ompi /mmfs1/perftest/lanl_ior/bin/ior -a POSIX -v -i 1 -d 3 -e -k "
    "-o /mmfs1/perftest/tst.file {access} -s 1 -t 8m -b 128G"
)


def run_as_printed(line: str, run: Path, where: dict[str, Path], scale_down: int) -> str:
    """Runs a printed command line on the directories that stand for the paper's; returns what it printed."""
    for printed, here in where.items():
        line = line.replace(printed, str(here))
    tokens = shlex.split(line)
    place = next(index for index, token in enumerate(tokens) if Path(token).name.lower() in TOOLS)
    assignments = [token for token in tokens[:place] if "=" in token]
    ranks = ["--ranks", tokens[tokens.index("-np") + 1]] if "-np" in tokens[:place] else []
    environment = dict(assignment.split("=", 1) for assignment in assignments)
    result = subprocess.run(
        [find_engine(), Path(tokens[place]).name.lower(), *ranks, "--run", run, *tokens[place + 1 :]],
        env=os.environ | environment | {"IOASSAY_SCALE_DOWN": str(scale_down)},
        cwd=run.parent,
        capture_output=True,
        text=True,
        timeout=20 * DEADLINE_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def jobs(loaded: LoadedRun, phase: str) -> list[JobEntry]:
    """The job of this phase in each case."""
    return [job for case in loaded.document.cases for entry in case.phases if entry.name == phase for job in entry.jobs]


def jobs_of(loaded: LoadedRun) -> list[JobEntry]:
    """All jobs of all phases of all cases."""
    return [job for case in loaded.document.cases for phase in case.phases for job in phase.jobs]


def work(run: Path, phase: str) -> dict[str, Any]:
    """The only job of this phase in the plan of the first case."""
    plan = json.loads(next(iter(sorted((run / "logs").glob("*/plan.json")))).read_text())
    step = next(step for step in plan["steps"] if step["step"] == "phase" and step["name"] == phase)
    return dict(step["jobs"][0]["work"])


@pytest.mark.parametrize("layout", ["-F ", ""])
@pytest.mark.parametrize("ranks", [1, 2, 4, 64])
def test_isilon_sequential_writes_and_reads_move_2_tib_in_1_mib_transfers(
    target: Path, tmp_path: Path, layout: str, ranks: int
) -> None:
    scale_down = 1 << 15
    for phase, access in [("write", "-w"), ("read", "-r")]:
        line = ISILON.format(np=ranks, layout=layout, access=access, block=2048 // ranks)
        run = tmp_path / phase
        printed = run_as_printed(line, run, {"/mnt/nfs": target}, scale_down)
        assert f"Max {'Write: ' if phase == 'write' else 'Read:  '}" in printed
        loaded = load(run)
        [job] = jobs(loaded, phase)
        assert (job.ranks, job.transfer_bytes, job.order) == (ranks, MIB, "sequential")
        assert job.layout == ("N-N" if layout else "N-1")
        assert job.planned_bytes * scale_down == 2 * TIB
        assert loaded.measurements["bytes"].to_list() == [job.planned_bytes]
        assert work(run, "write")["fsync"] == "at-close" if phase == "write" else True
    assert len(list(target.iterdir())) == (ranks if layout else 1), "-k keeps the files"


@pytest.mark.parametrize("ranks", [1, 4])
def test_pixstor_n_1_writes_and_reads_move_128_gib_of_each_rank_in_8_mib_transfers(
    target: Path, tmp_path: Path, ranks: int
) -> None:
    scale_down = 1 << 13
    for phase, access in [("write", "-w"), ("read", "-r")]:
        line = PIXSTOR.format(np=ranks, access=access)
        run_as_printed(line, tmp_path / phase, {"/mmfs1/perftest/tst": target / "tst"}, scale_down)
        [job] = jobs(load(tmp_path / phase), phase)
        assert (job.layout, job.ranks, job.transfer_bytes) == ("N-1", ranks, 8 * MIB)
        assert job.planned_bytes * scale_down == ranks * 128 * GIB


def test_cambridges_ior_line_names_a_file_called_f_and_its_remedy_runs(target: Path, tmp_path: Path) -> None:
    printed = "IOR -w -w -r -C -b 16g -t 1m -i 3 -m -k -o -F /ltestfs2/wjt27/FPP"
    where = {"/ltestfs2/wjt27": target}
    with pytest.raises(AssertionError, match="write -F before -o"):
        run_as_printed(printed, tmp_path / "printed", where, 1)
    run = tmp_path / "run"
    run_as_printed(printed.replace("IOR", "-np 3 IOR").replace("-o -F", "-F -o"), run, where, 1 << 10)
    loaded = load(run)
    assert [case.repetition for case in loaded.document.cases] == [1, 2, 3]
    for phase in ("write", "read"):
        assert [job.layout for job in jobs(loaded, phase)] == ["N-N"] * 3
        assert [job.planned_bytes << 10 for job in jobs(loaded, phase)] == [3 * 16 * GIB] * 3
    assert len(list(target.iterdir())) == 9, "-m gives each repetition files of its own, and -k keeps them"


IOZONE = "./iozone -i{test} -c -e -w -r 8M -s 128G -t {threads} -+n -+m ./threadlist"


@pytest.mark.parametrize("threads", [1, 4])
def test_pixstors_iozone_lines_write_and_then_read_128_gib_of_each_thread(
    target: Path, tmp_path: Path, threads: int
) -> None:
    scale_down = 1 << 13
    (tmp_path / "threadlist").write_text(f"localhost {target} /usr/bin/iozone\n" * threads)
    for test, phase, label in [(0, "write", "initial writers"), (1, "read", "readers")]:
        run = tmp_path / phase
        printed = run_as_printed(IOZONE.format(test=test, threads=threads), run, {}, scale_down)
        assert f"Children see throughput for {threads:2} {label}" in printed
        assert printed.count("Children see throughput") == 1, "-+n: no retests"
        [job] = [job for job in jobs_of(load(run)) if job.operations == [phase]]
        assert (job.layout, job.ranks, job.transfer_bytes) == ("N-N", threads, 8 * MIB)
        assert job.planned_bytes * scale_down == threads * 128 * GIB
    assert len(list(target.iterdir())) == threads, "-w keeps the files"


MDTEST = (
    "mpirun --allow-run-as-root -np {np} --hostfile my_hosts.{np} --prefix /mmfs1/perftest/ompi "
    "--mca btl_openib_allow_ib 1 /mmfs1/perftest/lanl_ior/bin/mdtest -v -d /mmfs1/perftest/ -i 1 -b {directories} "
    "-z 1 -L -I 1024 -y -u -t -F"
)


@pytest.mark.parametrize("small_files", ["", " -w 4K -e 4K"])
@pytest.mark.parametrize("threads", [1, 8])
def test_pixstors_mdtest_lines_have_2_097_152_files_in_directories_of_1024(
    target: Path, tmp_path: Path, small_files: str, threads: int
) -> None:
    scale_down, run = 1 << 10, tmp_path / "run"
    line = MDTEST.format(np=threads, directories=2048 // threads) + small_files
    printed = run_as_printed(line, run, {"-d /mmfs1/perftest/": f"-d {target}"}, scale_down)
    for row in ("File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal"):
        assert row in printed
    created = [job for job in jobs_of(load(run)) if job.operations == ["create"]]
    assert sum(job.planned_operations for job in created) * scale_down == 2_097_152
    assert sum(job.planned_bytes for job in created) * scale_down == (2_097_152 * 4 * KIB if small_files else 0)
    assert not list(target.iterdir())


# The second line as printed has 1152 threads in its last rows; one row of each count of objects shows what it says.
@pytest.mark.parametrize(("osts", "most"), [(6, 144), (12, 24)])
def test_cambridges_surveys_have_a_row_for_each_count_of_objects_and_threads(
    target: Path, tmp_path: Path, osts: int, most: int
) -> None:
    scale_down, run = 1 << 10, tmp_path / "run"
    targets = [target / f"ost{number}" for number in range(osts)]
    for directory in targets:
        directory.mkdir()
    names = " ".join(map(str, targets))
    line = f'nobjlo=1 thrlo=24 thrhi={most} size=32768 targets="{names}" ./obdfilter-survey'
    printed = run_as_printed(f"rslt_loc={tmp_path} {line}", run, {}, scale_down)
    rows = [row.split() for row in printed.splitlines() if row.startswith(f"ost {osts:2} ")]
    points = [tuple(int(row[row.index(name) + 1]) // osts for name in ("obj", "thr")) for row in rows]
    threads = [24 << doubled for doubled in range(8) if 24 << doubled <= most]
    assert points == [(objects, thread) for objects in (1, 2, 4, 8, 16) for thread in threads if thread % objects == 0]
    assert all({"write", "rewrite", "read"} <= set(row) for row in rows)
    for case, (_, thread) in zip(load(run).document.cases, points, strict=True):
        [write] = [phase for phase in case.phases if phase.name == "write"]
        assert {job.transfer_bytes for job in write.jobs} == {MIB}
        # Each thread does whole records, as in the original: what is left of the size is not written.
        records = max(32 * GIB // scale_down // MIB // thread, 1)
        assert sum(job.planned_bytes for job in write.jobs) == osts * thread * records * MIB
    assert not [path for directory in targets for path in directory.iterdir()]
