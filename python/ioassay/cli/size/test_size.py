"""`ioassay size` as it is typed: what it prints where, what it writes, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from rich.cells import cell_len

from ioassay.cli.size.catalogue import catalogue
from ioassay.cli.size.explain import explain
from ioassay.cli.size.predict import predict
from ioassay.cli.size.search import search
from ioassay.errors import CannotRun, UsageError

DEADLINE_S = 60
"""Bounds what hangs; nothing waits for it otherwise."""

REQUIREMENTS = """
name: site
usable: 1PB
write: {write}
bricks: [md3460-performance]
limits: {{racks: 1}}
scaling: {{by: linear, because: Each brick has its own server.}}
"""


def _size(folder: Path, *typed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ioassay", "size", *typed], cwd=folder, capture_output=True, text=True, check=False
    )


def _requirements(folder: Path, write: str) -> str:
    (folder / "needs.yaml").write_text(REQUIREMENTS.format(write=write))
    return "needs.yaml"


def test_the_result_is_one_json_document_and_is_saved_for_explain(tmp_path: Path) -> None:
    done = _size(tmp_path, _requirements(tmp_path, "26GB/s"), "--json", "--save", "found")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["is_met"]
    saved = done.stderr.split()
    assert saved == [f"found/site-{number}.yaml" for number in range(1, len(document["answers"]) + 1)]
    explained = json.loads(_size(tmp_path, "explain", saved[0], "--json").stdout)
    (configuration,) = explained["configurations"]
    assert configuration["usable_bytes"] == document["answers"][0]["usable_bytes"]


def test_requirements_that_cannot_be_met_make_the_exit_code_1(tmp_path: Path) -> None:
    done = _size(tmp_path, _requirements(tmp_path, "80GB/s"))
    assert done.returncode == 1
    assert "80 GB/s needed, 36 GB/s possible, 44 GB/s short" in " ".join(done.stdout.split())


def test_an_undecided_search_exits_with_3_and_says_so_in_text_and_json(tmp_path: Path) -> None:
    text = REQUIREMENTS.format(write="26GB/s")
    (tmp_path / "needs.yaml").write_text(text.replace("{racks: 1}", "{budget: 1000000, currency: EUR}"))
    undecided = _size(tmp_path, "needs.yaml")
    assert undecided.returncode == 3
    assert "Too little is known" in undecided.stdout
    assert json.loads(_size(tmp_path, "needs.yaml", "--json").stdout)["verdict"] == "undecided"
    impossible = _size(tmp_path, _requirements(tmp_path, "80GB/s"), "--json")
    assert (impossible.returncode, json.loads(impossible.stdout)["verdict"]) == (1, "impossible")


def test_published_figures_that_contradict_make_the_exit_code_of_a_check_1(tmp_path: Path) -> None:
    assert _size(tmp_path, "explain", "md3460-racks").returncode == 0
    assert _size(tmp_path, "explain", "md3460-racks", "--check").returncode == 1


def test_a_mistyped_command_is_named_with_the_way_to_the_commands(tmp_path: Path) -> None:
    done = _size(tmp_path, "explian")
    assert done.returncode == 2
    assert "explian is neither a file nor a command." in done.stderr


def test_a_component_is_shown_with_the_source_of_each_figure_or_the_nearest_name(tmp_path: Path) -> None:
    assert "md3460-ieel, paper:29, 279" in " ".join(_size(tmp_path, "catalogue", "md3460-controllers").stdout.split())
    done = _size(tmp_path, "catalogue", "md3460-controler")
    assert done.returncode == 2
    assert "did you mean `md3460-controllers`" in done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(explain, "md3460-racks", form="html", as_json=True), "--json and --format html contradict"),
        (partial(explain, "md3460-racks", form="pdf"), "--format pdf is written to a file"),
        (partial(explain, "md3460-racks", form="xml"), "--format xml is not supported"),
        (partial(explain, "md3460-racks", output=Path("x")), "-o x names no format"),
        (partial(explain, as_json=True), "Options need a file of configurations"),
        (partial(explain, "md3460-racks", as_yaml=True, check=True), "--yaml takes no other options"),
        (partial(explain, "md3460-racks", check=True, configuration="capacity-2"), "--check is about a whole file"),
        (partial(explain, "md3460-racks", configuration="capacity-4"), "did you mean `capacity-"),
        (partial(predict, "md3460-racks", study="quick"), "md3460-racks has 7 configurations"),
        (partial(catalogue, as_yaml=True), "--yaml needs a component and no format"),
        (partial(catalogue, ["fdr"], as_yaml=True, as_json=True), "--yaml needs a component and no format"),
        (partial(catalogue, ["zzz"]), r'There is no component "zzz"\.$'),
        (partial(search, Path("x.yaml")), r"x\.yaml: cannot be read: No such file"),
        (partial(search, Path("x.yaml"), time_limit="10"), "--time-limit 10 is not a duration"),
        (partial(search, Path("x.yaml"), time_limit="0s"), "--time-limit 0s is out of range"),
        (partial(search, Path("x.yaml"), time_limit="5000000h"), "--time-limit 5000000h is out of range"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_is_printed(
    call: Callable[[], int], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=message):
        call()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["flashblade", "vast"], {"flashblade-e-chassis", "vast-ceres"}),
        (["hc580-24tb", "*-24TB"], {"exos-x24-24tb", "mg11-24tb", "hc580-24tb"}),
        (["weka"], {"weka"}),
    ],
)
def test_the_catalogue_is_asked_by_names_words_and_patterns(
    words: list[str], shown: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert catalogue(words, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["components"].keys() == shown


OURS = """
name: ours
title: What we have
bricks:
  ours:
    title: Ours
    drives: [nl-sas-4tb]
    drive_count: 12
    rack_units: 2
    redundancy: {layout: raid6, data: 10, groups: 1}
    scaling: {by: linear, because: Each has a server of its own.}
"""


@pytest.fixture
def needs(tmp_path: Path) -> Path:
    """Requirements that name a catalogue in another folder."""
    for name, text in {
        "hardware/ours.yaml": OURS,
        "wishes/needs.yaml": "name: mine\ncatalogues: [../hardware/ours.yaml]\nusable: 500TB\nbricks: [ours]\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path / "wishes/needs.yaml"


def test_a_saved_configuration_is_explained_from_anywhere(
    needs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(needs.parent)
    assert search(Path(needs.name), save=tmp_path / "deep/er") == 0
    assert [line for line in capsys.readouterr().out.splitlines() if cell_len(line) > 80] == []
    monkeypatch.chdir("/")
    files = [*(tmp_path / "deep/er").iterdir()]
    assert files
    for file in files:
        assert explain(str(file)) == 0
        assert "Usable" in capsys.readouterr().out


@pytest.mark.parametrize(("form", "begins"), [("html", b"<!doctype html>"), ("pdf", b"%pdf-"), ("md", b"# ")])
def test_documents_are_written_where_it_was_asked(
    form: str, begins: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / f"x.{form}"
    assert explain("nss-7.0-ha", form=form, output=path) == 0
    assert path.read_bytes()[: len(begins)].lower() == begins
    assert capsys.readouterr().err == f"{path}\n"


@pytest.mark.parametrize(
    "call",
    [
        explain,
        catalogue,
        partial(catalogue, ["md3460-performance", "fdr"]),
        *(partial(explain, name) for name in ("md3460-racks", "pixstor", "beegfs", "astra", "isilon-2018")),
        partial(explain, "md3460-racks", configuration="capacity-2"),
    ],
)
def test_no_line_is_longer_than_a_terminal(
    call: Callable[[], int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert call() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if cell_len(line) > 80] == []


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "ioassay", "size", "explain", "astra"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_output_that_cannot_be_written_is_an_error(needs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ioassay", "size", "explain", "astra"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "ioassay: No space left on device.\n")
    (tmp_path / "file").touch()
    with pytest.raises(CannotRun, match=r"file/x\.html cannot be written"):
        explain("nss-7.0-ha", form="html", output=tmp_path / "file/x.html")
    with pytest.raises(CannotRun, match=r"file/mine-1\.yaml cannot be written"):
        search(needs, save=tmp_path / "file")


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_process_that_solves_ends_with_a_search_that_is_ended(needs: Path, end: signal.Signals) -> None:
    needs.write_text(needs.read_text().replace("[ours]", "[ours, md3460-performance]\nkinds: 2"))
    command = [sys.executable, "-m", "ioassay", "size", str(needs)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        _until(lambda: bool(children.read_text()), "a solver")
        solver = int(children.read_text().split()[0])
        process.send_signal(end)
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == (CannotRun.exit_code if end == signal.SIGINT else -end)
    assert "Traceback" not in errors
    _until(lambda: not _is_running(solver), "the solver to end")


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.01)


def _is_running(process_id: int) -> bool:
    """False also of a process that has ended and that nobody has waited for."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("name", ["search", "explain", "predict", "catalogue"])
def test_help_imports_nothing_that_takes_long(name: str) -> None:
    code = (
        "import sys; from ioassay.cli import app\n"
        f"app(['size', {name!r}, '--help'], standalone_mode=False)\n"
        "slow = {'numpy', 'scipy', 'polars', 'yaml', 'ioassay.sizing'}\n"
        "print(*sorted(slow & {*sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"COLUMNS": "80"}, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == ""
    assert "Usage:" in done.stdout
