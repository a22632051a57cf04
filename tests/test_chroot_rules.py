"""Rules with paths for programs that start in another root directory (chroot), and remarks about programs
out of reach.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from .support import until
from .test_agent import Watched, watched
from .test_many_rules import MIB, log_of, states, throttle

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="another root directory needs root")

# Writes to a file until its orders are gone, in the root directory that it is given, or that in which it was started.
WRITER = r"""
#include <fcntl.h>
#include <unistd.h>
static char block[64 << 10];
int main(int count, char **arguments) {
    if (count < 3 || (count == 4 && (chroot(arguments[3]) || chdir("/")))) return 1;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    if (file < 0) return 3;
    while (access(arguments[2], F_OK) == 0)
        if (pwrite(file, block, sizeof block, 0) != sizeof block) return 2;
    return 0;
}
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets tables, and the recorder beside them, lie with their test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


# Beneath the root directory.
WRITE = ["/writer", "/data/a", "/orders/orders"]


def with_root(root: Path, command: Sequence[str], has_recorder: bool) -> str:
    """A command for which a root directory is made first, with the writer and what that needs, as mounts of its own."""
    source = root.parent / "writer.c"
    source.write_text(WRITER)
    (root / "data").mkdir(parents=True)
    subprocess.run(["cc", "-o", root / "writer", source], check=True)
    places = [place for place in ("/usr", "/lib", "/lib64", "/proc") if Path(place).exists()]
    mounts = [f"mkdir -p {root}{place} && mount --rbind {place} {root}{place}" for place in places]
    if has_recorder:
        mounts += [f"mkdir -p {root}$IOASSAY_RECORD && mount --bind $IOASSAY_RECORD {root}$IOASSAY_RECORD"]
    # The orders are where the test sees them.
    mounts += [f"mkdir -p {root}/orders && mount --bind {root.parent} {root}/orders"]
    return "exec unshare --mount sh -c " + shlex.quote(" && ".join([*mounts, f"exec {shlex.join(command)}"]))


def held_rate(command: Watched, label: str) -> float:
    """Bytes per second that a rule has let through in four seconds, the first of which is whole."""
    until(lambda: len(states(command, label)) >= 7, "seven seconds")
    return sum(state["measured"] for state in states(command, label)[2:6]) / 4


@pytest.mark.parametrize(
    "enter", [["chroot"], ["unshare", "--root"], ["env", "-i", "PATH=/usr/sbin:/usr/bin", "chroot"]]
)
def test_a_program_that_is_started_in_a_chroot_is_held_to_the_rate_of_its_path(
    tmp_path: Path, enter: list[str]
) -> None:
    root = tmp_path / "root"
    command = with_root(root, [*enter, str(root), *WRITE], has_recorder=True)
    with watched(tmp_path, throttle("inside", root / "data"), throttle("elsewhere", "/data"), command=command) as job:
        assert held_rate(job, "inside") == pytest.approx(MIB, rel=0.05)
        # Its path in there is that of another file outside.
        assert states(job, "elsewhere") == []
        assert {state["remark"] for state in states(job, "inside")} == {""}
        job.end()


def test_a_program_that_changes_its_root_directory_itself_is_held_where_it_cannot_see_its_tables(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    command = with_root(root, [f"{root}/writer", "/data/a", "/orders/orders", str(root)], has_recorder=False)
    with watched(tmp_path, throttle("inside", root / "data"), command=command) as job:
        assert held_rate(job, "inside") == pytest.approx(MIB, rel=0.05)
        job.end()


def test_a_program_in_a_chroot_without_the_recorder_is_reported_as_out_of_reach(tmp_path: Path) -> None:
    root = tmp_path / "root"
    command = with_root(root, ["chroot", str(root), *WRITE], has_recorder=False)
    with watched(tmp_path, throttle("inside", root / "data"), command=command) as job:
        job.until("job", unrecorded=1)
        remark = states(job, "inside")[-1]["remark"]
        assert "cannot be reached: a static or setuid program, or one in a root directory (chroot)" in remark
        messages = job.end()
    assert "not recorded" in messages


def test_an_unknown_root_directory_is_reported(tmp_path: Path) -> None:
    # What no library sees has changed it.
    root, source = tmp_path / "root", tmp_path / "enter.c"
    source.write_text(
        "#include <unistd.h>\n"
        'int main(int c, char **v) { return c < 3 || chroot(v[1]) || chdir("/") || execv(v[2], v + 2); }\n'
    )
    subprocess.run(["cc", "-static", "-o", tmp_path / "enter", source], check=True)
    command = with_root(root, [str(tmp_path / "enter"), str(root), *WRITE], has_recorder=True)
    with watched(tmp_path, throttle("inside", root / "data"), command=command) as job:
        until(
            lambda: any(
                "root directory (chroot) is called outside" in state["remark"] for state in states(job, "inside")
            ),
            "a remark",
        )
        assert "root directory (chroot) is called outside is not known" in log_of(job)
        job.end()
