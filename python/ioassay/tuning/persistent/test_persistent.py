"""Files that make settings last."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from ioassay.errors import CannotRun
from ioassay.testing.tuned_machine import lustre_programs, made_up_machine, write_tree
from ioassay.tuning.apply import apply
from ioassay.tuning.change_plan import plan_changes
from ioassay.tuning.journal import Journal, journals
from ioassay.tuning.persistent import PersistentFile, PersistentForm, write_file
from ioassay.tuning.persistent.forms import persistent_form
from ioassay.tuning.persistent.udev import device_match
from ioassay.tuning.persistent.unit import unit_name
from ioassay.tuning.rollback import PutBack, roll_back
from ioassay.tuning.settings import parse_assignment

ID = "20260102T030405Z-abcd"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return made_up_machine(tmp_path / "root", "sda", "loop3")


def form(root: Path, *texts: str) -> PersistentForm:
    plan = plan_changes(map(parse_assignment, texts), root=root, is_persistent=True)
    return persistent_form(plan, root, ID)


def text(root: Path, persistent: PersistentForm) -> tuple[str, str]:
    """The path and the lines of the only file, without its first line."""
    (file,) = persistent.files
    first, _, rest = file.text.partition("\n")
    assert first == f"# Written by ioassay. Remove: ioassay tune rollback {ID}"
    return str(file.path.relative_to(root)), rest


def test_a_block_device_gets_a_rule_that_goes_by_its_serial_number(root: Path) -> None:
    write_tree(
        root,
        {"sys/block/sda/dev": "8:0", "run/udev/data/b8:0": "S:disk/by-id/x\nE:ID_SERIAL=36*0a\nE:ID_PATH=pci-0000"},
    )
    persistent = form(root, "block:sda/nr_requests=64", "block:sda/scheduler=kyber")
    path, lines = text(root, persistent)
    assert path == f"etc/udev/rules.d/90-ioassay-tuning-{ID}.rules"
    assert lines == (
        "# sda\n"
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="sd[a-z]*", '
        'ENV{ID_SERIAL}=="36[*]0a", ATTR{queue/scheduler}="kyber", ATTR{queue/nr_requests}="64"\n'
    )
    assert persistent.notes == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"run/udev/data/b8:0": "E:ID_PATH=pci-1"}, 'KERNEL=="sd[a-z]*", ENV{ID_PATH}=="pci-1"'),
        ({"run/udev/data/b8:0": "E:MD_UUID=a:b"}, 'ENV{MD_UUID}=="a:b"'),
        ({"sys/block/sda/dm/uuid": "LVM-abc"}, 'ENV{DM_UUID}=="LVM-abc"'),
        ({}, 'KERNEL=="sda"'),
    ],
)
def test_a_device_is_named_by_what_does_not_change(root: Path, files: dict[str, str], expected: str) -> None:
    write_tree(root, {"sys/block/sda/dev": "8:0"} | files)
    match, note = device_match("sda", root)
    assert match == expected
    assert bool(note) == (not files)


def test_a_device_without_a_serial_number_is_named_with_a_note(root: Path) -> None:
    persistent = form(root, "block:loop3/nr_requests=64")
    assert 'KERNEL=="loop3"' in text(root, persistent)[1]
    assert persistent.notes == [
        "loop3 has no serial number known to udev: the rule goes by its name, which may name another device later"
    ]


def test_max_sectors_kb_below_dm_multipath_goes_into_multipath_conf(root: Path) -> None:
    write_tree(root, {"sys/block/sda/holders/dm-0/dm/uuid": "mpath-360a"})
    persistent = form(root, "block:sda/max_sectors_kb=512")
    path, lines = text(root, persistent)
    assert path == f"etc/multipath/conf.d/ioassay-tuning-{ID}.conf"
    assert lines == ('multipaths {\n    multipath {\n        wwid "360a"\n        max_sectors_kb 512\n    }\n}\n')
    assert "do that while nothing uses it" in persistent.notes[0]


def test_sysctls_go_into_sysctl_d(root: Path) -> None:
    write_tree(root, {"proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1"})
    path, lines = text(root, form(root, "sysctl:vm.swappiness=1", "sysctl:net/ipv4/conf/eth0.100/rp_filter=0"))
    assert path == f"etc/sysctl.d/99-ioassay-tuning-{ID}.conf"
    assert lines == "vm.swappiness = 1\nnet/ipv4/conf/eth0.100/rp_filter = 0\n"


def test_other_files_of_sys_go_into_tmpfiles_d(root: Path) -> None:
    path, lines = text(root, form(root, "sys:kernel/mm/transparent_hugepage/enabled=never"))
    assert path == f"etc/tmpfiles.d/ioassay-tuning-{ID}.conf"
    assert lines == "w /sys/kernel/mm/transparent_hugepage/enabled - - - - never\n"


def test_a_module_parameter_goes_into_modprobe_d(root: Path) -> None:
    write_tree(root, {"sys/module/mpt3sas/parameters/max_sgl_entries": "128"})
    (root / "sys/module/mpt3sas/parameters/max_sgl_entries").chmod(0o444)
    persistent = form(root, "module:mpt3sas/max_sgl_entries=256")
    assert text(root, persistent) == (
        f"etc/modprobe.d/ioassay-tuning-{ID}.conf",
        "options mpt3sas max_sgl_entries=256\n",
    )
    assert "initramfs" in persistent.notes[0]
    write_tree(root, {"lib/modules/6.1/modules.builtin": "kernel/drivers/scsi/mpt3sas/mpt3sas.ko"})
    assert form(root, "module:mpt3sas/max_sgl_entries=256").notes == [
        "mpt3sas is built into the kernel: put mpt3sas.max_sgl_entries=256 on the kernel command line"
    ]


def test_lustres_parameters_go_into_a_script_for_the_mgs_as_they_were_typed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{lustre_programs(tmp_path / 'bin')}:/usr/bin:/bin")
    monkeypatch.setenv("LUSTRE_TREE", str(tmp_path / "tree"))
    write_tree(tmp_path / "tree", {f"osc.s-OST000{n}-osc-ff.max_dirty_mb": "32" for n in range(2)})
    (file,) = form(root, "lctl:osc.*.max_dirty_mb=512").files
    assert file.mode == 0o755
    assert file.text.startswith("#!/bin/sh\n# Written by ioassay.")
    assert file.text.endswith("\nlctl set_param -P 'osc.*.max_dirty_mb=512'\n")


NAS = "nas:/export /mnt/nas nfs4 rw,relatime,vers=4.2,rsize=1048576 0 0"


def test_a_mount_of_fstab_gets_a_drop_in_with_its_options(root: Path) -> None:
    write_tree(root, {"proc/self/mounts": NAS, "etc/fstab": "# x\nnas:/export /mnt/nas nfs4 defaults,hard,_netdev 0 0"})
    persistent = form(root, "mount:/mnt/nas/rsize=65536", "mount:/mnt/nas/nconnect=8")
    assert text(root, persistent) == (
        f"etc/systemd/system/mnt-nas.mount.d/90-ioassay-tuning-{ID}.conf",
        "[Mount]\nOptions=hard,_netdev,rsize=65536,nconnect=8\n",
    )


def test_a_mount_that_nothing_configures_gets_a_unit_and_a_note(root: Path) -> None:
    write_tree(root, {"proc/self/mounts": NAS})
    persistent = form(root, "mount:/mnt/nas/rsize=65536")
    path, lines = text(root, persistent)
    assert path == "etc/systemd/system/mnt-nas.mount"
    assert "What=nas:/export\nWhere=/mnt/nas\nType=nfs4\nOptions=rw,relatime,vers=4.2,rsize=65536\n" in lines
    assert "WantedBy=remote-fs.target" in lines
    assert persistent.notes == [
        "/mnt/nas is neither in fstab nor a unit: if a script mounts it, change the script instead"
    ]


def test_the_root_file_system_is_left_to_fstab(root: Path) -> None:
    write_tree(root, {"proc/self/mounts": "/dev/sda1 / ext4 rw,relatime 0 0"})
    persistent = form(root, "mount:/noatime=present")
    assert (persistent.files, persistent.lasting) == ([], {})
    assert "/etc/fstab" in persistent.notes[0]


@pytest.mark.parametrize("point", ["/", "/mnt/scratch", "/mnt/a-b/c d", "/.hidden", "/mnt/ümlaut", "//mnt//x/"])
def test_a_unit_is_named_as_systemd_names_it(point: str) -> None:
    program = shutil.which("systemd-escape")
    if program is None:
        pytest.skip("no systemd-escape")
    escaped = subprocess.run([program, "--path", "--suffix=mount", point], capture_output=True, text=True, check=True)
    assert unit_name(point) == escaped.stdout.strip()


def put_back(place: Path, root: Path) -> list[PutBack]:
    (path,) = journals(place)
    with Journal.reopen(path, root) as journal:
        return roll_back(journal, root)


def applied_with_file(root: Path, place: Path) -> PersistentFile:
    plan = plan_changes([parse_assignment("sysctl:vm.swappiness=1")], root=root, is_persistent=True)
    persistent = persistent_form(plan, root / "system", ID)
    apply(plan, place, persistent.files, journal_id=ID).close()
    (file,) = persistent.files
    assert file.path.read_text() == file.text
    return file


def test_a_rollback_removes_the_files_and_the_directories_that_were_made_for_them(root: Path, tmp_path: Path) -> None:
    file = applied_with_file(root, tmp_path / "journals")
    assert [result.outcome for result in put_back(tmp_path / "journals", root)] == ["restored", "removed"]
    assert not (root / "system").exists()
    assert not file.path.exists()


def test_a_file_that_was_changed_since_is_left_alone(root: Path, tmp_path: Path) -> None:
    file = applied_with_file(root, tmp_path / "journals")
    file.path.write_text("vm.swappiness = 2\n")
    assert put_back(tmp_path / "journals", root)[1] == PutBack(str(file.path), "left alone", why="it was changed since")
    assert file.path.exists()


def test_kill_9_while_a_file_is_written_leaves_none_that_a_rollback_would_take_for_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = PersistentFile(tmp_path / "90-x.rules", "KERNEL==...\n")
    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(os, "fsync", lambda descriptor: os.kill(os.getpid(), signal.SIGKILL))
            write_file(file)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not file.path.exists()
    write_file(file)
    assert file.path.read_text() == file.text


def test_a_file_of_others_is_never_written_over_and_the_settings_go_back(root: Path, tmp_path: Path) -> None:
    plan = plan_changes([parse_assignment("sysctl:vm.swappiness=1")], root=root, is_persistent=True)
    persistent = persistent_form(plan, root, ID)
    write_tree(persistent.files[0].path.parent, {persistent.files[0].path.name: "theirs"})
    with pytest.raises(CannotRun, match="exists already") as refused:
        apply(plan, tmp_path / "journals", persistent.files, journal_id=ID)
    assert persistent.files[0].path.read_text() == "theirs\n"
    assert (root / "proc/sys/vm/swappiness").read_text() == "60\n"
    assert "All settings are as before." in refused.value.remedy
