"""Prefixes of launchers and logs, colours and wrapped lines: taken off, they change no number of any importer."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.importers import elbencho, fio, ior, iozone, iperf3, mdtest, obdfilter_survey
from ioassay.importers.gather import Reader, read_cases
from ioassay.importers.model import Case
from ioassay.importers.source import Refused, Source
from ioassay.testing.importer_samples import FILES, changed, numbers, printed, read_or_refused

SAMPLES: list[tuple[Reader, str]] = [
    (ior.read, "ior/2.10.3-verbose2.txt"),
    (ior.read, "ior/3.2.1-plain.txt"),
    (ior.read, "ior/3.3.0-script.txt"),
    (ior.read, "ior/4.0.0-wearout.txt"),
    (ior.read, "ior/4.0.0.json"),
    (mdtest.read, "mdtest/1.9-plain.txt"),
    (mdtest.read, "mdtest/4.0.0-tree.txt"),
    (fio.read, "fio/fio-3.33-group-reporting.json"),
    (elbencho.read, "elbencho/elbencho-3.1.json"),
    (iozone.read, "iozone/iozone-3.465-throughput.txt"),
    (iozone.read, "iozone/iozone-3.414-auto.txt"),
    (iperf3.read, "iperf3/iperf3-3.12-rev.json"),
    (obdfilter_survey.read, "obdfilter-survey/ioassay-engine.summary"),
]
"""A reader, and the path of what it reads."""

PREFIXES: dict[str, Callable[[int], str]] = {
    "mpirun-4": lambda rank: f"[1,{rank}]<stdout>:",
    "mpirun-4-moments": lambda rank: f"Tue Nov 24 04:20:25 2026[1,{rank}]<stdout>:",
    "mpirun-5": lambda rank: f"[prterun-node001-4711@1,{rank}]<stdout>: ",
    "hydra": lambda rank: f"[{rank}] ",
    "srun": lambda rank: f"{rank}: ",
    "srun-many": lambda rank: f"{rank:3}: ",
    "kubectl": lambda _: "2026-11-24T04:20:25.123456789Z ",
    "kubectl-pods": lambda rank: f"[pod/bench-{rank}/ior] ",
    "blue-gene": lambda rank: f"stdout[{rank}]: ",
    "ts": lambda _: "Nov 24 04:20:25 ",
}
"""What stands before a line of a rank, by who puts it there."""


def _read(reader: Reader, source: Source) -> list[Case]:
    return read_cases(reader, source, lambda _: None)


def _prefixed(lines: list[str], prefix: str) -> list[str]:
    return [f"{prefix}{line}" for line in lines[:-1]] + [""]


@pytest.mark.parametrize("launcher", PREFIXES)
@pytest.mark.parametrize(("reader", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_a_prefix_before_each_line_changes_no_number_and_no_line(reader: Reader, name: str, launcher: str) -> None:
    source = printed(name)
    lines = _prefixed(source.lines, PREFIXES[launcher](0))
    parsed = _read(reader, changed(source, "\n".join(lines)))
    assert numbers(parsed) == numbers(reader(source, lambda _: None))


@given(data=st.data())
def test_lines_of_ranks_without_results_are_left_out(data: st.DataObject) -> None:
    reader, name = data.draw(st.sampled_from(SAMPLES))
    launcher = data.draw(st.sampled_from(["mpirun-4", "mpirun-5", "hydra", "srun", "blue-gene", "kubectl-pods"]))
    source = printed(name)
    lines = [PREFIXES[launcher](0) + line for line in source.lines]
    original_numbers = list(range(1, len(lines) + 1))
    for index in sorted(data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=9)), reverse=True):
        lines.insert(index, PREFIXES[launcher](data.draw(st.integers(1, 9))) + "mca: a component was not found")
        original_numbers.insert(index, 0)
    parsed = [
        (original_numbers[row[0] - 1], *row[1:]) for row in numbers(_read(reader, changed(source, "\n".join(lines))))
    ]
    assert parsed == numbers(reader(source, lambda _: None))


@pytest.mark.parametrize(("reader", "name"), SAMPLES, ids=[name for _, name in SAMPLES])
def test_plain_output_is_read_unchanged(reader: Reader, name: str) -> None:
    source = printed(name)
    parsed, expected = _read(reader, source), reader(source, lambda _: None)
    assert numbers(parsed) == numbers(expected)
    assert [(case.settings, case.command) for case in parsed] == [(case.settings, case.command) for case in expected]


def test_a_time_before_the_tag_of_a_launcher_is_removed() -> None:
    source = printed("ior/3.2.1-plain.txt")
    lines = _prefixed(_prefixed(source.lines, "[1,0]<stdout>:"), "2026-11-24T04:20:25.1Z ")
    assert numbers(_read(ior.read, changed(source, "\n".join(lines)))) == numbers(ior.read(source, lambda _: None))


def test_several_ranks_with_results_are_refused_by_name() -> None:
    source = printed("ior/3.2.1-plain.txt")
    lines = [f"{rank}: {line}" for line in source.lines for rank in (0, 1)]
    with pytest.raises(Refused, match="mixes the output of 2 processes that each have results"):
        _read(ior.read, changed(source, "\n".join(lines)))


@pytest.mark.parametrize(("reader", "name"), [(ior.read, "ior/3.2.1-plain.txt"), (mdtest.read, "mdtest/1.9-plain.txt")])
def test_an_unknown_prefix_is_named_as_the_reason(reader: Reader, name: str) -> None:
    source = printed(name)
    lines = _prefixed(source.lines, "node001> ")
    with pytest.raises(Refused, match="has 'node001> ' before the tool's lines, which is an unknown prefix"):
        _read(reader, changed(source, "\n".join(lines)))


@given(data=st.data())
def test_truncated_output_with_prefixes_is_refused_or_has_no_other_number(data: st.DataObject) -> None:
    reader, name = data.draw(st.sampled_from(SAMPLES))
    source = printed(name)
    prefix = PREFIXES[data.draw(st.sampled_from(sorted(PREFIXES)))](0)
    truncated = source.text[: data.draw(st.integers(0, len(source.text)))]
    text = "\n".join(_prefixed([*truncated.split("\n"), ""], prefix))
    plain = read_or_refused(reader, changed(source, truncated + "\n"))
    try:
        parsed = numbers(_read(reader, changed(source, text)))
    except Refused:
        return
    assert parsed == plain


def test_colours_are_removed() -> None:
    source = printed("ior/3.2.1-plain.txt")
    coloured = "\n".join(f"\x1b[1;32m{line}\x1b[0m" for line in source.lines)
    assert numbers(_read(ior.read, changed(source, coloured))) == numbers(ior.read(source, lambda _: None))


def test_wrapped_lines_with_a_prefix_are_joined() -> None:
    source = printed("ior/3.2.1-plain.txt")
    lines = [part for line in source.lines for part in _pieces(f"[1,0]<stdout>:{line}", 90)]
    parsed = _read(ior.read, changed(source, "\n".join(lines)))
    assert [row[1:] for row in numbers(parsed)] == [row[1:] for row in numbers(ior.read(source, lambda _: None))]


def _pieces(line: str, width: int) -> list[str]:
    return [line[position : position + width] for position in range(0, len(line), width)]


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("name", ["ior/3.2.1-plain.txt", "ior/3.3.0-script.txt", "mdtest/1.9-plain.txt"])
def test_lines_wrapped_by_fold_are_joined(name: str, width: int, tmp_path: Path) -> None:
    reader = ior.read if name.startswith("ior") else mdtest.read
    folded = subprocess.run(
        ["fold", "-w", str(width), FILES / name], check=True, capture_output=True, text=True, timeout=10
    ).stdout
    (tmp_path / "out.txt").write_text(folded)
    parsed = _read(reader, Source.read(tmp_path / "out.txt"))
    expected = reader(printed(name), lambda _: None)
    assert [row[1:] for row in numbers(parsed)] == [row[1:] for row in numbers(expected)]
    assert [case.settings for case in parsed] == [case.settings for case in expected]


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI's mpirun")
def test_tagged_output_of_mpirun_is_read(tmp_path: Path) -> None:
    sample = FILES / "ior" / "3.2.1-plain.txt"
    script = f'[ "$OMPI_COMM_WORLD_RANK" != 0 ] || cat {sample}; echo a warning >&2'
    tagged = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3", "--tag-output", "sh", "-c", script],
        check=False, capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    if "<stdout>" not in tagged:
        pytest.skip("mpirun does not tag its output here")
    (tmp_path / "out.txt").write_text(tagged)
    parsed = _read(ior.read, Source.read(tmp_path / "out.txt"))
    expected = ior.read(printed("ior/3.2.1-plain.txt"), lambda _: None)
    assert [row[1:] for row in numbers(parsed)] == [row[1:] for row in numbers(expected)]


def test_the_rank_that_ior_prints_before_some_lines_is_not_a_prefix() -> None:
    source = printed("ior/4.0.0-wearout.txt")
    rank_lines = "\n".join(f"{rank}: stonewalling pairs accessed: {1000 + rank}" for rank in range(100))
    before, row, after = source.text.partition("stonewalling pairs accessed min")
    parsed = _read(ior.read, changed(source, f"{before}{rank_lines}\n{row}{after}"))
    assert [numbers_of_row[1:] for numbers_of_row in numbers(parsed)] == [
        numbers_of_row[1:] for numbers_of_row in numbers(ior.read(source, lambda _: None))
    ]
