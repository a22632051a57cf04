"""Profiles of TuneD: their text, activating them, and the way back. `tuned-adm` is artificial but in the last test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.testing.tuned_machine import (
    loop_device,
    made_up_machine,
    queue,
    sysctls_kept,
    tuned_programs,
    with_tuned,
    write_tree,
)
from ioassay.tuning.apply import apply
from ioassay.tuning.change_plan import ChangePlan, plan_changes
from ioassay.tuning.conflicts import set_back_by_tuned
from ioassay.tuning.journal import Journal, journals, read
from ioassay.tuning.persistent import PersistentForm
from ioassay.tuning.persistent.forms import persistent_form
from ioassay.tuning.rollback import PutBack, roll_back
from ioassay.tuning.settings import parse_assignment

ID = "20260102T030405Z-abcd"
NAME = f"ioassay-tuning-{ID}"
SITE = """[main]
include=

[sysctl]
type=sysctl
vm.swappiness=10
vm.dirty_ratio=40

[disk-sas]
type=disk
devices=sd*
elevator=mq-deadline
readahead=>4096
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = with_tuned(made_up_machine(tmp_path / "root", "sda", "sdb"), "site", SITE)
    write_tree(root, {"proc/sys/vm/dirty_ratio": "40", "proc/sys/vm/dirty_bytes": "0", "proc/sys/vm/swappiness": "10"})
    monkeypatch.setenv("PATH", f"{tuned_programs(tmp_path / 'bin')}:/usr/bin:/bin")
    monkeypatch.setenv("TUNED_ROOT", str(root))
    return root


def plan(root: Path, *texts: str) -> ChangePlan:
    return plan_changes(map(parse_assignment, texts), root=root, is_persistent=True)


def form(root: Path, *texts: str) -> PersistentForm:
    return persistent_form(plan(root, *texts), root, ID)


def text(root: Path, *texts: str) -> str:
    """The profile without its comment, and no other file."""
    (file,) = form(root, *texts).files
    assert file.path == root / f"etc/tuned/{NAME}/tuned.conf"
    return file.text.partition("\n\n")[2]


def test_settings_of_the_active_profile_change_in_their_section_with_its_type(root: Path) -> None:
    assert text(root, "sysctl:vm.swappiness=1") == "[sysctl]\ntype=sysctl\nvm.swappiness=1\n"


def test_the_profile_includes_the_active_one(root: Path) -> None:
    persistent = form(root, "sysctl:vm.swappiness=1")
    assert persistent.profile == NAME
    assert persistent.files[0].text.startswith(f"# Written by ioassay. Remove: ioassay tune rollback {ID}\n[main]\n")
    assert "\ninclude=site\n" in persistent.files[0].text


def test_a_disk_is_taken_out_of_its_section_and_keeps_its_other_options(root: Path) -> None:
    assert text(root, "block:sda/read_ahead_kb=512", "block:sda/nr_requests=64") == textwrap.dedent("""\
        [disk-sas]
        type=disk
        devices=sd*,!sda

        [ioassay-sda]
        type=disk
        devices=sda
        elevator=mq-deadline
        readahead=512

        [ioassay-sysfs]
        type=sysfs
        /sys/block/sda/queue/nr_requests=64
        """)


def test_the_setting_of_the_active_profile_is_dropped_where_it_excludes_ours(root: Path) -> None:
    assert text(root, "sysctl:vm.dirty_bytes=1000000") == textwrap.dedent("""\
        [sysctl]
        type=sysctl
        drop=vm.dirty_ratio

        [ioassay-sysctl]
        type=sysctl
        vm.dirty_bytes=1000000
        """)


def test_other_files_of_sys_are_set_last(root: Path) -> None:
    assert text(root, "sys:kernel/mm/transparent_hugepage/enabled=never") == (
        "[ioassay-sysfs]\ntype=sysfs\n/sys/kernel/mm/transparent_hugepage/enabled=never\n"
    )


def test_settings_that_no_profile_takes_stay_in_their_file(root: Path) -> None:
    write_tree(root, {"proc/sys/net/ipv4/conf/eth0.100/rp_filter": "1"})
    persistent = form(root, "sysctl:net/ipv4/conf/eth0.100/rp_filter=0")
    assert [str(file.path.relative_to(root)) for file in persistent.files] == [f"etc/sysctl.d/99-{NAME}.conf"]
    assert persistent.profile == ""


def test_another_profile_and_settings_on_top_of_it_are_not_persisted_at_once(root: Path) -> None:
    write_tree(root, {"etc/tuned/other/tuned.conf": "[main]"})
    with pytest.raises(UsageError, match="on top of the one that is active now"):
        form(root, "tuned:profile=other", "sysctl:vm.swappiness=1")
    assert form(root, "tuned:profile=other").files == []


def test_no_profile_is_written_where_tuned_does_not_run(root: Path) -> None:
    (root / "run/tuned/tuned.pid").unlink()
    (file,) = form(root, "sysctl:vm.swappiness=1").files
    assert file.path.parent.name == "sysctl.d"


def test_files_and_a_note_replace_a_profile_of_tuned_that_is_not_fully_known(root: Path) -> None:
    write_tree(root, {"etc/tuned/site/tuned.conf": "[main]\ninclude=nowhere"})
    persistent = form(root, "sysctl:vm.swappiness=1")
    assert persistent.files[0].path.parent.name == "sysctl.d"
    assert "its profile is not known whole (there is no profile nowhere)" in persistent.notes[0]


def test_the_profile_is_only_written_below_another_directory(root: Path, tmp_path: Path) -> None:
    persistent = persistent_form(plan(root, "sysctl:vm.swappiness=1"), tmp_path / "look", ID)
    assert persistent.profile == ""
    assert persistent.files[0].activation == f"tuned-adm profile {NAME}"


def applied(root: Path, place: Path, *texts: str, journal: str = ID) -> None:
    changes = plan(root, *texts)
    form = persistent_form(changes, root, journal)
    apply(changes, place, form.files, journal_id=journal, profile=form.profile).close()


def put_back(place: Path, root: Path, journal: str = ID) -> dict[str, PutBack]:
    (path,) = (candidate for candidate in journals(place) if journal in candidate.name)
    with Journal.reopen(path, root) as reopened:
        return {result.name: result for result in roll_back(reopened, root)}


def is_closed(place: Path) -> bool:
    (path,) = journals(place)
    return read(path)[0].is_closed


def active(root: Path) -> str:
    return (root / "etc/tuned/active_profile").read_text().strip()


def swappiness(root: Path) -> str:
    return (root / "proc/sys/vm/swappiness").read_text().strip()


def test_the_profile_is_activated_and_a_rollback_returns_to_the_one_of_before(root: Path, tmp_path: Path) -> None:
    applied(root, tmp_path / "j", "sysctl:vm.swappiness=1")
    assert (active(root), swappiness(root)) == (NAME, "1")
    done = put_back(tmp_path / "j", root)
    assert (active(root), swappiness(root)) == ("site", "10")
    assert (done["tuned:profile"].outcome, done["sysctl:vm.swappiness"].outcome) == ("restored", "restored")
    assert not (root / f"etc/tuned/{NAME}").exists()
    assert is_closed(tmp_path / "j")


def test_all_settings_are_restored_where_tuned_sets_another_value(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(root, {"etc/sysctl.d/50-site.conf": "vm.swappiness = 5"})
    monkeypatch.setenv("TUNED_HOOK", f"echo 5 > {root}/proc/sys/vm/swappiness")
    with pytest.raises(CannotRun) as refused:
        applied(root, tmp_path / "j", "sysctl:vm.swappiness=1")
    assert "asked 1, it is 5 once TuneD has applied its profile: /etc/sysctl.d/50-site.conf:1" in refused.value.message
    assert "left alone" not in refused.value.remedy
    assert (active(root), swappiness(root)) == ("site", "10")
    assert not (root / f"etc/tuned/{NAME}").exists()


def test_settings_go_back_before_the_profile_whose_values_of_before_tuned_reads_then(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied(root, tmp_path / "j", "sysctl:vm.swappiness=1")
    monkeypatch.setenv("TUNED_HOOK", f"cp {root}/proc/sys/vm/swappiness {tmp_path}/found")
    put_back(tmp_path / "j", root)
    assert (tmp_path / "found").read_text() == "10\n"


def test_a_profile_that_another_one_includes_is_not_removed(root: Path, tmp_path: Path) -> None:
    applied(root, tmp_path / "j", "sysctl:vm.swappiness=1")
    later = ID.replace("abcd", "beef")
    applied(root, tmp_path / "j", "sysctl:vm.vfs_cache_pressure=50", journal=later)
    done = put_back(tmp_path / "j", root)
    file = root / f"etc/tuned/{NAME}/tuned.conf"
    assert (done[str(file)].outcome, done[str(file)].why) == ("failed", "TuneD's active profile uses it")
    assert "is built on this one: put that back first" in done["tuned:profile"].why
    assert file.exists()
    put_back(tmp_path / "j", root, later)
    assert active(root) == NAME
    assert put_back(tmp_path / "j", root)[str(file)].outcome == "removed"
    assert not file.exists()


def test_an_automatic_profile_is_automatic_again(root: Path, tmp_path: Path) -> None:
    write_tree(
        root,
        {"etc/tuned/active_profile": "balanced", "etc/tuned/profile_mode": "auto", "etc/tuned/balanced/tuned.conf": ""},
    )
    applied(root, tmp_path / "j", "sysctl:vm.swappiness=1")
    put_back(tmp_path / "j", root)
    assert active(root) == "balanced"
    assert (root / "etc/tuned/profile_mode").read_text() == "auto\n"


def test_a_profile_can_be_set_like_any_setting_and_must_exist(root: Path, tmp_path: Path) -> None:
    write_tree(root, {"etc/tuned/other/tuned.conf": "[main]"})
    apply(plan(root, "tuned:profile=other"), tmp_path / "j").close()
    assert active(root) == "other"
    with pytest.raises(UsageError, match="did you mean `other`"):
        plan(root, "tuned:profile=othr")


def test_settings_that_tuned_sets_back_are_named_with_their_line(root: Path) -> None:
    changes = plan(root, "sysctl:vm.swappiness=1", "block:sda/read_ahead_kb=8192", "sysctl:vm.vfs_cache_pressure=50")
    assert list(set_back_by_tuned(changes)) == [
        "sysctl:vm.swappiness: TuneD's profile site (/etc/tuned/site/tuned.conf:6) sets it to 10, again when TuneD "
        "restarts: change it there, or in a profile of your own that includes it"
    ]
    assert list(set_back_by_tuned(changes, NAME)) == []


_KILLED = """
import os, signal, sys
from pathlib import Path
from ioassay.tuning.apply import apply
from ioassay.tuning.change_plan import plan_changes
from ioassay.tuning.journal import Journal, journals
from ioassay.tuning.persistent.forms import persistent_form
from ioassay.tuning.rollback import roll_back
from ioassay.tuning.settings import parse_assignment

what, root, place, line, journal = sys.argv[1:]
write, count = Journal.write, 0

def dying(self, *records):
    global count
    count += 1
    if count == int(line):
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, *records)
    if count == -int(line):
        os.kill(os.getpid(), signal.SIGKILL)

Journal.write = dying
root = Path(root)
if what == "apply":
    texts = ("sysctl:vm.swappiness=1", "block:sda/nr_requests=64")
    plan = plan_changes(map(parse_assignment, texts), root=root, is_persistent=True)
    form = persistent_form(plan, root, journal)
    apply(plan, Path(place), form.files, journal_id=journal, profile=form.profile).close()
else:
    (path,) = journals(Path(place))
    with Journal.reopen(path, root) as reopened:
        roll_back(reopened, root)
"""


def killed(what: str, root: Path, place: Path, line: int) -> bool:
    words: list[str | Path] = [sys.executable, "-c", _KILLED, what, root, place, str(line), ID]
    return subprocess.run(words, check=False, timeout=120).returncode == -signal.SIGKILL


@pytest.mark.parametrize("line", [*range(1, 7), *range(-6, 0)])
def test_kill_9_at_any_line_of_the_journal_of_an_apply_leaves_what_a_rollback_puts_back(
    root: Path, tmp_path: Path, line: int
) -> None:
    """Positive: before a line is on the disk, after the step before it; negative: before the step that it announces."""
    assert killed("apply", root, tmp_path / "j", line)
    put_back(tmp_path / "j", root)
    assert (active(root), swappiness(root)) == ("site", "10")
    assert (root / "sys/block/sda/queue/nr_requests").read_text() == "256\n"
    assert not (root / f"etc/tuned/{NAME}").exists()
    assert is_closed(tmp_path / "j")


@pytest.mark.parametrize("line", [1, 2, 3, 4, 5, -1, -2, -3, -4, -5])
def test_kill_9_at_any_line_of_the_journal_of_a_rollback_is_repaired_by_the_next_one(
    root: Path, tmp_path: Path, line: int
) -> None:
    applied(root, tmp_path / "j", "sysctl:vm.swappiness=1", "block:sda/nr_requests=64")
    assert killed("rollback", root, tmp_path / "j", line)
    if not is_closed(tmp_path / "j"):
        put_back(tmp_path / "j", root)
    assert (active(root), swappiness(root)) == ("site", "10")
    assert not (root / f"etc/tuned/{NAME}").exists()
    assert is_closed(tmp_path / "j")


_BUS = """<busconfig><type>system</type><listen>unix:path={place}/bus</listen><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
<allow send_type="signal"/><allow receive_type="signal"/></policy></busconfig>"""

_REAL = """
set -e
mkdir {place}/etc {place}/run {place}/sysctl.d
cp -a /etc/tuned/. {place}/etc/
mkdir -p /run/tuned
mount --bind {place}/etc /etc/tuned
mount --bind {place}/run /run/tuned
mount --bind {place}/sysctl.d /etc/sysctl.d
mkdir /etc/tuned/site
printf '[sysctl]\\nvm.vfs_cache_pressure=120\\n[disk]\\ndevices={device}\\nreadahead=>4096\\n' > {place}/site
mv {place}/site /etc/tuned/site/tuned.conf
echo site > /etc/tuned/active_profile
echo manual > /etc/tuned/profile_mode
export DBUS_SYSTEM_BUS_ADDRESS=unix:path={place}/bus
dbus-daemon --config-file={place}/bus.conf --nofork --nopidfile & bus=$!
start() {{
    /usr/sbin/tuned --no-socket -P > {place}/log 2>&1 & tuned=$!
    until tuned-adm active 2> {place}/said | grep -q 'Current active profile' &&
        grep -q 'static tuning from profile' {place}/log; do
        kill -0 $tuned
        sleep 0.2
    done
}}
trap 'kill $tuned $bus || :' EXIT
shown() {{
    echo "shown: $1" $(cat /proc/sys/vm/vfs_cache_pressure /sys/block/{device}/queue/read_ahead_kb \\
        /sys/block/{device}/queue/nomerges) $(sed 's/-.*//' /etc/tuned/active_profile)
}}
start
shown before
{python} -m ioassay tune apply sysctl:vm.vfs_cache_pressure=80 block:{device}/read_ahead_kb=1024 \\
    block:{device}/nomerges=1 --persist / --yes --settle 0 --journal {place}/journal
shown applied
tuned-adm verify
kill $tuned
wait $tuned || :
start
shown restarted
{python} -m ioassay tune rollback --journal {place}/journal
shown after
kill $tuned
wait $tuned || :
shown stopped
"""


@pytest.mark.machine
@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("tuned-adm", "dbus-daemon", "unshare", "losetup"))),
    reason="needs root, TuneD, dbus-daemon, unshare and loop devices",
)
def test_tuned_itself_applies_verifies_and_restarts_with_the_profile_and_goes_back(tmp_path: Path) -> None:
    """In a mount namespace, with a bus of its own; only a loop device of the test and one sysctl are set."""
    place = tmp_path / "tuned"
    place.mkdir()
    (place / "bus.conf").write_text(_BUS.format(place=place))
    with loop_device(tmp_path) as device, sysctls_kept("vm.vfs_cache_pressure"):
        pressure = Path("/proc/sys/vm/vfs_cache_pressure").read_text().strip()
        read_ahead = queue(device, "read_ahead_kb")
        script = _REAL.format(place=place, device=device, python=sys.executable)
        done = subprocess.run(
            ["unshare", "--mount", "bash", "-c", script], capture_output=True, text=True, check=False, timeout=300
        )
    shown = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("shown:")]
    assert shown == [
        ["before", "120", "4096", "0", "site"],
        ["applied", "80", "1024", "1", "ioassay"],
        ["restarted", "80", "1024", "1", "ioassay"],
        ["after", "120", "4096", "0", "site"],
        ["stopped", pressure, read_ahead, "0", "site"],
    ], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
