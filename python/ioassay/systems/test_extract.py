"""Which numbers a line prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.systems.extract import extract, main, tokens


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("(or ~1.2 GB/sec), approximately 40 Gbits/sec (or ~5GB/sec)", ["1.2 GB/sec", "40 Gbits/sec", "5GB/sec"]),
        ("is 7x greater (140K vs 20K IOPS) at the 64-client case", ["7x", "140K", "20K IOPS", "64"]),
        ("better by 25-75%, 300-700% better", ["better", "25", "75%", "300", "700%", "better"]),
        ("F800, NSS-7.0-HA, N-to-1, NFSv3, E5-2697 v4", ["2697"]),
        ("1,100万IOps 20.4 GB/秒 2.1G、20C/40T", ["1,100万IOps", "20.4 GB/秒", "2.1G", "20C", "40T"]),
        ("v.3.0.1, 3.10.0-327.13.1.el7", ["3.0.1", "3.10.0", "327.13.1"]),
        ("is Almost double, not doubled", ["Almost double", "doubled"]),
        ("", []),
    ],
)
def test_numbers_are_found_with_their_units(line: str, numbers: list[str]) -> None:
    assert tokens(line) == numbers


def test_lines_are_counted_from_one() -> None:
    assert extract(b"one\n\n2 TB").lines == {"3": ["2 TB"]}


def test_a_directory_without_texts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--check"]) == 2
    assert "directory" in capsys.readouterr().err


def test_texts_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "000_30addbc7318983f3.txt").write_text("12GB/sec\n")
    assert main([str(tmp_path), "--check"]) == 1
    assert "000_30addbc7318983f3.txt: is not as in" in capsys.readouterr().err
