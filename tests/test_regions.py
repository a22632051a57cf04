"""Regions: steps that an application names in C, in Python and to Caliper, and the I/O in each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ioassay.engine import find_engine
from ioassay.results.profile_model import Profile
from ioassay.results.records.profile import load_profile

from .support import ioassay

C_PROGRAM = """\
#include "ioassay_region.h"
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static char bytes[4096];

static void write_to(const char *path, int times) {
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    while (times--) write(file, bytes, sizeof bytes);
    close(file);
}

static void *beside(void *path) {
    ioassay_region_enter("beside");
    write_to(path, 3);
    return 0;  /* It never leaves: the thread ends. */
}

int main(void) {
    pthread_t thread;
    write_to("outside", 1);
    for (int step = 0; step < 5; step++) {
        ioassay_region_enter("step");
        write_to("step", 2);
        ioassay_region_enter("save");
        write_to("save", 10);
        ioassay_region_leave("save");
        ioassay_region_leave("nobody entered this");
        write_to("step", 1);
        ioassay_region_leave("step");
    }
    pthread_create(&thread, 0, beside, "beside");
    pthread_join(thread, 0);
    ioassay_region_enter("outer");
    ioassay_region_enter("inner");
    write_to("inner", 1);
    ioassay_region_leave("outer");  /* Leaves both. */
    write_to("outside", 1);
    ioassay_region_enter("last");
    write_to("last", 7);
    return 0;
}
"""

PYTHON_PROGRAM = """\
from ioassay_region import region

def write(times):
    with open("data", "ab", buffering=0) as file:
        for _ in range(times):
            file.write(b"x" * 1000)

try:
    with region("epoch"):
        with region("checkpoint"):
            write(4)
            raise KeyError
except KeyError:
    write(1)
with region("epoch"):
    write(2)
"""

CALIPER_PROGRAM = """\
void cali_begin_region(const char *name);
void cali_end_region(const char *name);
int write_file(void);
int main(void) {
    cali_begin_region("solve");
    write_file();
    cali_end_region("solve");
    return 0;
}
"""

CALIPER_STAND_IN = """\
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int depth;
void cali_begin_region(const char *name) { depth++; }
void cali_end_region(const char *name) { depth--; }
int write_file(void) {
    int file = open("data", O_CREAT | O_WRONLY, 0600);
    char digit = '0' + depth;
    write(file, &digit, 1);
    return close(file);
}
"""


@pytest.fixture(scope="module")
def annotations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which the engine writes the header and the module."""
    directory = tmp_path_factory.mktemp("annotations")
    subprocess.run([find_engine(), "library", directory], check=True, capture_output=True)
    return directory


def profiled(directory: Path, command: Sequence[str | Path], **variables: str) -> Profile:
    out = directory / "record"
    subprocess.run(
        [find_engine(), "record", "--out", out, "--", *command],
        cwd=directory,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    return load_profile([out])


def written(profile: Profile) -> dict[str, tuple[int, int]]:
    """Of each region how often it was entered, and what was written in it without those within it."""
    rows = profile.region_operations.filter(profile.region_operations["operation"] == "write")
    moved = dict(rows.select("region", "bytes").iter_rows())
    return {region: (entries, moved.get(region, 0)) for region, entries in profile.regions["region", "entries"].rows()}


def compiled(directory: Path, source: str, *options: str | Path) -> Path:
    (directory / "program.c").write_text(source)
    subprocess.run(["gcc", "-w", "-o", "program", "program.c", *options], cwd=directory, check=True)
    return directory / "program"


def test_a_c_program_has_in_each_region_what_its_threads_did_there(annotations: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, f"-I{annotations}", "-pthread")
    found = profiled(tmp_path, [program])
    assert written(found) == {
        "step": (5, 5 * 3 * 4096),
        "step > save": (5, 50 * 4096),
        "beside": (1, 3 * 4096),
        "outer": (1, 0),
        "outer > inner": (1, 4096),
        "last": (1, 7 * 4096),
    }
    stayed = dict(found.regions["region", "stayed_ns"].rows())
    assert stayed["step"] >= stayed["step > save"] > 0
    assert all(0 < ns < found.duration_s * 1e9 for ns in stayed.values())


def test_a_report_shows_regions_with_those_within_them_and_what_was_in_none(annotations: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, f"-I{annotations}", "-pthread")
    profiled(tmp_path, [program])
    code, out, _ = ioassay("profile", tmp_path / "record", "--json")
    rows: list[dict[str, Any]] = json.loads(out)["regions"]
    moved = {row["region"]: row["written_bytes"] for row in rows}
    assert code == 0
    assert (moved["step"], moved["outer"], moved["(no region)"]) == (5 * 13 * 4096, 4096, 2 * 4096)
    code, out, _ = ioassay("profile", tmp_path / "record")
    assert code == 0
    assert re.search(r"^\s*step +5 .*\n\s+save +5 ", out, re.MULTILINE)


def test_a_python_program_leaves_its_regions_by_exceptions(annotations: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    found = profiled(tmp_path, [sys.executable, "program.py"], PYTHONPATH=str(annotations))
    assert written(found) == {"epoch": (2, 2000), "epoch > checkpoint": (1, 4000)}


def test_without_the_recorder_regions_do_nothing(annotations: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, f"-I{annotations}", "-pthread")
    subprocess.run([program], cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(annotations)}
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "data").stat().st_size == 7000


def test_calipers_regions_are_seen_and_reach_caliper(tmp_path: Path) -> None:
    (tmp_path / "caliper.c").write_text(CALIPER_STAND_IN)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", "libcaliper.so", "caliper.c"], cwd=tmp_path, check=True)
    program = compiled(tmp_path, CALIPER_PROGRAM, "-L.", "-lcaliper", "-Wl,-rpath,$ORIGIN")
    assert written(profiled(tmp_path, [program])) == {"solve": (1, 1)}
    assert (tmp_path / "data").read_text() == "1"


def test_names_with_numbers_do_not_fill_the_table(annotations: Path, tmp_path: Path) -> None:
    source = """\
        #include "ioassay_region.h"
        #include <fcntl.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(void) {
            int file = open("data", O_CREAT | O_WRONLY, 0600);
            char name[32];
            ioassay_region_enter("run");
            for (int step = 0; step < 1000; step++) {
                sprintf(name, "step %d", step);
                ioassay_region_enter(name);
                write(file, name, 10);
                ioassay_region_leave(name);
            }
            ioassay_region_leave("run");
            return 0;
        }
    """
    found = profiled(tmp_path, [compiled(tmp_path, source, f"-I{annotations}")])
    rows = found.region_operations.filter(found.region_operations["operation"] == "write")
    assert found.regions.height == 256
    assert int(rows["bytes"].sum()) == 10_000
    assert [(loss.kind, loss.amount) for loss in found.losses] == [("lost-regions", 1000 - 255)]
