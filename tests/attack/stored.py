"""Stored directories of others, damaged: runs, imports, what front ends left. Reading them executes nothing, and writes
nothing outside.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ioassay.processes.engine import find_engine
from ioassay.studies.conftest import SMALL
from ioassay.testing.damage import damaged_copy
from ioassay.testing.importer_samples import FILES

from . import foreign
from .attempt import Command, do_apart
from .family import Family, of_commands

KINDS = ("measured", "killed", "front-end", "imported")
_NOBODY = 65534
_shared = Path()


def prepare(shared: Path) -> None:
    """Makes a directory of each kind, once."""
    global _shared  # noqa: PLW0603
    _shared = shared
    if (shared / "ready").exists():
        return
    target = shared / "target"
    target.mkdir()
    (shared / "small.yaml").write_text(SMALL)
    criteria = "criteria:\n  - name: writes\n    operation: write\n    every_point: 1MB/s\n"
    (shared / "criteria.yaml").write_text(criteria)
    ioassay = [sys.executable, "-m", "ioassay"]
    _run(*ioassay, "run", shared / "small.yaml", "--target", target, "--out", shared / "measured")
    _run(*ioassay, "import", "ior", FILES / "ior", "--out", shared / "imported", codes=(0, 1))
    ior = ["ior", "-o", target / "file", "-b", "64k", "-t", "16k", "--run", shared / "front-end"]
    _run(find_engine(), *ior)
    shutil.copytree(shared / "measured", shared / "killed")
    run = shared / "killed/run.json"
    document = json.loads(run.read_bytes())
    document["state"], document["ended"], document["cases"][-1]["state"] = "running", None, "running"
    run.write_text(json.dumps(document))
    (shared / "ready").touch()


def _run(*command: str | Path, codes: Sequence[int] = (0,)) -> None:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode not in codes:
        raise RuntimeError(f"{command}: {result.stderr}")


def one_of(random: Random, kinds: Sequence[str] = KINDS) -> Path:
    """An undamaged directory."""
    return _shared / random.choice(kinds)


def _stored(random: Random, place: Path) -> list[Command]:
    original = one_of(random)
    run = place / "run"
    dice = Random(random.random())
    do_apart(lambda: damaged_copy(original, run, dice))
    if random.random() < 0.2:
        trap = run / random.choice((".report.html.new", "lock", "report.html", ".run.json.new", "summary.html"))
        trap.unlink(missing_ok=True)
        trap.symlink_to(place / foreign.BESIDE / "words")
    if random.random() < 0.5:
        for path in (run, *run.rglob("*")):
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
    other = str(_shared / "measured")
    publish = ["publish", "run", "-o", "published"]
    arguments = random.choice(
        (
            publish if random.random() < 0.3 else ["report", "run"],  # takes seconds
            ["report", "run", "-o", "report.html"],
            ["report", "run", "--summary"],
            *(["report", "run", "--format", form] for form in ("md", "csv", "json", "md", "json")),
            ["check", "run", "--criteria", str(_shared / "criteria.yaml")],
            ["check", "run", "--baseline", other],
            ["compare", "run", other, "--format", random.choice(("md", "json"))],
            ["trend", "run", other],
            ["systems", "--from", "run"],
            ["clean", "run"],
            ["list", "."],
        )
    )
    return [Command(arguments)]


FAMILY = Family("stored", "Damaged run directories, half of them another user's", of_commands(_stored), prepare=prepare)
