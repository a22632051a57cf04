"""What of a published command line is run, and what of its output is compared."""

from __future__ import annotations

from same_results import TABLE, Line, published, scaled, shape


def line(typed: str) -> Line:
    tool, *words = typed.split()
    return Line(tool, tuple(words), 1)


def test_sizes_become_a_few_transfers_or_files_however_they_are_typed() -> None:
    for typed, small in [
        ("ior -t 2m -b 9920000m -s 10000000 -D 300 -i 5", "ior -t 2m -b 8388608 -s 8 -D 300 -i 2"),
        ("ior -t=4096 -b=4096 -s3", "ior -t 4096 -b 4096 -s 3"),
        ("ior -b 75% -o file", "ior -b 75% -o file"),
        ("mdtest -n 1000000 -I 20 -z 2", "mdtest -n 600 -I 5 -z 2"),
    ]:
        assert scaled(line(typed)) == line(small), typed


def test_a_reading_line_follows_the_same_line_made_to_write() -> None:
    assert not line("ior -w -r -o file").reads
    read = line("ior -r -R -C -z -z -t 4k -o file -O stoneWallingStatusFile=status")
    assert read.reads
    assert read.writing().words[:8] == ("-C", "-t", "4k", "-o", "file", "-O", "stoneWallingStatusFile=status", "-w")
    assert read.writing().words[8:] == ("-k", "-D", "300", "-O", "stoneWallingWearOut=1")
    assert line("ior -r -z -o file").writing().words == ("-z", "-o", "file", "-w", "-k")
    assert line("mdtest -T -n 5 -d dir").writing().words == ("-n", "5", "-d", "dir", "-C")


def test_rows_are_compared_without_their_figures_but_with_what_is_no_number() -> None:
    printed = "Options: \napi : POSIX\nwrite     1.5e3  NA  0.004\n   File stat   1.0   2.0\n"
    assert shape("ior", printed) == ("write # NA #",)
    assert shape("mdtest", printed) == ("File stat # #",)
    assert shape("mdtest", "   File stat   1.0 WARNING: finalized, (x.c:1).\n   2.0\n") == ("File stat # #",)


def test_the_lines_are_those_that_both_take() -> None:
    lines = list(published(TABLE.read_text(encoding="utf-8")))
    assert {line.tool for line in lines} == {"ior", "mdtest"}
    assert len(lines) == sum(
        "\ttaken\ttaken\t" in row for row in TABLE.read_text(encoding="utf-8").splitlines() if not row.startswith("#")
    )
