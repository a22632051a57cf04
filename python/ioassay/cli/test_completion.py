"""Completions: the candidates, and the scripts in real shells."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ioassay.cli import built_in
from ioassay.cli.complete import answer, candidates
from ioassay.cli.completion import SCRIPTS

HERE = Path(__file__).parent
DEADLINE_S = 60


def names(*words: str) -> list[str]:
    return [value for value, _ in candidates(words).candidates]


def test_commands_come_with_their_help_lines() -> None:
    assert ("studies", "List the built-in studies and what they need, or print one") in candidates(["s"]).candidates
    assert ("up", "Start a lab and return when it can be used") in candidates(["lab", ""]).candidates


def test_options_are_those_of_the_command_that_were_not_given_yet() -> None:
    assert names("run", "--ta") == ["--target"]
    assert "--json" not in names("list", "--json", "--")
    assert "--json" in names("list", "--")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "isi"], ["isilon-2018"]),
        (["run", "quick", "--set", "tot"], ["total="]),
        (["run", "--set", "tot", "quick", "--set", "rep"], ["repetitions="]),
        (["run", "isilon-2018", "--scale", ""], ["full", "quick"]),
        (["run", "--launcher", "s"], ["srun", "sbatch"]),
        (["doctor", "--launcher", "s"], ["srun"]),
        (["report", "run", "--format", ""], ["html", "pdf", "md", "csv", "json"]),
        (["record", "--via", "pr"], ["preload"]),
        (["systems", "md"], ["md3460-ieel"]),
        (["size", "explain", "as"], ["astra"]),
        (["lab", "up", "moo"], ["moosefs"]),
        (["lab", "list", "moo"], ["moosefs"]),
        (["import", "obd"], ["obdfilter-survey"]),
        (["dashboards", "show", "file"], ["file-system"]),
        (["dashboards", "show", "job", "--source", "p"], ["prometheus"]),
        (["completion", ""], [*SCRIPTS]),
        (["help", "lab", "up"], ["up"]),
        (["help", "studies", ""], []),
        (["run", "quick", "--time-limit", ""], []),
    ],
    ids=" ".join,
)
def test_candidates_are_what_a_parameter_can_be(words: list[str], expected: list[str]) -> None:
    assert names(*words) == expected


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (["run", ""], "files"),
        (["run", "quick", "--target", ""], "files"),
        (["clean", ""], "directories"),
        (["list", ""], "directories"),
        (["import", "ior", ""], "files"),
        (["size", ""], "files"),  # `size FILE` is `size search FILE`
        (["report", "run", "-o", ""], "files"),
        (["lab", "down", ""], ""),
        (["run", "quick", "--time-limit", ""], ""),
    ],
    ids=" ".join,
)
def test_paths_are_candidates_where_a_parameter_takes_one(words: list[str], paths: str) -> None:
    assert candidates(words).paths == paths


def test_a_group_completes_its_commands_beside_what_the_command_takes_that_is_meant() -> None:
    assert {"search", "explain", "predict", "catalogue"} == {*names("size", "")}
    assert {"view", "set"} <= {*names("watch", "")}


def test_stored_runs_are_candidates_the_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("20260101-000000-quick", "20260102-000000-quick"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    assert names("report", "") == ["runs/20260102-000000-quick", "runs/20260101-000000-quick"]
    assert names("compare", "runs/20260102-000000-quick", "")[-2:] == names("report", "")


def test_settings_of_a_study_of_ones_own_are_candidates(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nextends: quick\nsettings:\n  blocks: 4\n")
    assert names("run", str(tmp_path / "mine.yaml"), "--set", "b") == ["blocks="]
    assert names("run", str(tmp_path / "mine.yaml"), "--set", "tot") == ["total="]
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/ours.yaml").write_text("extends: ../mine.yaml\nsettings: {more: 1}\n")
    assert names("run", str(tmp_path / "sites/ours.yaml"), "--set", "") == [
        "more=",
        "blocks=",
        *names("run", "quick", "--set", ""),
    ]
    (tmp_path / "mine.yaml").write_text("extends: ./sites/ours.yaml\nsettings: {blocks: 4}\n")
    assert names("run", str(tmp_path / "mine.yaml"), "--set", "") == ["blocks=", "more="]
    (tmp_path / "mine.yaml").write_text("{")
    assert names("run", str(tmp_path / "mine.yaml"), "--set", "") == []


def test_the_names_of_built_in_documents_are_those_that_commands_take() -> None:
    from ioassay.cli.completion_values import TOOLS  # noqa: PLC0415
    from ioassay.importers import IMPORTERS  # noqa: PLC0415
    from ioassay.lab.library import LABS  # noqa: PLC0415
    from ioassay.sizing.configurations import LIBRARY  # noqa: PLC0415
    from ioassay.studies.library import builtin_studies  # noqa: PLC0415
    from ioassay.systems import library as systems  # noqa: PLC0415

    assert (*IMPORTERS,) == TOOLS
    assert built_in.names(built_in.STUDIES) == sorted(builtin_studies())
    assert built_in.names(built_in.SYSTEMS) == sorted(systems.LIBRARY.sources())
    assert built_in.names(built_in.LABS) == sorted(LABS.sources())
    assert built_in.names(built_in.CONFIGURATIONS) == sorted(LIBRARY.sources())


def test_a_line_with_a_quote_that_is_not_closed_is_completed() -> None:
    assert answer("bash", ["ioassay run 'isi"]) == ["files", "isilon-2018"]
    assert answer("bash", ["ioassay run quick --set=tot"]) == ["", "--set=total="]


PREPARE = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
"""Interactive shells without a user's settings."""

BEGIN = {
    "bash": f"bind 'set enable-bracketed-paste off'; source {HERE}/shells/ioassay.bash",
    "zsh": f"unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source {HERE}/shells/_ioassay",
}

STAND_IN = f"""\
#!/bin/sh
[ -n "$_IOASSAY_COMPLETE" ] && exec {sys.executable} -m ioassay "$@"
printf "[%s]" "$@"; echo END
"""
"""An `ioassay` that completes, and otherwise prints the words of its command line."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with an `ioassay` in `bin`, and things to complete."""
    folder = tmp_path_factory.mktemp("shells")
    (folder / "bin").mkdir()
    program = folder / "bin/ioassay"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    (folder / "stored run").mkdir()
    (folder / "mine.yaml").write_text("extends: quick\n")
    return folder


def complete(shell: str, place: Path, line: str) -> str:
    """Types a line with its tabs into an interactive shell, and Enter. Returns the words that `ioassay` got."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    if shell == "fish":
        return _in_fish(place, line)
    environment = os.environ | {
        "PATH": f"{place}/bin:{os.environ['PATH']}",
        "TERM": "dumb",
        "PS1": "",
        "HOME": str(place),
    }
    master, slave = pty.openpty()
    process = subprocess.Popen(
        PREPARE[shell], cwd=place, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    try:
        os.write(master, f"{BEGIN[shell]}; echo RE''ADY\n".encode())
        _read_until(master, r"READY\r")
        os.write(master, f"{line}\n".encode())
        shown = _read_until(master, r"(\[.*\])END")
        return str(re.findall(r"((?:\[[^][]*\])+)END", shown)[-1])
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _in_fish(place: Path, line: str) -> str:
    """The words of a line after its tabs, of which each has one candidate."""
    *parts, last = line.split("\t")
    typed = ""
    for part in parts:
        typed += part
        command = f"source {HERE}/shells/ioassay.fish; complete -C {shlex.quote(typed)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", command],
            cwd=place,
            env=os.environ | {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place)},
            capture_output=True,
            text=True,
            check=True,
        )
        completions = [text.partition("\t")[0] for text in done.stdout.splitlines()]
        assert len(completions) == 1, f"{typed}: {completions} {done.stderr}"
        typed = f"{typed.rpartition(' ')[0]} {shlex.quote(completions[0])}" + (
            "" if completions[0][-1] in "=:/" else " "
        )
    return "".join(f"[{word}]" for word in shlex.split(typed + last)[1:])


def _read_until(terminal: int, pattern: str) -> str:
    shown, deadline = "", time.monotonic() + DEADLINE_S
    while not re.search(pattern, shown):
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 1 << 16).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", [*PREPARE, "fish"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ioassay ru\t isi\t --ta\tx", "[run][isilon-2018][--target][x]"),
        ("ioassay run quick --target lab:x --set tot\t4GiB", "[run][quick][--target][lab:x][--set][total=4GiB]"),
        ("ioassay run min\t --set=tot\t4GiB", "[run][mine.yaml][--set=total=4GiB]"),
        ("ioassay clean sto\t", "[clean][stored run]"),
        ("~/bin/ioassay ru\t isi\t x", "[run][isilon-2018][x]"),  # as from an environment that is not on PATH
    ],
    ids=lambda text: text.strip().replace("\t", "⇥"),
)
def test_a_tab_completes_in_a_shell(shell: str, line: str, words: str, place: Path) -> None:
    assert complete(shell, place, line).replace("/]", "]") == words  # zsh drops the slash again
