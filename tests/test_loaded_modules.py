"""The slow modules that each command may load: it must not import others."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

SLOW = {
    "jinja2",
    "numpy",
    "optuna",
    "pandas",
    "polars",
    "pydantic",
    "pydantic_core",
    "rich",
    "scipy",
    "vl_convert",
    "yaml",
}

DARSHAN = Path(__file__).parents[1] / "python/ioassay/profiles/darshan/testdata/mpi.darshan"

STUDY = """\
name: tiny
title: A tiny study
question: What is loaded?
clients: [1]
ranks_per_client: [1]
steps: [write, read]
workloads:
  whole: {title: A file of its own, layout: N-N, order: sequential, transfer: 1MiB, total: 1MiB}
"""

LOADED = {
    "run --help": "",
    "studies": "",
    "list runs": "",
    "run study.yaml --target target --dry-run": "pydantic_core rich yaml",
    "run study.yaml --target target --out runs/c": "jinja2 polars pydantic_core rich yaml",
    "compare runs/a runs/b": "polars rich yaml",
    "check runs/a --baseline runs/b": "polars rich yaml",
    "report runs/a -o report.html": "jinja2 polars",
    "profile mpi.darshan": "numpy polars rich",
}
"""By command what it loads of `SLOW`."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a study, a target, two runs and a Darshan log."""
    directory = tmp_path_factory.mktemp("loaded")
    shutil.copy(DARSHAN, directory)
    (directory / "study.yaml").write_text(STUDY)
    (directory / "target").mkdir()
    (directory / "runs").mkdir()
    for name in ("a", "b"):
        store(RunBuilder().workload("w").clients(1).build(), directory / "runs" / name)
    return directory


@pytest.mark.parametrize("command", LOADED)
def test_a_command_loads_no_more_than_it_needs(command: str, place: Path) -> None:
    if command.startswith("profile") and importlib.util.find_spec("darshan") is None:
        pytest.skip("PyDarshan is not installed")
    code = (
        "import sys\nfrom ioassay.__main__ import main\n"
        "try: main()\nfinally: print(*sys.modules, file=open('modules', 'w'))"
    )
    result = subprocess.run([sys.executable, "-c", code, *command.split()], cwd=place, check=False, capture_output=True)
    assert result.returncode in (0, 1), result.stderr  # 1: a check that fails
    loaded = {module.partition(".")[0] for module in (place / "modules").read_text().split()}
    assert sorted(loaded & SLOW) == LOADED[command].split()


def test_every_module_can_be_imported() -> None:
    """Names that are imported for types alone are not there, which no type checker says."""
    code = (
        "import importlib, pkgutil, ioassay\n"
        "for module in pkgutil.walk_packages(ioassay.__path__, 'ioassay.'):\n"
        "    last = module.name.rpartition('.')[2]\n"
        "    if '.testing' not in module.name and not last.startswith(('test_', '__main__', 'conftest')):\n"
        "        importlib.import_module(module.name)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
