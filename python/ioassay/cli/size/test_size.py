"""`ioassay size` as it is typed: what it prints where, what it writes, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_what_is_found_is_one_json_document_and_is_saved_for_explain(tmp_path: Path) -> None:
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
