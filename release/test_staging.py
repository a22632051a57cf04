from __future__ import annotations

import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
import staging
from build_hook import PROGRAMS

WHEEL = "ioassay-0.1.0-py3-none-manylinux_2_28_x86_64.whl"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    file = tmp_path / WHEEL
    with ZipFile(file, "w") as archive:
        for name in PROGRAMS:
            archive.writestr(f"ioassay-0.1.0.data/scripts/{name}", "#!/bin/sh\necho started\n")
    return file


def test_the_name_of_a_wheel_promises_processor_and_glibc(wheel: Path) -> None:
    assert staging.named(wheel) == {"major": "2", "minor": "28", "processor": "x86_64"}
    with pytest.raises(ValueError, match="is no wheel that `make wheels` builds"):
        staging.named(Path("ioassay-0.1.0-py3-none-any.whl"))


def test_programs_can_be_started_and_what_units_and_scripts_start_is_there(wheel: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    staging.stage_engine(wheel, "licences", root)
    for name in PROGRAMS:
        assert subprocess.run([root / "usr/bin" / name], capture_output=True, check=True).stdout == b"started\n"
    unit = (root / "usr/lib/systemd/system/ioassay-agent.service").read_text()
    (started,) = [line.partition("=")[2].split()[0] for line in unit.splitlines() if line.startswith("ExecStart=")]
    assert (root / started.lstrip("/")).is_file()
    assert "/usr/bin/ioassay-agent" in (root / "usr/share/ioassay/slurm-prolog.sh").read_text()


@pytest.mark.parametrize("kind", staging.ZSH)
def test_a_package_has_its_licence_where_packages_of_its_kind_have_it(kind: str, tmp_path: Path) -> None:
    staging.stage_documents(tmp_path, kind, "ioassay", "Someone <s@example.org>", "1.2.3")
    licence = {"deb": "usr/share/doc/ioassay/copyright", "rpm": "usr/share/licenses/ioassay/LICENSE"}[kind]
    assert "Apache" in (tmp_path / licence).read_text()
