"""The plug-in `gpu` through the command, with a library that stands for the GPU and for cuFile or hipFile.

That library (plugins/storage/tests/gpu) keeps GPU memory inaccessible outside of its own calls, fails where a real one
does, and logs its calls. No GPU has run these tests.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from .support import ioassay, measure, study, workload

PLUG_INS = Path(__file__).parents[1] / "plugins/storage"
FAKE = PLUG_INS / "tests/gpu"
VERIFYING = workload("nn", steps="[write, {read: {verify: reads}}]")
TRANSFERS = 16
"""Transfers of a phase of the workload: 1 MiB in pieces of 64 KiB, by two ranks."""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@dataclass(frozen=True)
class Call:
    """A call that the library logged."""

    name: str
    device: int
    bytes: int
    moved: int
    direct: bool


class Gpu:
    """The plug-in, compiled for one of the two libraries, and what it called."""

    def __init__(self, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plug_in = libraries / "gpu.so"
        self.log = tmp_path / "calls"
        self.tmp_path = tmp_path
        self.runs = 0
        self.environment = monkeypatch
        monkeypatch.setenv("FAKE_GPU_LOG", str(self.log))

    def set(self, **variables: object) -> None:
        """Sets variables of the library: `devices=3` is FAKE_GPU_DEVICES."""
        for name, value in variables.items():
            self.environment.setenv(f"FAKE_GPU_{name.upper()}", str(value))

    def study(self, workload: str = VERIFYING, **options: object) -> Path:
        file = study(self.tmp_path, workload)
        words = ", ".join(f"{key}: {value}" for key, value in options.items())
        file.write_text(f"storage: {{api: {self.plug_in}, options: {{{words}}}}}\n{file.read_text()}")
        return file

    def run(self, target: Path, workload: str = VERIFYING, **options: object) -> tuple[int, str]:
        """Runs a study; returns its exit code, and what it printed as one line."""
        self.runs += 1
        arguments = ("--target", target, "--out", self.tmp_path / f"run{self.runs}")
        code, out, err = ioassay("run", self.study(workload, **options), *arguments)
        return code, " ".join((out + err).split())

    def printed(self, run: str) -> str:
        """What the ranks of the run in this directory printed on standard error."""
        return "".join(path.read_text() for path in (self.tmp_path / run / "logs").glob("*/stderr.txt"))

    def calls(self) -> list[Call]:
        return [_call(line) for line in self.log.read_text().splitlines()]

    def counts(self) -> Mapping[str, int]:
        return Counter(call.name for call in self.calls())


def _call(line: str) -> Call:
    name, *fields = line.split()
    numbers = {key: int(value) for key, value in (field.split("=") for field in fields)}
    return Call(name, numbers["device"], numbers["bytes"], numbers["moved"], bool(numbers["direct"]))


def _compile(directory: Path, source: Path | str, *defines: str) -> Path:
    """The directory with the library, and the plug-in built of `source` against it by the command for sites."""
    library = directory / "libfakegpu.so"
    strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run(["cc", *strict, *defines, "-o", library, FAKE / "fake_gpu.c", "-lpthread"], check=True)
    # A file system that refuses O_DIRECT is the library's, too: hence its own open().
    opened = ["-U_FORTIFY_SOURCE", "-Dopen=fake_open"]
    linked = [f"-I{FAKE}", f"-I{PLUG_INS}", f"-L{directory}", f"-Wl,-rpath,{directory}", "-lfakegpu", "-lpthread"]
    arguments = ("--", "-Wall", "-Wextra", "-Werror", *defines, *opened, *linked)
    code, _, err = ioassay("api", "build", source, "--output", directory, *arguments)
    assert code == 0, err
    return directory


@pytest.fixture(scope="module")
def cufile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _compile(tmp_path_factory.mktemp("cufile"), "gpu")


@pytest.fixture(scope="module")
def hipfile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _compile(tmp_path_factory.mktemp("hipfile"), "gpu", "-DIOASSAY_HIPFILE")


@pytest.fixture
def gpu(cufile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(cufile, tmp_path, monkeypatch)


@pytest.mark.parametrize("library", ["cufile", "hipfile"])
def test_what_goes_through_gpu_memory_is_verified_and_direct(
    library: str, request: pytest.FixtureRequest, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Gpu(request.getfixturevalue(library), tmp_path, monkeypatch)
    gpu.set(direct=1)
    run = measure(gpu.study(verify="copy"), target, tmp_path / "run")
    assert run.measurements["bytes"].to_list() == [1 << 20, 1 << 20]
    counts = gpu.counts()
    assert counts["Write"] == counts["Read"] == counts["MemcpyIn"] == counts["MemcpyOut"] == TRANSFERS
    assert counts["HandleRegister"] == counts["HandleDeregister"] == 4, "two ranks in two phases"
    assert counts["Malloc"] == counts["Free"] == counts["BufRegister"] == counts["BufDeregister"] == 4
    moves = [call for call in gpu.calls() if call.name in {"Write", "Read"}]
    assert all(call.direct and call.moved == call.bytes == 64 << 10 for call in moves)
    assert {call.device for call in moves} == {0, 1}
    assert gpu.printed("run") == ""
    assert list(target.iterdir()) == []


def test_short_transfers_of_a_shared_file_in_any_order_are_completed_and_counted(gpu: Gpu, target: Path) -> None:
    gpu.set(direct=1, most=40_000, devices=3)
    steps = "[write, {read: {verify: reads}}]"
    shared = workload("shared", layout="N-1", order="random", transfer="60000", total="960000", steps=steps)
    run = measure(gpu.study(shared, verify="copy", device=2), target, gpu.tmp_path / "run")
    assert run.measurements["bytes"].to_list() == [960_000, 960_000]
    moves = [call for call in gpu.calls() if call.name in {"Write", "Read"}]
    assert {(call.bytes, call.moved) for call in moves} == {(60_000, 40_000), (20_000, 20_000)}
    assert {call.device for call in moves} == {2}


def test_without_copies_reads_cannot_pass_a_verification(gpu: Gpu, target: Path) -> None:
    gpu.set(direct=1)
    run = measure(gpu.study(workload("nn", steps="[write, read]")), target, gpu.tmp_path / "plain")
    assert run.measurements["bytes"].to_list() == [1 << 20, 1 << 20]
    counts = gpu.counts()
    assert (counts["Write"], counts["Read"]) == (TRANSFERS, TRANSFERS)
    assert (counts["MemcpyIn"], counts["MemcpyOut"]) == (2, 0), "each rank fills its buffer once"
    code, output = gpu.run(target)
    assert code == 1
    assert "read: verify" in output


def test_compatibility_mode_needs_an_option_and_is_reported_once_for_each_node(gpu: Gpu, target: Path) -> None:
    code, output = gpu.run(target, verify="copy")
    assert code == 1
    assert "cuFileHandleRegister: I/O not supported (5008); only direct transfers are allowed" in output
    run = measure(gpu.study(verify="copy", compatibility="yes"), target, gpu.tmp_path / "allowed")
    assert run.measurements["bytes"].to_list() == [1 << 20, 1 << 20]
    assert gpu.printed("allowed").count("cuFile may move data through host memory") == 1
    gpu.environment.setenv("CUFILE_FORCE_COMPAT_MODE", "true")
    measure(gpu.study(verify="copy", compatibility="yes"), target, gpu.tmp_path / "forced")
    assert gpu.printed("forced").count("cuFile moves all data through host memory (CUFILE_FORCE_COMPAT_MODE)") == 1
    code, output = gpu.run(target, compatibility="no")
    assert code == 3
    assert "compatibility: no contradicts the variable CUFILE_FORCE_COMPAT_MODE" in output


def test_a_file_system_without_o_direct_needs_the_option_and_is_reported(gpu: Gpu, target: Path) -> None:
    gpu.set(direct=1, refuses_o_direct=1)
    code, output = gpu.run(target)
    assert code == 1
    assert "the file system refuses O_DIRECT, which direct transfers need; use compatibility: yes" in output
    run = measure(gpu.study(verify="copy", compatibility="yes"), target, gpu.tmp_path / "allowed")
    assert run.measurements["bytes"].to_list() == [1 << 20, 1 << 20]
    assert gpu.printed("allowed").count("the file system refuses O_DIRECT, so cuFile moves data through host") == 1
    assert not any(call.direct for call in gpu.calls())


def test_a_library_that_still_allows_compatibility_mode_is_refused(gpu: Gpu, target: Path) -> None:
    gpu.set(direct=1, insists=1)
    code, output = gpu.run(target)
    assert code == 3
    assert "set properties.allow_compat_mode to false in cufile.json" in output


@pytest.mark.parametrize(
    ("failing", "message"),
    [
        ("GetDeviceCount:1:100", "counting GPUs: an error of the GPU (100) (ENODEV)"),
        ("SetDevice:1:101", "selecting the GPU: an error of the GPU (101)"),
        ("DriverOpen:1:5030", "cuFileDriverOpen: internal error (5030)"),
        ("DriverGetProperties:1:5030", "cuFileDriverGetProperties: internal error (5030)"),
        ("Malloc:1:2", "allocating GPU memory: out of memory (2) (ENOMEM)"),
        ("BufRegister:1:5036", "cuFileBufRegister: GPU memory pinning failed (5036)"),
        ("HandleRegister:1:5030", "cuFileHandleRegister: internal error (5030)"),
        ("Memcpy:1:700", "copying to the GPU: an error of the GPU (700)"),
        ("Memcpy:9:700", "copying from the GPU: an error of the GPU (700)"),
        ("Write:3:28", "No space left on device (ENOSPC)"),
        ("Write:3:5030", "cuFileWrite: internal error (5030)"),
        ("Read:3:5", "(EIO)"),
        ("Read:3:5030", "cuFileRead: internal error (5030)"),
    ],
)
def test_an_error_of_the_library_ends_the_run_and_is_named(failing: str, message: str, gpu: Gpu, target: Path) -> None:
    gpu.set(direct=1, fail=failing)
    code, output = gpu.run(target, verify="copy")
    assert code in {1, 3}
    assert message in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "first"}, 'device: "first" is neither auto nor the number of a GPU'),
        ({"device": "-1"}, 'device: "-1" is neither'),
        ({"verify": "maybe"}, 'verify: "maybe" is neither none nor copy'),
    ],
)
def test_options_that_make_no_sense_are_refused_before_the_gpu_is_used(
    options: Mapping[str, str], message: str, gpu: Gpu, target: Path
) -> None:
    code, output = gpu.run(target, **options)
    assert code == 2
    assert message in output
    assert not gpu.log.exists()


def test_a_gpu_that_is_not_there_is_refused_with_how_many_there_are(gpu: Gpu, target: Path) -> None:
    code, output = gpu.run(target, device=2)
    assert code == 3
    assert "device: 2 does not exist, this node has 2" in output


def test_a_plug_in_that_touches_gpu_memory_itself_would_not_pass(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (PLUG_INS / "gpu.c").read_text()
    copied = "GPU(Memcpy)(connection->buffer, data, (size_t)bytes, GPU(MemcpyHostToDevice))"
    wrong = tmp_path / "wrong" / "gpu.c"
    wrong.parent.mkdir()
    wrong.write_text(source.replace(copied, "(memcpy(connection->buffer, data, (size_t)bytes), GPU(Success))"))
    assert wrong.read_text() != source
    gpu = Gpu(_compile(wrong.parent, wrong), tmp_path, monkeypatch)
    gpu.set(direct=1)
    code, output = gpu.run(target, verify="copy")
    assert code != 0
    assert "SIGSEGV" in output
