"""More rules with paths than recorders have slots: the rules in force, and remarks about the others."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ioassay.protocol.facts import PROTOCOL_VERSION

from .support import until
from .test_agent import RESTORED, WRITES, Watched, watched

MANY = 10_000
BLOCK = 64 << 10
MIB = 1 << 20

# Writes to a file until its orders are gone.
WRITER = """
import os, sys
path, orders = sys.argv[1:3]
file = os.open(path, os.O_RDWR | os.O_CREAT)
while os.path.exists(orders):
    os.pwrite(file, b"x" * 65536, 0)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps tables in the test's directory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def throttle(label: str, path: Path | str, limit: int = MIB) -> dict[str, Any]:
    """A rule that limits writes below a path to a rate."""
    return {**WRITES, "label": label, "action": "throttle", "path": str(path), "limit": limit}


def others(count: int) -> list[dict[str, Any]]:
    """Rules for paths that no job has."""
    return [throttle(f"other {number}", f"/scratch/project-{number}/data") for number in range(count)]


def contract(rules: Sequence[Mapping[str, Any]]) -> str:
    """The agent's contract."""
    return json.dumps({"version": PROTOCOL_VERSION, "rules": list(rules)})


def states(command: Watched, label: str) -> list[dict[str, Any]]:
    """The states of a rule, second by second."""
    return [state for state in command.documents("rule") if state["label"] == label]


def writers(directory: Path, *paths: str) -> str:
    """A command that writes to each of these paths until its orders are gone."""
    program = directory / "writer.py"
    program.write_text(WRITER)
    return " ".join(f"{sys.executable} {program} {path} {directory}/orders &" for path in paths) + " wait"


def is_held_to(measured: float, allowed: float) -> bool:
    """Whether a rule held: a busy machine lets processes do less than they may."""
    return allowed / 2 < measured <= 1.05 * allowed


def log_of(command: Watched) -> str:
    """The agent's standard error."""
    log = command.record / f"watch/agent-{os.uname().nodename}.log"
    return log.read_text() if log.exists() else ""


def test_ten_thousand_rules_hold_files_in_use_and_no_others(tmp_path: Path) -> None:
    data, link = tmp_path / "data", tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to("real")
    # One rule has another spelling of its file's path, and one a path with a link.
    used_rules = [
        throttle("spelled", data / "a"),
        throttle("linked", link, 2 * MIB),
        {**throttle("counted", data / "free"), "action": "monitor"},
    ]
    rules = [*others(MANY // 2), *used_rules, *others(MANY)[MANY // 2 + 3 :]]
    assert len(rules) == MANY
    command = writers(tmp_path, f"{data}/./../data//a", f"{tmp_path}/real/b", f"{data}/free")
    with watched(tmp_path, *rules, command=command) as watching:
        until(lambda: min(len(states(watching, rule["label"])) for rule in used_rules) >= 7, "seven seconds")
        measured = [sum(state["measured"] for state in states(watching, label)[2:6]) for label in ("spelled", "linked")]
        assert is_held_to(measured[0], 4 * MIB), measured
        assert is_held_to(measured[1], 8 * MIB), measured
        assert min(state["measured"] for state in states(watching, "counted")[2:6]) > 10 * MIB
        assert {state["label"] for state in watching.documents("rule")} == {"spelled", "linked", "counted"}
        alert = watching.until("alert", label="spelled")
        assert (alert["file"], alert["path"]) == (f"{data}/./../data//a", str(data / "a"))
        watching.end()


def test_contracts_grow_and_shrink_while_a_job_runs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    first, second = throttle("first", data / "a"), throttle("second", data / "b", 2 * MIB)
    with watched(tmp_path, first, command=writers(tmp_path, f"{data}/a", f"{data}/b")) as command:
        command.until("rule", label="first")
        command.replace_contract(contract([first, *others(MANY - 2), second]))
        began = command.until("rule", label="second")["second"]
        until(lambda: len(states(command, "second")) >= 6, "six seconds")
        for label, rate in (("first", MIB), ("second", 2 * MIB)):
            measured = [
                state["measured"] for state in states(command, label) if began + 1 < state["second"] < began + 5
            ]
            assert is_held_to(sum(measured), 3 * rate), measured
        # A rate that changes takes effect on the slots that rules have already.
        command.replace_contract(contract([{**first, "limit": 4 * MIB}, *others(MANY)[: MANY // 2], second]))
        until(lambda: states(command, "first")[-1]["allowed"] == 4 * MIB, "the new limit")
        began = states(command, "first")[-1]["second"]
        until(lambda: states(command, "first")[-1]["second"] >= began + 5, "five seconds")
        measured = [state["measured"] for state in states(command, "first") if began + 1 < state["second"] < began + 5]
        assert is_held_to(sum(measured), 12 * MIB), measured
        command.replace_contract(contract([{**second, "action": "monitor", "label": "counted"}]))
        began = command.until("rule", label="counted")["second"]
        until(lambda: any(state["measured"] > 10 * MIB for state in states(command, "counted")), "it to run free")
        assert all(state["second"] <= began for label in ("first", "second") for state in states(command, label))
        assert "job" not in log_of(command)
        command.end()


@pytest.mark.parametrize("left", [0, 0.1])
def test_rules_without_slots_of_their_own_hold_again_when_their_file_was_truncated(tmp_path: Path, left: float) -> None:
    data = tmp_path / "data"
    rules = [*others(1000), throttle("mine", data / "a")]
    with watched(tmp_path, *rules, command=writers(tmp_path, f"{data}/a")) as command:
        command.until("rule", label="mine")
        file = command.tables() / "rules"
        os.truncate(file, int(left * file.stat().st_size))
        begin = command.until("rule", label="mine", remark=RESTORED)["second"] + 2
        until(lambda: states(command, "mine")[-1]["second"] >= begin + 5, "five seconds")
        measured = [state["measured"] for state in states(command, "mine") if begin < state["second"] < begin + 5]
        assert sum(measured) == pytest.approx(4 * MIB, rel=0.05), measured
        command.end()


# Writes a block to each file, and then to the last until its orders are gone.
IN_TURN = """
import os, sys, time
# The agent looks for slots that are not used every ten seconds: it does so before these have rested, and once more.
time.sleep(-time.time() % 10)
directory, count, orders = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for number in range(count):
    file = os.open(f"{directory}/{number}", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, b"x", 0)
    if number < count - 1:
        os.close(file)
while os.path.exists(orders):
    os.pwrite(file, b"x" * 65536, 0)
"""


def test_a_rule_without_a_slot_gets_that_of_an_unused_rule(tmp_path: Path) -> None:
    data, program = tmp_path / "data", tmp_path / "in_turn.py"
    program.write_text(IN_TURN)
    count = 40  # a throttling rule takes two slots of 63
    rules = [throttle(f"file {number}", data / str(number)) for number in range(count)]
    command = f"{sys.executable} {program} {data} {count} {tmp_path}/orders"
    with watched(tmp_path, *others(1000), *rules, command=command) as watching:
        until(lambda: "more rules with paths are needed at once" in log_of(watching), "the agent to say it")
        assert {f"file {number}" for number in range(20)} <= {state["label"] for state in watching.documents("rule")}
        assert not states(watching, f"file {count - 1}")
        until(lambda: len(states(watching, f"file {count - 1}")) >= 5, "the last file to be held")
        measured = [state["measured"] for state in states(watching, f"file {count - 1}")[1:4]]
        assert is_held_to(sum(measured), 3 * MIB), measured
        watching.end()


# Has no room for more memory before it is asked to write.
CRAMPED = """
import os, resource, sys, time
path, orders, go = sys.argv[1:4]
file = os.open(path, os.O_RDWR | os.O_CREAT)
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + (4 << 20), size + (4 << 20)))
open(go, "w").close()
while os.path.exists(orders):
    os.pwrite(file, b"x" * 65536, 0)
"""


def test_a_process_without_room_for_the_rules_is_named(tmp_path: Path) -> None:
    data, program, go = tmp_path / "data", tmp_path / "cramped.py", tmp_path / "go"
    program.write_text(CRAMPED)
    everything = {**WRITES, "label": "all"}
    command = f"exec {sys.executable} {program} {data}/a {tmp_path}/orders {go}"
    with watched(tmp_path, everything, command=command) as watching:
        until(go.exists, "the process to have no more room")
        watching.replace_contract(contract([everything, throttle("held", data / "a"), *others(MANY)]))
        remark = "its address space has no room for the rules (ulimit -v)"
        until(lambda: remark in log_of(watching), "the agent to name it")
        # It continues, and rules that need no table still apply.
        until(lambda: remark in states(watching, "all")[-1]["remark"], "the rule to say it")
        assert states(watching, "all")[-1]["measured"] > 10 * MIB
        watching.end()


def test_an_agent_with_a_file_size_limit_reports_it_and_continues(tmp_path: Path) -> None:
    with watched(tmp_path, WRITES) as command:
        agent = command.until("rule", label="writes") and command.agent()
        resource.prlimit(agent, resource.RLIMIT_FSIZE, (MIB, MIB))
        command.replace_contract(contract([WRITES, *others(MANY)]))
        until(lambda: "File too large" in log_of(command), "the agent to say it")
        last = command.documents("agent")[-1]["second"]
        until(lambda: command.documents("agent")[-1]["second"] > last + 1, "the agent to go on")
        command.end()
