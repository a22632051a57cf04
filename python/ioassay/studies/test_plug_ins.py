"""Studies with plug-ins: found by their names or paths by the real engine, and refused where they are not there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ioassay.errors import UsageError
from ioassay.plans import text as plan_text
from ioassay.processes import engine
from ioassay.protocol.facts import STORAGE_APIS
from ioassay.protocol.plan import Storage
from ioassay.studies import plug_ins
from ioassay.studies.cases import expand
from ioassay.studies.refusals import refuse
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source

STUDY = """\
name: s
title: S
question: Q?
clients: [1]
storage: {storage}
workloads:
  w:
    title: W
    layout: N-N
    order: sequential
    transfer: 64KiB
    total: 1MiB
    steps: [write]
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def storage_of(written: str) -> Storage:
    resolved = resolve(parse_source(STUDY.replace("{storage}", written), "my.yaml", "study"), None, [])
    ((_, plan, _),) = expand(resolved, "r1", Target("directory", "/t"), "local")
    return plan["storage"]


@pytest.fixture
def skeleton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The skeleton, built into a cache of the test's own."""
    monkeypatch.setenv("IOASSAY_CACHE", str(tmp_path / "cache"))
    command = [str(engine.find_engine()), "api", "build", "skeleton-plugin"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def test_the_engines_own_names_are_known_here() -> None:
    assert tuple(plug_ins.listing()["own"]) == STORAGE_APIS


def test_a_plug_in_is_found_by_its_name_and_its_options_become_texts(skeleton: Path) -> None:
    storage = storage_of("{api: skeleton-plugin, options: {most: 4k, hints: {cb_nodes: 4}}}")
    options = {"most": "4k", "hints.cb_nodes": "4"}
    assert storage == {"api": "skeleton-plugin", "plugin": str(skeleton), "options": options}
    assert plan_text.storage(storage) == "skeleton-plugin storage API, hints.cb_nodes 4, most 4k"


def test_a_library_is_found_by_its_path_also_a_relative_one(skeleton: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert storage_of(str(skeleton)) == {"api": "skeleton-plugin", "plugin": str(skeleton)}
    monkeypatch.chdir(skeleton.parent)
    assert storage_of(f"{{api: ./{skeleton.name}}}") == {"api": "skeleton-plugin", "plugin": str(skeleton)}


def test_plug_ins_that_are_not_built_or_unusable_are_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOASSAY_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UsageError) as caught:
        storage_of("null-plugin")
    assert caught.value.remedy == "ioassay api build null-plugin"
    (tmp_path / "bad.so").write_text("no library")
    with pytest.raises(UsageError, match="cannot be loaded"):
        storage_of(str(tmp_path / "bad.so"))
    # The engine names those that there are, and the way to a plug-in is called as studies call it.
    with pytest.raises(SourceError, match=r"my\.yaml:5: .*or name a plug-in with `api` \(ioassay api list\)"):
        refuse(resolve(parse_source(STUDY.replace("{storage}", "nonsense"), "my.yaml", "study"), None, []))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{options: yes}", "is not a set of keys"),
        ("{options: {hints: [1, 2]}}", "is not a single value"),
        ("{api: not a name}", "is not a storage API"),
    ],
)
def test_impossible_options_of_plug_ins_are_refused_with_their_line(written: str, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        storage_of(written)
    assert "my.yaml:5" in str(caught.value)
