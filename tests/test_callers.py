"""`record --stacks`: the functions of an application that make its calls, in C, C++ and every installed Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import polars as pl
import pytest

from ioassay.analysis.profile.callers import CallSite, callers
from ioassay.processes.engine import find_engine
from ioassay.profiles.model import DIRECTION, Profile
from ioassay.profiles.records.profile import load_profile

from .support import OPEN_MPI_AS_ROOT, ioassay

C_PROGRAM = """\
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
static char bytes[65536];
static __attribute__((noinline)) void write_records(int file) {
    for (long i = 0; i < 20000; i++) pwrite(file, bytes, 100, i * 100);
}
static __attribute__((noinline)) void write_blocks(int file) {
    for (long i = 0; i < 2000; i++) pwrite(file, bytes, 65536, i % 200 * 65536);
}
__attribute__((noinline)) int checkpoint(const char *name) {
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    write_records(file);
    write_blocks(file);
    fsync(file);
    return close(file);
}
int main(void) {
    checkpoint("first");
    if (fork() == 0) return checkpoint("second");
    wait(0);
    return 0;
}
"""

MANY_FILES = """\
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static char bytes[1000];
static const char *name(int i) { static char text[20]; snprintf(text, sizeof text, "%d", i); return text; }
__attribute__((noinline)) void make_files(void) {
    for (int i = 0; i < 4000; i++) {
        int file = open(name(i), O_CREAT | O_WRONLY, 0600);
        write(file, bytes, sizeof bytes);
        close(file);
    }
}
__attribute__((noinline)) void read_files(void) {
    for (int i = 0; i < 4000; i++) {
        int file = open(name(i), O_RDONLY);
        read(file, bytes, sizeof bytes);
        close(file);
    }
}
int main(void) { make_files(); read_files(); return 0; }
"""

LIBRARY = """\
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int within(int file, long i) { char b[50] = ""; return pwrite(file, b, 50, i * 50) == 50; }
int save(int file, long i) { return within(file, i) + 1; }
"""

USER_OF_LIBRARY = """\
#include <fcntl.h>
int save(int file, long i);
__attribute__((noinline)) int save_all(int file) {
    int done = 0;
    for (long i = 0; i < 5000; i++) done += save(file, i);
    return done;
}
int main(void) { return save_all(open("data", O_CREAT | O_WRONLY, 0600)) == 0; }
"""

CPP_PROGRAM = """\
#include <fstream>
namespace model {
struct Solver {
    std::ofstream out{"data"};
    __attribute__((noinline)) void dump(int step) { out << step << std::endl; }
};
}
int main() {
    model::Solver solver;
    for (int step = 0; step < 3000; step++) solver.dump(step);
}
"""

PYTHON_PROGRAM = """\
import os
import threading

class Loader:
    def sample(self, number):
        return os.pread(self.file, 100, number * 100)

    def batch(self):
        self.file = os.open("data", os.O_RDONLY)
        for number in range(3000):
            self.sample(number % 100)

def säve():
    with open("out", "wb", buffering=0) as file:
        for _ in range(1000):
            file.write(b"x" * 10)

with open("data", "wb") as file:
    file.write(b"x" * 10000)
Loader().batch()
thread = threading.Thread(target=säve)
thread.start()
thread.join()
"""

MPI_PROGRAM = """\
#include <mpi.h>
static char bytes[1000];
static __attribute__((noinline)) void checkpoint(MPI_File file, int rank) {
    for (long i = 0; i < 500; i++)
        MPI_File_write_at(file, (2 * i + rank) * 1000, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
}
int main(int count, char **arguments) {
    int rank;
    MPI_File file;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    checkpoint(file, rank);
    MPI_File_close(&file);
    return MPI_Finalize();
}
"""

HOSTILE_PROGRAM = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static sigjmp_buf back;
static volatile sig_atomic_t armed, count;
static int file;
static void handler(int signal) {
    pwrite(file, "h", 1, 0);
    count++;
    if (count % 50 == 0 && fork() == 0) { pwrite(file, "c", 1, 1); _exit(0); }
    if (armed && count % 7 == 0) siglongjmp(back, 1);
}
static void *loads(void *unused) {
    for (int i = 0; i < 300; i++) { void *library = dlopen("libm.so.6", RTLD_NOW); if (library) dlclose(library); }
    return 0;
}
static void *writes(void *unused) {
    for (long i = 0; i < 20000; i++) pwrite(file, "w", 1, 10 + i);
    return 0;
}
int main(void) {
    file = open("data", O_CREAT | O_WRONLY, 0600);
    stack_t stack = {.ss_sp = malloc(16384), .ss_size = 16384};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &action, 0);
    pthread_t threads[4];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 16384);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, 0);
    pthread_create(&threads[0], 0, loads, 0);
    for (int i = 1; i < 4; i++) pthread_create(&threads[i], &small, writes, 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm, 0);
    struct itimerval often = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &often, 0);
    while (count < 300) {
        if (sigsetjmp(back, 1) == 0) { armed = 1; pwrite(file, "m", 1, 2); }
        armed = 0;
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    while (wait(0) > 0) {}
    return 7;
}
"""


def pythons() -> list[Path]:
    """Interpreters that are here: our own, the system's, and those of pyenv."""
    homes = Path("~/.pyenv/versions").expanduser()
    every = [Path(sys.executable), Path("/usr/bin/python3"), *sorted(homes.glob("3.*/bin/python3"))]
    return [path for path in every if path.exists()]


def profiled(directory: Path, command: Sequence[str | Path], code: int = 0) -> Profile:
    out = directory / "record"
    words = [find_engine(), "record", "--stacks", "--out", out, "--", *command]
    result = subprocess.run(words, cwd=directory, check=False, timeout=120)
    assert result.returncode == code
    return load_profile([out])


def sites(profile: Profile, *operations: str) -> dict[str | None, CallSite]:
    return {site.place.function: site for site in callers(profile).of(operations or DIRECTION)}


def compiled(directory: Path, source: str, *options: str | Path, compiler: str = "gcc", name: str = "program") -> Path:
    file = directory / f"{name}.{'cc' if compiler == 'g++' else 'c'}"
    file.write_text(source)
    subprocess.run([compiler, "-w", "-O1", "-o", directory / name, file, *options], check=True)
    return directory / name


def test_calls_come_from_the_functions_that_make_them_with_their_lines(tmp_path: Path) -> None:
    profile = profiled(tmp_path, [compiled(tmp_path, C_PROGRAM, "-g")])
    found_sites = sites(profile, "write")
    assert set(found_sites) == {"write_records", "write_blocks"}
    records, blocks = found_sites["write_records"], found_sites["write_blocks"]
    assert (Path(records.place.source or "").name, records.place.line) == ("program.c", 6)
    assert [place.function for place in records.outer] == ["checkpoint", "main"]
    assert (records.through, records.files) == ((), 2)
    # What all of them are together is known; the stacks share it out.
    assert records.calls + blocks.calls == pytest.approx(2 * 22_000, abs=4)
    assert records.calls > 2 * blocks.calls
    assert blocks.bytes > records.bytes
    assert set(sites(profile, "sync")) == {"checkpoint"}
    assert 0 < records.samples < 40_000


def test_calls_on_files_without_a_sampled_call_have_callers(tmp_path: Path) -> None:
    profile = profiled(tmp_path, [compiled(tmp_path, MANY_FILES)])
    sites_of = {name: sites(profile, name) for name in ("open", "write", "read")}
    assert sites_of["write"]["make_files"].files < 4000
    for name, site_by_function in sites_of.items():
        operations = profile.process_operations.filter(pl.col("operation") == name)
        assert sum(site.calls for site in site_by_function.values()) == pytest.approx(operations["calls"].sum(), abs=20)
        assert sum(site.duration_ns for site in site_by_function.values()) == pytest.approx(
            operations["duration_ns"].sum(), rel=0.01
        )
    write_site = sites_of["write"]["make_files"]
    assert (write_site.calls, write_site.bytes) == (4000, 4000 * 1000)
    assert {"make_files", "read_files"} <= set(sites_of["open"])


def test_a_finding_on_many_files_names_their_callers(tmp_path: Path) -> None:
    program = compiled(tmp_path, MANY_FILES)
    profiled(tmp_path, [program])
    _, out, _ = ioassay("profile", tmp_path / "record", "--format", "json")
    finding_of = {
        finding["evidence"]["direction"]: finding
        for finding in json.loads(out)["findings"]
        if finding["kind"] == "small-files"
    }
    assert len(finding_of["write"]["rests_on"]) == 100
    [site] = finding_of["write"]["callers"]
    assert (site["place"]["function"], site["calls"]) == ("make_files", 4000)


def test_functions_without_debugging_information_have_no_lines(tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM)
    assert {function: site.place.line for function, site in sites(profiled(tmp_path, [program]), "write").items()} == {
        "write_records": None,
        "write_blocks": None,
    }


def test_a_program_without_names_has_its_addresses(tmp_path: Path) -> None:
    program = compiled(tmp_path, C_PROGRAM, "-s")
    profile = profiled(tmp_path, [program])
    assert {site.place.module for site in callers(profile).of(["write"])} == {str(program)}
    assert profile.caller_frames.filter(pl.col("module") == str(program))["address"].null_count() == 0
    _, out, _ = ioassay("profile", tmp_path / "record")
    assert "a function without a name (program)" in re.sub(r"\s+", " ", out)


def test_a_library_between_is_named(tmp_path: Path) -> None:
    compiled(tmp_path, LIBRARY, "-shared", "-fPIC", name="libformat.so")
    program = compiled(tmp_path, USER_OF_LIBRARY, tmp_path / "libformat.so", "-Wl,-rpath,$ORIGIN")
    found_sites = sites(profiled(tmp_path, [program]), "write")
    assert {name: site.through for name, site in found_sites.items()} == {"save_all": ("libformat",)}


def test_functions_of_cpp_have_the_names_of_the_source(tmp_path: Path) -> None:
    program = compiled(tmp_path, CPP_PROGRAM, "-g", compiler="g++")
    found_sites = sites(profiled(tmp_path, [program]), "write", "stream write")
    assert {name: site.through for name, site in found_sites.items()} == {"model::Solver::dump(int)": ("C++ library",)}


@pytest.mark.parametrize("python", pythons(), ids=str)
def test_python_has_functions_and_lines_of_the_application(python: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PYTHON_PROGRAM, encoding="utf-8")
    profile = profiled(tmp_path, [python, "train.py"])
    minor = int(subprocess.check_output([python, "-c", "import sys; print(sys.version_info[1])"]))
    read = max(callers(profile).of(["read"]), key=lambda site: site.calls)
    written = max(callers(profile).of(["write"]), key=lambda site: site.calls)
    names = ("Loader.sample", "Loader.batch") if minor >= 11 else ("sample", "batch")
    assert (read.place.function, Path(read.place.source or "").name, read.place.line) == (names[0], "train.py", 6)
    assert [place.function for place in read.outer] == [names[1], "<module>"]
    assert (written.place.function, written.place.line, written.through) == ("säve", 16, ())
    assert not [loss for loss in profile.losses if loss.kind in ("stackless-calls", "unreadable-stacks")]


def test_a_program_that_interrupts_forks_and_loads_all_the_time_ends_as_it_should(tmp_path: Path) -> None:
    program = compiled(tmp_path, HOSTILE_PROGRAM, "-pthread", "-ldl")
    profile = profiled(tmp_path, [program], code=7)
    assert {"writes", "main"} <= set(sites(profile, "write"))


def test_a_finding_says_where_its_calls_come_from(tmp_path: Path) -> None:
    profiled(tmp_path, [compiled(tmp_path, C_PROGRAM, "-g")])
    _, out, _ = ioassay("profile", tmp_path / "record", "--json")
    document = json.loads(out)
    [finding] = [candidate for candidate in document["findings"] if candidate["kind"] == "small-requests"]
    assert finding["callers"][0]["place"]["function"] == "write_records"
    assert {caller["place"]["function"] for caller in document["callers"]} >= {
        "write_records",
        "write_blocks",
        "checkpoint",
    }
    _, out, _ = ioassay("profile", tmp_path / "record")
    assert "The calls come from write_records (program.c:6)" in re.sub(r"\s+", " ", out)
    code, _, _ = ioassay("profile", tmp_path / "record", "-o", tmp_path / "profile.html")
    assert code == 0
    assert "checkpoint \N{LEFTWARDS ARROW} main" in (tmp_path / "profile.html").read_text()


def test_symbols_that_are_damaged_are_a_loss_and_their_functions_addresses(tmp_path: Path) -> None:
    profiled(tmp_path, [compiled(tmp_path, C_PROGRAM)])
    [symbols] = (tmp_path / "record").glob("*.symbols")
    symbols.write_bytes(b'{"module": 1}\n\xff\xfe\n{}\n[]\n')
    profile = load_profile([tmp_path / "record"])
    assert [(loss.kind, loss.amount) for loss in profile.losses] == [("damaged-bytes", 4)]
    assert set(sites(profile, "write")) == {None}


def test_damaged_tables_are_read_as_far_as_possible(tmp_path: Path) -> None:
    profiled(tmp_path, [compiled(tmp_path, C_PROGRAM)])
    [tables] = (tmp_path / "record").glob("*.tables")
    tables.with_suffix(".checksums").unlink()  # otherwise damaged blocks are left out
    intact, random = tables.read_bytes(), Random(7)
    for _ in range(40):
        content = bytearray(intact)
        for _ in range(8):
            content[random.randrange(4096, len(content))] = random.randrange(256)
        tables.write_bytes(content)
        profile = load_profile([tmp_path / "record"])
        assert callers(profile).of() is not None


def test_stacks_are_not_sampled_without_the_option(tmp_path: Path) -> None:
    program = compiled(tmp_path, USER_OF_LIBRARY.replace("int save(int file, long i);", LIBRARY))
    subprocess.run([find_engine(), "record", "--out", tmp_path / "record", "--", program], cwd=tmp_path, check=True)
    profile = load_profile([tmp_path / "record"])
    assert profile.callers.is_empty()
    assert sorted(path.suffix for path in (tmp_path / "record").iterdir()) == [".checksums", ".json", ".tables"]


def test_stacks_cannot_be_seen_by_ptrace(tmp_path: Path) -> None:
    command: list[str | Path] = ["record", "--stacks", "--via", "ptrace", "--out", tmp_path / "record", "--", "true"]
    code, _, error = ioassay(*command)
    assert (code, (tmp_path / "record").exists()) == (3, False)
    assert "leave out --stacks or --via" in error


def test_a_library_that_is_preloaded_alone_looks_where_the_directory_asks_for_it(tmp_path: Path) -> None:
    program = compiled(tmp_path, USER_OF_LIBRARY.replace("int save(int file, long i);", LIBRARY))
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "stacks").touch()
    library = subprocess.check_output([find_engine(), "library", tmp_path], text=True).strip()
    environment = {**os.environ, "LD_PRELOAD": library, "IOASSAY_RECORD": str(tables)}
    subprocess.run([program], cwd=tmp_path, env=environment, check=True)
    profile = load_profile([tables])
    assert int(profile.callers["samples"].sum()) > 0
    assert str(program) in set(profile.caller_frames["module"])


def test_calls_of_mpi_io_come_from_the_application_and_their_time_is_no_metadata(tmp_path: Path) -> None:
    if shutil.which("mpicc") is None:
        pytest.skip("there is no mpicc (make mpis)")
    program = compiled(tmp_path, MPI_PROGRAM, "-g", compiler="mpicc")
    command: list[str | Path] = [
        "mpirun",
        "--oversubscribe",
        "-n",
        "2",
        find_engine(),
        "record",
        "--stacks",
        "--out",
        "record",
        "--",
    ]
    environment = {**os.environ, **OPEN_MPI_AS_ROOT}
    subprocess.run([*command, program], cwd=tmp_path, env=environment, check=True, timeout=120)
    profile = load_profile(sorted((tmp_path / "record").iterdir()))
    [site] = callers(profile).of(["MPI write"])
    assert (site.place.function, site.calls, site.through) == ("checkpoint", 1000, ())
    files = profile.files.filter(pl.col("path").str.ends_with("/shared"))
    inner = callers(profile).of(["write"], set(files["file"]))
    assert {(site.place.function, site.through[0]) for site in inner if site.calls > 10} == {("checkpoint", "MPI")}
    opened = profile.process_operations.filter(pl.col("operation") == "MPI file")["duration_ns"].sum()
    assert files["metadata_ns"].sum() < opened
