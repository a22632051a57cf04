"""The answer of a quick look at a directory: five lines, a verdict, and only what changes what one would do."""

from __future__ import annotations

from rich.console import Console, Group

from ioassay.reports.run import RunReport, answer
from ioassay.reports.run.storage import Storage
from ioassay.testing.builder import RunBuilder

STORAGE = Storage("/mnt/scratch", "lustre", 1 << 50, 0.34)
COLUMNS = 80


def run(repetitions: int = 3) -> RunBuilder:
    return (
        RunBuilder()
        .clients(1)
        .repetitions(repetitions)
        .workload("sequential", "Sequential 1 MiB")
        .rates("sequential", "write", 1, *[3.1e9, 3.2e9, 3.3e9][:repetitions])
    )


def printed(builder: RunBuilder) -> str:
    return text(answer.shown(RunReport(builder.build()).content, STORAGE))


def text(group: Group) -> str:
    console = Console(width=COLUMNS, color_system=None)
    with console.capture() as captured:
        console.print(group)
    return captured.get()


def test_a_healthy_directory_has_its_rates_with_intervals_in_80_columns() -> None:
    output = printed(run().criterion("failed_phases", unit="1", at_most=0))
    assert output.startswith("/mnt/scratch: lustre, 1 PiB, 34 % used\n")
    line = next(line for line in output.splitlines() if "Sequential write" in line)
    assert line.split()[2:] == ["3.20", "GB/s", "3.10", "to", "3.30", "GB/s", *line.split()[-2:]]
    assert "Range" in output, "three repetitions have no more"
    assert "Healthy: 1 criterion met." in output
    assert max(map(len, output.splitlines())) <= COLUMNS


def test_a_broken_criterion_is_named_with_what_it_points_to_and_what_to_try() -> None:
    output = printed(run().criterion("rate", unit="bytes/s", of="sequential", operation="write", at_least=5e9))
    assert "Suspicious:" in output
    assert "at least 5 GB/s; measured 3.20 GB/s." in output
    assert "ioassay doctor --target /mnt/scratch" in output


def test_a_run_that_was_suspended_is_not_called_suspicious() -> None:
    builder = run().criterion("slowest_operation", unit="s", at_most=1e-9)
    assert "Suspicious" in printed(builder)
    for repetition in (1, 2, 3):
        builder.doubt(f"sequential-c1-r{repetition}", "write", "suspended", invalidates=True)
        builder.doubt(f"sequential-c1-r{repetition}", "read", "suspended", invalidates=True)
    content = RunReport(builder.build()).content
    assert "Not judged" in text(answer.shown(content, STORAGE))
    assert answer.data(content, STORAGE, "report.html")["verdict"] == "not judged"


def test_two_repetitions_have_no_interval_and_a_remark_why() -> None:
    output = printed(run(repetitions=2))
    assert "An interval needs three repetitions" in output
    assert "Range" not in output


def test_doubts_are_reported_where_they_change_the_answer() -> None:
    builder = run().doubt("sequential-c1-r1", "read", "cache-resident", "half of it was in memory", "empty the cache")
    builder.doubt("sequential-c1-r1", "write", "late-samples", "they were late", "measure longer")
    report = RunReport(builder.build())
    output = text(answer.shown(report.content, STORAGE))
    [letter] = [group.mark for group in report.content.doubts.groups if group.kind == "cache-resident"]
    assert f"{letter} Partly read from the page cache; storage alone may be slower." in " ".join(output.split())
    medians = {words[1]: words[2:5] for words in map(str.split, output.splitlines()) if words[:1] == ["Sequential"]}
    assert medians["read"][2] == letter
    assert medians["write"][:2] == ["3.20", "GB/s"]
    assert medians["write"][2] != letter
    assert "sample" not in output
    document = answer.data(report.content, STORAGE, "report.html")
    assert "Sequential read: partly read from the page cache; storage alone may be slower." in document["advice"]


def test_the_document_has_the_same_rates_unrounded() -> None:
    content = RunReport(run().build()).content
    document = answer.data(content, STORAGE, "runs/x/report.html")
    write = next(rate for rate in document["rates"] if rate["operation"] == "write")
    assert [round(write[f"{name}_bytes_per_s"] / 1e6) for name in ("median", "low", "high")] == [3200, 3100, 3300]
    assert write["confidence"] == 0.75
