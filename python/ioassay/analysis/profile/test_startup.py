"""Classification of files as start-up or data of the application."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from ioassay.analysis.profile.findings import ProfileFacts, findings
from ioassay.analysis.profile.findings.program_startup import StartupEvidence, program_startup
from ioassay.analysis.profile.startup import startup_files
from ioassay.analysis.profile.thresholds import Thresholds
from ioassay.profiles.model import Profile
from ioassay.profiles.records.profile import load_profile
from ioassay.protocol.record_layout import FileKind
from ioassay.testing.record_tables import BEGIN_NS, TableBuilder, store_record

Load = Callable[..., Profile]

KIB, MIB, S = 1 << 10, 1 << 20, 10**9

PREFIX = "/sw/conda/envs/a"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    return lambda *tables: load_profile([store_record(tmp_path / "record", *tables)])


def runtimes(profile: Profile) -> dict[str, str]:
    """The runtime of each path that is start-up."""
    paths = profile.files.select("file", "path")
    return dict(startup_files(profile).join(paths, on="file").select("path", "runtime").iter_rows())


def look_for_compiled(table: TableBuilder, path: str) -> None:
    """Looks up the compiled form, as imports do before they read a module."""
    if path.endswith(".py"):
        directory, name = path.removesuffix(".py").rsplit("/", 1)
        compiled = f"{directory}/__pycache__/{name}.cpython-311.pyc"
        table.file(compiled, {"open": 1}, {"open": 1}, errno=2)


@pytest.mark.parametrize(
    ("command", "path", "runtime"),
    [
        ("python3", "/usr/lib/python3.11/json/decoder.py", "Python"),
        ("python3", f"{PREFIX}/lib/python3.12/site-packages/numpy/__init__.py", "Python"),
        ("python3", f"{PREFIX}/lib/python3.12/__pycache__/os.cpython-312.pyc", "Python"),
        ("python3", "/home/u/app/__pycache__/model.cpython-312.pyc", "Python"),
        ("mpi_app", f"{PREFIX}/lib/python3.12/encodings/utf_8.py", "Python"),  # embedded
        ("perl", "/usr/share/perl/5.36/strict.pm", "Perl"),
        ("perl", "/usr/lib/x86_64-linux-gnu/perl-base/warnings.pm", "Perl"),
        ("R", "/usr/lib/R/library/stats/R/stats.rdb", "R"),
        ("julia", "/opt/julia/share/julia/base.jl", "Julia"),
        ("julia", "/home/u/.julia/compiled/v1.10/CSV/x.ji", "Julia"),
        ("java", "/usr/lib/jvm/java-17/lib/modules", "Java"),
        ("java", "/app/lib/spark.jar", "Java"),
        ("node", "/app/node_modules/react/index.js", "Node.js"),
        ("app", "/opt/mpi/lib/libmpi.so.40", "shared libraries"),
        ("app", "/etc/ld.so.cache", "shared libraries"),
        ("app", "/usr/share/locale/de/LC_MESSAGES/libc.mo", "locale"),
        ("app", "/usr/share/zoneinfo/Europe/Berlin", "locale"),
        ("bash", "/usr/local/sbin/python3", "programs"),
        ("bash", "/dev/tty", "system files"),
        ("cc1", "/usr/include/stdio.h", "compiler"),
    ],
)
def test_files_that_interpreters_and_the_loader_read_are_start_up(
    load: Load, command: str, path: str, runtime: str
) -> None:
    table = TableBuilder(command=[command])
    table.transfers(table.file(path, {"open": 1}, inode=1), "read", {800: 1})
    look_for_compiled(table, path)
    assert runtimes(load(table))[path] == runtime


@pytest.mark.parametrize(
    ("command", "path", "transfers"),
    [
        ("python3", "/data/train/0.bin", {"read": {4096: 10}}),
        ("python3", "/scratch/model.pth", {"read": {4096: 10}}),  # a checkpoint, no list of paths
        ("python3", "/scratch/analysis.py.txt", {"read": {4096: 10}}),
        ("app", "/usr/share/dict/words", {"read": {4096: 10}}),
        ("python3", f"{PREFIX}/lib/python3.12/site-packages/pack/weights.bin", {"read": {MIB: 64}}),
        ("pip", f"{PREFIX}/lib/python3.12/site-packages/new/__init__.py", {"write": {4096: 1}}),  # installed
        ("tar", "/usr/lib/python3.11/json/decoder.py", {"read": {4096: 1}}),  # archived
        ("cp", "/opt/mpi/lib/libmpi.so.40", {"read": {4096: 1}}),
        ("app", "/opt/mpi/lib/libbig.so", {"read": {MIB: 100}}),  # the loader maps what it needs
        ("ruff", "/usr/lib/python3.11/json/decoder.py", {"read": {4096: 1}}),  # checked
        ("python3", "/usr/lib/python3.11/json/decoder.py", {"read": {4096: 1}}),  # read, not imported
        ("git", "/home/u/repository/node_modules/react/index.js", {"read": {4096: 1}}),
        ("ctags", "/usr/include/stdio.h", {"read": {4096: 1}}),
    ],
)
def test_files_that_an_application_works_on_are_data_in_any_place(
    load: Load, command: str, path: str, transfers: Mapping[str, Mapping[int, int]]
) -> None:
    table = TableBuilder(command=[command])
    file = table.file(path, {"open": 1}, inode=1)
    for operation, sizes in transfers.items():
        table.transfers(file, operation, sizes)
    assert runtimes(load(table)) == {}


def test_a_script_and_the_modules_beside_it_are_start_up_and_other_sources_are_data(load: Load) -> None:
    table = TableBuilder(command=["python3", "src/app.py"])
    for name in ("/work/src/app.py", "/work/src/model.py", "/work/src/__pycache__/model.cpython-312.pyc"):
        table.file(name, {"open": 1}, inode=len(name))
    for index in range(5):
        table.file(f"/work/checked/{index}.py", {"open": 1}, inode=100 + index)
    assert set(runtimes(load(table))) == {
        "/work/src/app.py", "/work/src/model.py", "/work/src/__pycache__/model.cpython-312.pyc"
    }  # fmt: skip


def used_by(path: str, **times: int) -> list[TableBuilder]:
    """Processes of each program (with their number) that read a module; Python imports it."""
    tables: list[TableBuilder] = []
    for command, processes in times.items():
        for _ in range(processes):
            table = TableBuilder(10 + len(tables), command=[command])
            table.transfers(table.file(path, {"open": 1}, inode=7), "read", {800: 1})
            if command == "python3":
                look_for_compiled(table, path)
            tables.append(table)
    return tables


@pytest.mark.parametrize(("python3", "other", "is_startup"), [(8, 1, True), (1, 0, True), (1, 1, False), (1, 8, False)])
@pytest.mark.parametrize("program", ["tar", "ruff"])
def test_the_majority_of_a_module_s_users_decides_whether_it_is_start_up(
    load: Load, program: str, python3: int, other: int, is_startup: bool
) -> None:
    path = f"{PREFIX}/lib/python3.12/site-packages/numpy/core.py"
    profile = load(*used_by(path, python3=python3, **{program: other}))
    assert (path in runtimes(profile)) == is_startup


def test_a_library_that_a_program_walks_through_beside_python_is_data(load: Load) -> None:
    root = f"{PREFIX}/lib/python3.12/site-packages/numpy"
    (python,) = used_by(f"{root}/core.py", python3=1)
    walk = TableBuilder(20, command=["ls"])
    walk.file("/opt/tools/bin", {"open": 1, "list": 3}, kind=FileKind.DIRECTORY, inode=99)
    for path in (f"{root}/random.py", f"{root}/data.json", "/opt/tools/bin/run"):
        walk.file(path, {"stat": 1})
    shell = TableBuilder(21, command=["bash"])
    shell.file("/usr/local/bin/make", {"stat": 1}, {"stat": 1}, errno=2)
    compiled = f"{root}/__pycache__/core.cpython-311.pyc"
    assert set(runtimes(load(python, walk, shell))) == {f"{root}/core.py", compiled, "/usr/local/bin/make"}


def test_sources_are_data_of_a_program_that_opens_them_before_their_compiled_forms(load: Load) -> None:
    table = TableBuilder(command=["python3"])
    root = "/usr/lib/python3.11/json"
    for name, source, compiled in (("imported", 2, 1), ("checked", 1, 2)):
        for path, second in ((f"{name}.py", source), (f"__pycache__/{name}.cpython-311.pyc", compiled)):
            table.file(f"{root}/{path}", {"open": 1}, inode=len(path) + second, opened_ns=BEGIN_NS + second * S)
    sources = {path for path in runtimes(load(table)) if path.endswith(".py")}
    assert sources == {f"{root}/imported.py"}


def test_a_module_whose_compiled_form_lies_below_a_prefix_is_imported(load: Load) -> None:
    table = TableBuilder(command=["python3"])
    table.file("/usr/lib/python3.11/json/decoder.py", {"open": 1}, inode=1)
    table.file("/var/cache/py/usr/lib/python3.11/json/decoder.cpython-311.pyc", {"open": 1}, {"open": 1}, errno=2)
    assert "/usr/lib/python3.11/json/decoder.py" in runtimes(load(table))


def test_a_directory_of_modules_is_start_up_and_a_tree_that_python_walks_is_data(load: Load) -> None:
    (table,) = importing(1, 60)
    table.file("/home/u/project", {"stat": 55, "open": 2, "list": 20}, kind=FileKind.DIRECTORY)
    for index in range(100):
        table.file(f"/data/{index}", {"stat": 2, "open": 1, "list": 9}, kind=FileKind.DIRECTORY)
    table.file("/data/polled", {"stat": 5000}, kind=FileKind.DIRECTORY)
    assert {path for path in runtimes(load(table)) if not path.startswith("/sw/")} == {"/home/u/project"}


def test_the_row_of_all_other_files_is_no_start_up(load: Load) -> None:
    table = TableBuilder(command=["python3"])
    table.file("/usr/lib/python3.11/(other files)", {"open": 9}, kind=FileKind.OTHERS)
    assert runtimes(load(table)) == {}


def importing(processes: int, modules: int, ns: int = 0) -> list[TableBuilder]:
    """Processes that import the same modules, each after a failed lookup in another directory."""
    tables = []
    for index in range(processes):
        table = TableBuilder(10 + index, command=["python3", "app.py"], end_ns=BEGIN_NS + 10 * S)
        for module in range(modules):
            table.file(f"/sw/extra/site-packages/m{module}.py", {"stat": 1}, {"stat": 1}, errno=2, ns=ns)
            file = table.file(
                f"/sw/lib/python3.11/m{module}.py", {"open": 1, "stat": 1, "close": 1}, inode=1 + module, ns=ns
            )
            table.transfers(file, "read", {2000: 1, 0: 1}, consecutive=1)
            look_for_compiled(table, f"/sw/lib/python3.11/m{module}.py")
        tables.append(table)
    return tables


def startup_of(profile: Profile) -> tuple[str, StartupEvidence]:
    (finding,) = program_startup(ProfileFacts(profile, Thresholds()))
    assert isinstance(finding.evidence, StartupEvidence)
    return finding.severity, finding.evidence


def test_many_processes_that_import_the_same_modules_are_one_finding(load: Load) -> None:
    profile = load(*importing(8, 300, ns=2_000_000))
    severity, evidence = startup_of(profile)
    assert severity == "warning"  # 9.6 of 80 s
    assert (evidence.processes, evidence.calls, evidence.files) == (8, 8 * 300 * 7, 900)
    assert (evidence.failed_lookups.count, evidence.failed_lookups.directories) == (
        4800, (("/sw/extra/site-packages", 2400), ("/sw/lib/python3.11/__pycache__", 2400))
    )  # fmt: skip
    assert evidence.runtimes == ("Python",)
    assert [finding.kind for finding in findings(ProfileFacts(profile, Thresholds()))] == ["program-startup"]


def test_start_up_that_takes_little_time_is_a_notice(load: Load) -> None:
    assert startup_of(load(*importing(8, 300)))[0] == "notice"


def test_a_shell_that_runs_small_programs_in_a_loop_has_no_finding(load: Load) -> None:
    shell, tables = TableBuilder(9, command=["bash"]), []
    for index in range(300):
        for directory in ("/usr/local/sbin", "/usr/local/bin"):
            shell.file(f"{directory}/sed", {"stat": 1}, {"stat": 1}, errno=2)
        table = TableBuilder(10 + index, command=["sed"])
        table.file("/selinux", {"stat": 1}, {"stat": 1}, errno=2)  # as libselinux does when it is loaded
        table.transfers(table.file("/data/in", {"open": 1, "close": 1}, inode=1, size=900), "stream read", {900: 1})
        tables.append(table)
    assert [finding.kind for finding in findings(ProfileFacts(load(shell, *tables), Thresholds()))] == []


@pytest.mark.parametrize("ns", [0, 100_000])
def test_a_script_that_does_nothing_has_no_finding(load: Load, ns: int) -> None:
    assert findings(ProfileFacts(load(*importing(1, 300, ns=ns)), Thresholds())) == []


def test_the_sums_of_start_up_are_part_of_all(load: Load) -> None:
    tables = importing(2, 10, ns=1000)
    library = tables[0].file("/opt/lib/libm.so.6", inode=8888)
    tables[0].transfers(library, "map", {MIB: 1}, ns=S)  # no time in I/O
    tables[0].transfers(tables[0].file("/data/in", {"open": 1}, inode=9999), "read", {MIB: 10}, ns=S)
    facts = ProfileFacts(load(*tables), Thresholds())
    startup_total = facts.startup_total
    assert (startup_total.files, startup_total.calls, startup_total.read_bytes, startup_total.spent_ns) == (
        31,
        141,
        40_000,
        40_000,
    )
    assert startup_total.calls + int(facts.data["calls"].sum()) == int(facts.stored["calls"].sum())
    assert facts.data.select(pl.col("path").unique())["path"].to_list() == ["/data/in"]
