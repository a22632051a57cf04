"""Missing requirements are listed, and installed without starting services. The package manager is a stand-in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.lab import install as module
from ioassay.lab import requirements
from ioassay.lab.install import install, refuse_incomplete
from ioassay.lab.library import LABS, read

GLUSTER = read(LABS.find("gluster")).requirements()

APT_GET = """\
#!/bin/sh
echo "$@" >> "{place}/asked"
[ "$1" = update ] && exit 0
cp "{place}/policy-rc.d" "{place}/policy-then"
echo glusterfs-server >> "{place}/installed"
exit {code}
"""
DPKG_QUERY = '#!/bin/sh\ncat "{place}/installed"\n'
DPKG = "#!/bin/sh\necho /lib/systemd/system/glusterd.service; echo /usr/sbin/glusterd\n"
SYSTEMCTL = '#!/bin/sh\necho "$@" > "{place}/systemctl"\n'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with systemd that has no GlusterFS. `tools` writes its programs."""
    (tmp_path / "systemd").mkdir()
    (tmp_path / "installed").write_text("base-files\n")
    monkeypatch.setattr(requirements, "search_path", lambda: str(tmp_path / "nothing"))
    monkeypatch.setattr(module, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(module, "_SYSTEMD", tmp_path / "systemd")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    tools(tmp_path)
    return tmp_path


def tools(place: Path, code: int = 0) -> None:
    for name, script in {"apt-get": APT_GET, "dpkg-query": DPKG_QUERY, "dpkg": DPKG, "systemctl": SYSTEMCTL}.items():
        (place / name).write_text(script.replace("{place}", str(place)).replace("{code}", str(code)))
        (place / name).chmod(0o755)


def test_a_missing_command_is_named_with_its_package_and_two_ways_to_install_it(machine: Path) -> None:
    with pytest.raises(CannotRun) as refused:
        refuse_incomplete("The lab gluster", GLUSTER, "ioassay lab up gluster --install")
    assert "\n  glusterd (Debian package glusterfs-server)\n" in refused.value.message
    assert "apt-get install --yes --no-install-recommends glusterfs-cli glusterfs-client" in refused.value.remedy
    assert "ioassay lab up gluster --install" in refused.value.remedy
    assert not (machine / "asked").exists()


def test_packages_start_no_services_now_or_at_the_next_boot(machine: Path) -> None:
    install(GLUSTER)
    assert "glusterfs-server" in (machine / "asked").read_text()
    assert "exit 101" in (machine / "policy-then").read_text()
    assert not (machine / "policy-rc.d").exists()
    assert (machine / "systemctl").read_text() == "disable --quiet glusterd.service\n"


def test_an_existing_policy_is_kept(machine: Path) -> None:
    (machine / "policy-rc.d").write_text("theirs")
    install(GLUSTER)
    assert (machine / "policy-rc.d").read_text() == "theirs"


def test_a_failed_installation_is_reported_with_the_output_of_the_package_manager(machine: Path) -> None:
    tools(machine, code=100)
    with pytest.raises(CannotRun, match="apt-get could not install"):
        install(GLUSTER)
    assert not (machine / "policy-rc.d").exists()


def test_a_complete_machine_is_not_changed(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.Command, "missing", False)
    refuse_incomplete("The lab gluster", GLUSTER, "")
    install(GLUSTER)
    assert not (machine / "asked").exists()
