"""Cold caches as a study writes them, and what the plan says of them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.studies.caches import REMOUNT, Hook
from ioassay.studies.test_resolve import refusal
from ioassay.studies.test_workloads import FILES, HEAD, expanded

FIVE_MINUTES_NS = 300 * 10**9
SSH = ["ssh", "-o", "BatchMode=yes"]


def cold(written: str) -> Any:
    """The cold-cache step of the plan."""
    ((_, plan), *_) = expanded(f"{HEAD}{FILES}steps: [write, {{cold-cache: {written}}}, read]\n")
    return plan["steps"][1]


def command(words: list[str], time_limit_ns: int = FIVE_MINUTES_NS) -> dict[str, Any]:
    return {"words": words, "time_limit_ns": time_limit_ns}


def test_a_list_of_ways_is_all_that_a_step_needs() -> None:
    wanted = {"step": "cold-cache", "attempts": ["drop-caches", "fadvise"]}
    assert cold("[drop-caches, fadvise]") == cold("{methods: [drop-caches, fadvise]}") == wanted


def test_a_hook_is_a_command_for_each_of_its_hosts_and_a_shell_there_takes_its_line_apart() -> None:
    line = "{hosts: [nfs1, root@10.0.0.2], command: systemctl restart nfs-server}"
    words = "{hosts: [oss1], command: [echo, two words], via: [pdsh, -w], time_limit: 90s}"
    here = "{command: ./restart-all.sh && sleep 3}"
    assert cold(f"{{hooks: [{line}, {words}, {here}]}}") == {
        "step": "cold-cache",
        "hooks": [
            {"host": "nfs1", "command": command([*SSH, "nfs1", "systemctl restart nfs-server"])},
            {"host": "root@10.0.0.2", "command": command([*SSH, "root@10.0.0.2", "systemctl restart nfs-server"])},
            {"host": "oss1", "command": command(["pdsh", "-w", "oss1", "echo 'two words'"], 90 * 10**9)},
            {"command": command(["sh", "-c", "./restart-all.sh && sleep 3"])},
        ],
        "attempts": [],
    }


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1), min_size=1))
def test_the_words_of_a_hook_come_out_of_the_servers_shell_as_they_were_written(words: list[str]) -> None:
    (sent,) = Hook(hosts=["a"], command=words).plan()
    assert shlex.split(sent["command"]["words"][-1]) == words


def test_a_remount_is_the_sites_command_or_that_of_fstab() -> None:
    assert cold("[remount]") == {
        "step": "cold-cache",
        "attempts": ["remount"],
        "remount": command(["sh", "-c", REMOUNT]),
    }
    site = cold('{methods: [remount], remount: {command: [remount-it, "$x"], time_limit: 2min}}')
    assert site["remount"] == command(["remount-it", "$x"], 120 * 10**9)


def test_mounts_missing_from_fstab_are_not_unmounted(tmp_path: Path) -> None:
    if shutil.which("findmnt") is None:
        pytest.skip("SKIPPED: there is no findmnt")
    for name in ("umount", "mount"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} was called\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "IOASSAY_MOUNT_POINT": "/mnt/not in fstab"}
    ran = subprocess.run(["sh", "-c", REMOUNT], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stdout.startswith("/mnt/not in fstab is not in /etc/fstab: ")
    assert "was called" not in ran.stdout


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{}", "steps[2].cold-cache: `methods`: no method to empty the caches is listed; list one"),
        ("{methods: []}", "steps[2].cold-cache.methods: no method to empty the caches is listed; list one"),
        ("{methods: [remont]}", 'steps[2].cold-cache.methods[0]: "remont" is unknown; did you mean `remount`?'),
        ("[remont]", 'steps[2].cold-cache[0]: "remont" is unknown; did you mean `remount`?'),
        ("{metods: [fadvise]}", "steps[2].cold-cache.metods: unknown key; did you mean `methods`?"),
        (
            "{methods: [fadvise], remount: {}}",
            "steps[2].cold-cache: has a `remount` command, but `remount` is not among",
        ),
        ("{hooks: [{hosts: [a]}]}", "steps[2].cold-cache.hooks[0].command: is missing"),
        ('{hooks: [{command: " "}]}', "steps[2].cold-cache.hooks[0].command: is empty; write a line"),
        ("{hooks: [{command: []}]}", "steps[2].cold-cache.hooks[0].command: is empty; write a line"),
        ("{hooks: [{command: [[a]]}]}", "steps[2].cold-cache.hooks[0].command: is not a single value"),
        ("{hooks: [{command: a, time_limit: 3}]}", 'steps[2].cold-cache.hooks[0].time_limit: "3" has no unit'),
        ("{hooks: [{command: a, time_limit: 0s}]}", "steps[2].cold-cache.hooks[0].time_limit: "),
        ("{hooks: [{command: a, hosts: [b, b]}]}", "steps[2].cold-cache.hooks[0]: lists a host twice"),
        (
            "{hooks: [{command: a, hosts: [-oProxyCommand=x]}]}",
            'steps[2].cold-cache.hooks[0].hosts[0]: "-oProxyCommand=x" is not a host name',
        ),
    ],
)
def test_an_impossible_study_is_refused_with_its_line(small: str, written: str, message: str) -> None:
    lines = refusal(small.replace("cold-cache: [fadvise]", f"cold-cache: {written}"))
    assert [line for line in lines if line.startswith(f"my.yaml:14: {message}")], lines
