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

from ioassay.processes.engine import find_engine
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile

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
#include <caliper/cali.h>
#include <fcntl.h>
#include <unistd.h>

static void put(int bytes) {
    static char content[1 << 20];
    int file = open("data", O_CREAT | O_WRONLY | O_APPEND, 0600);
    write(file, content, bytes);
    close(file);
}

static void returns_early(bool now) {
    CALI_CXX_MARK_FUNCTION;
    put(100);
    if (now) return;
    put(1000);
}

static void raises() {
    CALI_CXX_MARK_FUNCTION;
    put(5);
    throw 1;
}

int main() {
    CALI_MARK_BEGIN("solve");
    returns_early(true);
    returns_early(false);
    CALI_CXX_MARK_LOOP_BEGIN(steps, "time steps");
    for (int step = 0; step < 5; step++) {
        CALI_CXX_MARK_LOOP_ITERATION(steps, step);
        put(10000);
        CALI_WRAP_STATEMENT("checkpoint", put(20000));
    }
    CALI_CXX_MARK_LOOP_END(steps);
    put(1);
    CALI_MARK_LOOP_BEGIN(rows, "rows");
    for (int row = 0; row < 3; row++) {
        CALI_MARK_ITERATION_BEGIN(rows, row);
        put(7);
        CALI_MARK_ITERATION_END(rows);
    }
    CALI_MARK_LOOP_END(rows);
    { CALI_CXX_MARK_SCOPE("scope"); put(11); }
    CALI_MARK_PHASE_BEGIN("phase"); put(13); CALI_MARK_PHASE_END("phase");
    CALI_MARK_COMM_REGION_BEGIN("halo"); put(17); CALI_MARK_COMM_REGION_END("halo");
    try { raises(); } catch (int) {}
    put(1);
    CALI_MARK_END("solve");
}
"""

CALIPER_HEADER = """\
#pragma once
namespace cali {
struct Function { Function(const char *name); ~Function(); };
struct ScopeAnnotation { ScopeAnnotation(const char *name); ~ScopeAnnotation(); };
class Loop {
    bool *is_open;
public:
    struct Iteration { ~Iteration(); };
    Loop(const char *name);
    ~Loop();
    void end();
    Iteration iteration(int number) const;
};
}
extern "C" {
typedef unsigned long long cali_id_t;
extern cali_id_t cali_loop_attr_id;
void cali_begin_region(const char *), cali_end_region(const char *);
void cali_begin_phase(const char *), cali_end_phase(const char *);
void cali_begin_comm_region(const char *), cali_end_comm_region(const char *);
void cali_begin_string(cali_id_t, const char *), cali_begin_int(cali_id_t, int), cali_end(cali_id_t);
cali_id_t cali_make_loop_iteration_attribute(const char *);
}
#define CALI_CXX_MARK_FUNCTION cali::Function its_function(__func__)
#define CALI_CXX_MARK_SCOPE(name) cali::ScopeAnnotation its_scope(name)
#define CALI_CXX_MARK_LOOP_BEGIN(id, name) cali::Loop loop_##id(name)
#define CALI_CXX_MARK_LOOP_ITERATION(id, i) cali::Loop::Iteration iteration_##id(loop_##id.iteration(i))
#define CALI_CXX_MARK_LOOP_END(id) loop_##id.end()
#define CALI_MARK_LOOP_BEGIN(id, name) \\
    cali_begin_string(cali_loop_attr_id, (name)); cali_id_t id##_id = cali_make_loop_iteration_attribute(name)
#define CALI_MARK_ITERATION_BEGIN(id, i) cali_begin_int(id##_id, (i))
#define CALI_MARK_ITERATION_END(id) cali_end(id##_id)
#define CALI_MARK_LOOP_END(id) cali_end(cali_loop_attr_id)
#define CALI_MARK_BEGIN(name) cali_begin_region(name)
#define CALI_MARK_END(name) cali_end_region(name)
#define CALI_WRAP_STATEMENT(name, statement) cali_begin_region(name); statement; cali_end_region(name)
#define CALI_MARK_PHASE_BEGIN(name) cali_begin_phase(name)
#define CALI_MARK_PHASE_END(name) cali_end_phase(name)
#define CALI_MARK_COMM_REGION_BEGIN(name) cali_begin_comm_region(name)
#define CALI_MARK_COMM_REGION_END(name) cali_end_comm_region(name)
"""

CALIPER_STAND_IN = """\
#include "cali.h"
#include <stdio.h>
#include <stdlib.h>
static int begun, ended;
static void report() { fprintf(fopen("seen", "w"), "%d %d", begun, ended); }
static int registered = atexit(report);
namespace cali {
Function::Function(const char *) { begun++; }
Function::~Function() { ended++; }
ScopeAnnotation::ScopeAnnotation(const char *) { begun++; }
ScopeAnnotation::~ScopeAnnotation() { ended++; }
Loop::Loop(const char *) : is_open(new bool(true)) { begun++; }
Loop::~Loop() { end(); delete is_open; }
void Loop::end() { ended += *is_open; *is_open = false; }
Loop::Iteration Loop::iteration(int) const { return Iteration(); }
Loop::Iteration::~Iteration() {}
}
cali_id_t cali_loop_attr_id = 17;
void cali_begin_region(const char *) { begun++; }
void cali_end_region(const char *) { ended++; }
void cali_begin_phase(const char *) { begun++; }
void cali_end_phase(const char *) { ended++; }
void cali_begin_comm_region(const char *) { begun++; }
void cali_end_comm_region(const char *) { ended++; }
void cali_begin_string(cali_id_t, const char *) { begun++; }
void cali_begin_int(cali_id_t, int) {}
void cali_end(cali_id_t id) { ended += id == cali_loop_attr_id; }
cali_id_t cali_make_loop_iteration_attribute(const char *) { return 18; }
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
    """The entries and written bytes of each region, without those of inner regions."""
    rows = profile.region_operations.filter(profile.region_operations["operation"] == "write")
    moved = dict(rows.select("region", "bytes").iter_rows())
    return {region: (entries, moved.get(region, 0)) for region, entries in profile.regions["region", "entries"].rows()}


def compiled(directory: Path, source: str, *options: str | Path) -> Path:
    (directory / "program.c").write_text(source)
    subprocess.run(["gcc", "-w", "-o", "program", "program.c", *options], cwd=directory, check=True)
    return directory / "program"


def test_each_region_of_a_c_program_has_the_io_of_its_threads(annotations: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, f"-I{annotations}", "-pthread")
    profile = profiled(tmp_path, [program])
    assert written(profile) == {
        "step": (5, 5 * 3 * 4096),
        "step > save": (5, 50 * 4096),
        "beside": (1, 3 * 4096),
        "outer": (1, 0),
        "outer > inner": (1, 4096),
        "last": (1, 7 * 4096),
    }
    stayed = dict(profile.regions["region", "stayed_ns"].rows())
    assert stayed["step"] >= stayed["step > save"] > 0
    assert all(0 < ns < profile.duration_s * 1e9 for ns in stayed.values())


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
    profile = profiled(tmp_path, [sys.executable, "program.py"], PYTHONPATH=str(annotations))
    assert written(profile) == {"epoch": (2, 2000), "epoch > checkpoint": (1, 4000)}


def test_a_region_may_be_named_after_a_file_whose_name_is_no_text(annotations: Path, tmp_path: Path) -> None:
    work = "with region('of \\udcff'): open('data', 'wb', buffering=0).write(bytes(9))"
    (tmp_path / "program.py").write_text(f"from ioassay_region import region\n{work}\n")
    profile = profiled(tmp_path, [sys.executable, "program.py"], PYTHONPATH=str(annotations))
    assert written(profile) == {"of ?": (1, 9)}


def test_regions_do_nothing_without_the_recorder(annotations: Path, tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, f"-I{annotations}", "-pthread")
    subprocess.run([program], cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text(PYTHON_PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(annotations)}
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "data").stat().st_size == 7000


@pytest.fixture
def caliper(tmp_path: Path) -> tuple[Path, bool]:
    """Where Caliper is, and whether it is the real one: `IOASSAY_CALIPER`, or a stand-in with the same functions."""
    real = os.environ.get("IOASSAY_CALIPER")
    if real is not None:
        return Path(real), True
    place = tmp_path / "caliper"
    (place / "include" / "caliper").mkdir(parents=True)
    (place / "lib").mkdir()
    (place / "include" / "caliper" / "cali.h").write_text(CALIPER_HEADER)
    (place / "caliper.cpp").write_text(CALIPER_STAND_IN)
    options = ("-Iinclude/caliper", "-shared", "-fPIC", "-o", "lib/libcaliper.so")
    subprocess.run(["g++", "-w", "caliper.cpp", *options], cwd=place, check=True)
    return place, False


def test_every_macro_of_caliper_is_a_region_and_reaches_caliper(caliper: tuple[Path, bool], tmp_path: Path) -> None:
    place, is_real = caliper
    (tmp_path / "program.cpp").write_text(CALIPER_PROGRAM)
    options = (f"-I{place}/include", f"-L{place}/lib", "-lcaliper", f"-Wl,-rpath,{place}/lib")
    subprocess.run(["g++", "-w", "-o", "program", "program.cpp", *options], cwd=tmp_path, check=True)
    assert written(profiled(tmp_path, [tmp_path / "program"])) == {
        "solve": (1, 1 + 1),
        "solve > returns_early": (2, 100 + 100 + 1000),
        "solve > time steps": (1, 5 * 10_000),
        "solve > time steps > checkpoint": (5, 5 * 20_000),
        "solve > rows": (1, 3 * 7),
        "solve > scope": (1, 11),
        "solve > phase": (1, 13),
        "solve > halo": (1, 17),
        "solve > raises": (1, 5),
    }
    if not is_real:
        assert (tmp_path / "seen").read_text() == "14 14"


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
    profile = profiled(tmp_path, [compiled(tmp_path, source, f"-I{annotations}")])
    rows = profile.region_operations.filter(profile.region_operations["operation"] == "write")
    assert profile.regions.height == 256
    assert int(rows["bytes"].sum()) == 10_000
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("lost-regions", 1000 - 255)]
