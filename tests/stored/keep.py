"""Keeps a stored directory of the current version, without what would name the machine that it was made on.

    python -m tests.stored.keep DIRECTORY NAME      such as runs/mine run-5-study

Make it small, and on a host called node1: `unshare --uts sh -c 'hostname node1; …'`. Not: what must stay the same of
what is reported (`reported`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

from ioassay.store.kinds import recognise
from ioassay.store.stored_directory import StoredDirectory
from tests.stored.reported import ARGUMENTS, facts
from tests.support import ioassay

HERE = Path(__file__).parent
HOST = "node1"

LEFT_OUT = ("report.html", "lock", "runs")
"""Files that every ioassay creates again, and runs of experiments, which no report needs."""


def scrubbed(content: bytes) -> bytes:
    """Replaces this machine's identifier and kernel build at the same length, because tables are binary."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    release = os.uname().release
    build = release.removeprefix(re.match(r"[\d.]*", release)[0])  # type: ignore[index]  # it matches nothing at least
    content = content.replace(boot_id, re.sub(rb"[0-9a-f]", b"0", boot_id))
    return content.replace(release.encode(), release.replace(build, "." + "0" * (len(build) - 1)).encode())


def keep(directory: Path, name: str) -> None:
    """Copies `directory`, and keeps what is reported of the copy.

    Raises `ValueError` for a directory of another kind or version than its name says, and for one that names this host.
    """
    with StoredDirectory.open(directory) as opened:
        kind = recognise(opened)
    if kind is None or not name.startswith(f"{kind.name}-{kind.version}"):
        raise ValueError(f"{name} does not begin with kind and version of {directory}")
    this_host = os.uname().nodename
    copy = shutil.copytree(directory, HERE / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for file in copy.rglob("*"):
        if file.is_file():
            file.write_bytes(scrubbed(file.read_bytes()))
            if this_host != HOST and f'"{this_host}"'.encode() in file.read_bytes():
                raise ValueError(f"{file} names this machine: make it on a host called {HOST}")
    if arguments := ARGUMENTS.get(kind.name):
        code, out, err = ioassay(*arguments, copy)
        if code:
            raise ValueError(err)
        reported = json.dumps(facts(kind.name, json.loads(out)), indent=1)
        (HERE / f"{name}.json").write_text(reported + "\n")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), sys.argv[2])
