"""Machines whose settings tests change: made-up trees, a loop device, sysctls, programs that stand for Lustre's."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOOP_CTL_ADD = 0x4C80
_LOOP_CTL_REMOVE = 0x4C81
_numbers = itertools.count(5000 + os.getpid() % 10000 * 16)

QUEUE = {
    "scheduler": "none [mq-deadline] kyber",
    "nr_requests": "256",
    "max_sectors_kb": "512",
    "max_hw_sectors_kb": "1024",
    "read_ahead_kb": "128",
    "rq_affinity": "1",
}


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Files below `root`, with the directories above them."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return root


def made_up_machine(root: Path, *devices: str) -> Path:
    """A machine with block devices and some sysctls in plain files, which take every value."""
    files = {f"sys/block/{device}/queue/{name}": value for device in devices for name, value in QUEUE.items()}
    files |= {f"sys/block/{device}/diskseq": str(number) for number, device in enumerate(devices, 7)}
    files |= {
        "etc/machine-id": "0123456789abcdef0123456789abcdef",
        "proc/sys/kernel/random/boot_id": "11111111-2222-3333-4444-555555555555",
        "proc/sys/vm/vfs_cache_pressure": "100",
        "proc/sys/vm/swappiness": "60",
        "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    }
    return write_tree(root, files)


@contextmanager
def loop_device(place: Path, size_bytes: int = 64 << 20) -> Iterator[str]:
    """A loop device of its own, such as `loop5123`, which is gone afterwards with all its settings."""
    file = place / "loop-file"
    with open(file, "wb") as backing_file:
        backing_file.truncate(size_bytes)
    with open("/dev/loop-control", "rb") as control:
        number = next(_numbers)
        while Path(f"/sys/block/loop{number}").exists():
            number = next(_numbers)
        fcntl.ioctl(control, _LOOP_CTL_ADD, number)
        try:
            subprocess.run(["losetup", f"/dev/loop{number}", file], check=True)
            yield f"loop{number}"
        finally:
            remove_loop_device(f"loop{number}")
            file.unlink()


def remove_loop_device(name: str) -> None:
    """Takes a loop device away for good, if it is there."""
    subprocess.run(["losetup", "--detach", f"/dev/{name}"], capture_output=True, check=False)
    deadline = time.monotonic() + 10
    with open("/dev/loop-control", "rb") as control:
        while Path(f"/sys/block/{name}").exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                fcntl.ioctl(control, _LOOP_CTL_REMOVE, int(name.removeprefix("loop")))
            time.sleep(0.02)


def queue(device: str, parameter: str) -> str:
    """A parameter of a block queue, as it is: of a scheduler the chosen one."""
    text = Path(f"/sys/block/{device}/queue/{parameter}").read_text().strip()
    return text.partition("[")[2].partition("]")[0] if "[" in text else text


def set_queue(device: str, parameter: str, value: str) -> None:
    """Sets it, as something else on the machine would."""
    Path(f"/sys/block/{device}/queue/{parameter}").write_text(value)


@contextmanager
def sysctls_kept(*names: str) -> Iterator[None]:
    """Sysctls that have their previous values afterwards, whatever happened. Of those that are 0 none is written."""
    paths = [Path("/proc/sys", *name.split(".")) for name in names]
    before = {path: path.read_text().strip() for path in paths}
    try:
        yield
    finally:
        for path, value in before.items():
            if value != "0" and path.read_text().strip() != value:
                path.write_text(value)


_SCRIPT_LCTL = r"""#!/bin/sh
# Parameters are files: $LUSTRE_TREE/osc.scratch-OST0000-osc-ffff.max_dirty_mb
cd "$LUSTRE_TREE" || exit 1
missing() { echo "error: $1: param_path '$2': No such file or directory" >&2; exit 2; }
case "$1" in
list_param) found=0; for f in $2; do [ -e "$f" ] && { echo "$f"; found=1; }; done
    [ $found = 1 ] || missing list_param "$2" ;;
get_param) [ -e "$3" ] || missing get_param "$3"; cat "$3" ;;
set_param) name=${2%%=*}; value=${2#*=}
    [ -e "$name" ] || missing set_param "$name"
    case "$name" in *max_rpcs_in_flight)
        [ "$value" -le 256 ] ||
            { echo "error: set_param: setting $name=$value: Numerical result out of range" >&2; exit 34; }
        dirty="${name%.*}.max_dirty_mb"; [ "$(cat "$dirty")" -ge $((value * 4)) ] || echo $((value * 4)) > "$dirty" ;;
    esac
    echo "$value" > "$name" ;;
esac
"""

_SCRIPT_LFS = r"""#!/bin/sh
# The striping of a directory is in its file .striping: count size index pool
for last; do :; done
command=$1; shift
[ -d "$last" ] || { echo "error: $command: No such file or directory" >&2; exit 2; }
state="$last/.striping"; [ -e "$state" ] || echo "0 0 -1 ." > "$state"
read -r count size index pool < "$state"
if [ "$command" = getstripe ]; then
    for word; do case "$word" in
        -c) echo "$count" ;; -S) echo "$size" ;; -i) echo "$index" ;; -p) echo "$pool" | tr -d . ;;
        --component-count) cat "$last/.components" 2> /dev/null || echo 0 ;;
    esac; done
else
    count=0 size=0 index=-1 pool=.
    while [ $# -gt 1 ]; do case "$1" in
        -d) shift; continue ;; -c) count=$2 ;; -S) size=$2 ;; -i) index=$2 ;; -p) pool=$2 ;; esac; shift 2; done
    echo "$count $size $index $pool" > "$state"
fi
"""


def lustre_programs(directory: Path) -> Path:
    """`lctl` and `lfs` that keep what they are given in files; parameters below `$LUSTRE_TREE`."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in (("lctl", _SCRIPT_LCTL), ("lfs", _SCRIPT_LFS)):
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    return directory


_SCRIPT_TUNED_ADM = r"""#!/bin/sh
# The active profile is in files below $TUNED_ROOT; it sets nothing. $TUNED_HOOK is run after each change.
cd "$TUNED_ROOT/etc/tuned" || exit 1
command=$1; shift
case "$command" in
profile) for name; do
        [ -e "$name/tuned.conf" ] || { echo "Requested profile '$name' doesn't exist." >&2; exit 1; }
    done
    echo "$*" > active_profile; echo manual > profile_mode ;;
auto_profile) echo balanced > active_profile; echo auto > profile_mode ;;
off) : > active_profile; echo manual > profile_mode ;;
esac
sh -c "${TUNED_HOOK:-:}"
"""


def tuned_programs(directory: Path) -> Path:
    """A `tuned-adm` that keeps the active profile in files below `$TUNED_ROOT`, and sets nothing."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tuned-adm").write_text(_SCRIPT_TUNED_ADM)
    (directory / "tuned-adm").chmod(0o755)
    return directory


def with_tuned(root: Path, profile: str, text: str) -> Path:
    """A made-up machine on which TuneD runs, with an active profile."""
    return write_tree(
        root,
        {
            "run/tuned/tuned.pid": "77",
            "proc/77/cmdline": "/usr/bin/python3\0/usr/sbin/tuned\0-l",
            "etc/tuned/active_profile": profile,
            "etc/tuned/profile_mode": "manual",
            f"etc/tuned/{profile}/tuned.conf": text,
        },
    )
