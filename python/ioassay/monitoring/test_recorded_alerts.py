"""Which rules were broken, from the files of a record."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl

from ioassay.monitoring.recorded_alerts import MOST_LABELS, alerts_of, wait_for_agent


def write(watched: Path, name: str, labels: list[str], node: str = "n1", action: str = "monitor") -> None:
    (watched / "alert").mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame({"label": labels, "node": [node] * len(labels), "action": [action] * len(labels)})
    frame.write_parquet(watched / "alert" / f"{name}.parquet")


def test_rules_are_counted_over_files_and_nodes_those_broken_most_often_first(tmp_path: Path) -> None:
    write(tmp_path, "n1-1", ["rare", "often", "often"])
    write(tmp_path, "n2-1", ["often"], node="n2")
    write(tmp_path, "n2-2", ["hold"], node="n2", action="throttle")
    assert [*alerts_of(tmp_path)] == [
        "rule often: broken in 3 windows on 2 nodes",
        "rule hold: held calls in 1 window on 1 node",
        "rule rare: broken in 1 window on 1 node",
    ]


def test_a_damaged_file_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path, "n1-1", ["a"])
    (tmp_path / "alert" / "n1-2.parquet").write_bytes(b"PAR1")
    assert len([*alerts_of(tmp_path)]) == 1


def test_nothing_is_printed_without_alerts(tmp_path: Path) -> None:
    assert [*alerts_of(tmp_path)] == []
    write(tmp_path, "n1-1", [])
    assert [*alerts_of(tmp_path)] == []


def test_rules_beyond_the_first_are_only_counted(tmp_path: Path) -> None:
    write(tmp_path, "n1-1", [f"rule {number}" for number in range(MOST_LABELS + 3)])
    assert [*alerts_of(tmp_path)][-1].startswith("3 more rules broken; see ")


def test_an_agent_is_waited_for_until_it_has_ended(tmp_path: Path) -> None:
    # It is known by the setup that it was given.
    agent = subprocess.Popen([sys.executable, "-c", "input()", tmp_path / "agent.json"], stdin=subprocess.PIPE)
    begin = time.monotonic()
    wait_for_agent(tmp_path, 0.1)
    assert time.monotonic() - begin >= 0.1
    agent.communicate(b"\n")
    wait_for_agent(tmp_path, 1000)
