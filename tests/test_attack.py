"""A short part of `make attack`, with fixed seeds: no traceback, no panic, no foreign byte, and everything ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from .attack import attempt
from .attack.attempt import ENGINE, Command
from .attack.family import of_commands
from .support import DEADLINE_S

_TRIES = {
    "studies": 10,
    "settings": 10,
    "criteria": 10,
    "systems": 10,
    "imports": 10,
    "plans": 60,
    "front-ends": 60,
    "stored": 12,
    "signals": 2,
    "hung-mounts": 2,
}
"""Families, and how many variations of each."""

_SEED = 18


_HARMS = {
    "panic": "echo \"thread 'main' panicked at x.rs:1:1\" >&2; exit 101",
    "traceback": "echo 'Traceback (most recent call last)'; exit 1",
    "killed": "kill -SEGV $$",
    "hung": "trap '' INT TERM HUP; while :; do sleep 0.1; done",
    "processes left": "sleep 60 > /dev/null 2>&1 &",
    "no reason given": "exit 3",
    "wrong exit code": "echo odd; exit 4",
    "foreign files changed": "echo more >> beside/words",
}
"""What an engine could do, as a script, by what the attacks should call it."""


@pytest.mark.skipif(os.geteuid() != 0, reason="attacks mount file systems, which needs root")
def test_attacks_do_no_harm(tmp_path: Path) -> None:
    families = [f"{family}={tries}" for family, tries in _TRIES.items()]
    result = subprocess.run(
        [sys.executable, "-m", "tests.attack", *families, "--seed", str(_SEED), "--jobs", "2", "--keep", str(tmp_path)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=10 * DEADLINE_S,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("harm", _HARMS)
def test_a_harmful_attack_is_detected(harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\n{_HARMS[harm]}\n")
    engine.chmod(0o755)
    monkeypatch.setenv("IOASSAY_ENGINE", str(engine))
    monkeypatch.setattr(attempt, "LIMIT_S", 1)
    place = tmp_path / "place"
    place.mkdir()
    attempt.adopt_orphans()
    try:
        result = of_commands(lambda random, place: [Command(["ior"], ENGINE)])(Random(0), place)
    finally:
        attempt.adopt_orphans(False)
    assert result.outcome == harm
    assert not result.held
    assert (place / "0-command.txt").read_text() == "ioassay-engine ior\n"
