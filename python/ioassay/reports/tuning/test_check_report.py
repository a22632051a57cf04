"""What is said of systems, as documents: the same judgements, on a terminal without addresses and in few lines."""

from __future__ import annotations

import pytest

from ioassay.reports import build
from ioassay.reports.tuning import CheckReport
from ioassay.testing import tuned_systems
from ioassay.testing.terminal_text import terminal_text
from ioassay.tuning.check import Asked, examine
from ioassay.tuning.rules import RULES


@pytest.fixture(scope="module")
def report() -> CheckReport:
    rules = ["nr-requests", "vfs-cache-pressure", "raid-cache-block"]
    asked = Asked.of(transfer="1MiB", raid="segment=128k,data=8,parity=2,cache-block=4k", storage=None, rules=rules)
    return CheckReport(examine([tuned_systems.md3460_oss()], asked))


@pytest.fixture(scope="module")
def lines(report: CheckReport) -> list[str]:
    return [line.rstrip() for line in terminal_text(report.terminal(80)).splitlines()]


def test_addresses_of_sources_are_in_documents_and_not_on_the_terminal(report: CheckReport, lines: list[str]) -> None:
    assert "(https://" in build(report, "md").decode()
    assert not [line for line in lines if "https://" in line]
    assert any(line.startswith("  Source: ") for line in lines)


def test_devices_that_need_the_same_are_one_row_and_one_command(lines: list[str]) -> None:
    text = "\n".join(lines)
    (command,) = (line for line in lines if line.count("nr_requests=") > 1 and "vm." not in line)
    assert command.startswith("  ioassay tune apply block:dm-0/nr_requests=1024 block:")
    assert command.count("nr_requests=1024") == 18
    assert text.count("128  ") == 1


def test_only_commands_are_wider_than_the_terminal(lines: list[str]) -> None:
    wide = [line for line in lines if len(line) > 80]
    assert wide
    assert all(line.startswith(("  ioassay tune apply ", "  On a Dell MD")) for line in wide)


def test_what_requests_suffer_from_comes_first_and_says_so() -> None:
    asked = Asked.of(transfer="1MiB", raid="segment=128k,data=8,parity=2", storage=None, rules=[])
    report = CheckReport(examine([tuned_systems.md3460_oss()], asked))
    _, _, changes = build(report, "md").decode().partition("## What to change")
    named = [line.rpartition("*")[2].strip() for line in changes.splitlines() if line.startswith("- **Rule:")]
    assert named[:2] == ["max-sectors-kb", "max-sgl-entries"]
    assert named[2:] == [rule.name for rule in RULES if rule.name in named[2:]]
    assert changes.count("**Found here:** ") == 2


def test_rules_that_do_not_apply_are_counted_once_whatever_the_number_of_devices() -> None:
    # Of 18 devices `scheduler` applies to 6, `wbt-lat-usec` to none.
    asked = Asked.of(transfer=None, raid=None, storage=None, rules=["scheduler", "wbt-lat-usec"])
    text = terminal_text(CheckReport(examine([tuned_systems.md3460_oss()], asked)).terminal(80))
    assert "Rules that do not apply here: 1 of 2; " in text
