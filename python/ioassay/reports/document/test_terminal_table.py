"""Tables on narrow terminals: what breaks first, and what never does."""

from __future__ import annotations

from ioassay.reports.document import Column, Paragraph, Span, Table, numbers
from ioassay.reports.document.terminal_table import Range, fitting
from ioassay.testing.terminal_text import terminal_text

TABLE = Table(
    [Column("Workload"), *numbers("Peak", "Smallest detectable drop")],
    [
        ["Sequential 1 MiB", ("797 MB/s", Span("2 ranks", "below")), "5 %"],
        ["Random 4 KiB, direct", ("31.8 kIOPS", Span("28.8 to 58.2 kIOPS (75 %)", "below")), "too few repetitions"],
    ],
)


def lines(width: int) -> list[str]:
    return [line.rstrip() for line in terminal_text([TABLE], width).splitlines()]


def test_a_wide_terminal_breaks_nothing() -> None:
    assert lines(80) == [
        " Workload                                   Peak  Smallest detectable drop",
        " Sequential 1 MiB                       797 MB/s                       5 %",
        "                                         2 ranks",
        " Random 4 KiB, direct                 31.8 kIOPS       too few repetitions",
        "                       28.8 to 58.2 kIOPS (75 %)",
    ]


def test_headings_break_before_cells() -> None:
    assert lines(74)[:3] == [
        "                                                      Smallest detectable",
        " Workload                                   Peak                     drop",
        " Sequential 1 MiB                       797 MB/s                      5 %",
    ]


def test_cells_break_between_words_and_numbers_keep_their_units() -> None:
    for width in range(40, 74):
        shown = lines(width)
        assert max(map(len, shown)) <= width
        text = "\n".join(shown)
        for whole in (
            "797 MB/s",
            "2 ranks",
            "31.8 kIOPS",
            "28.8 to 58.2 kIOPS",
            "(75 %)",
            "5 %",
            "4 KiB,",
            "repetitions",
        ):
            assert whole in text, f"{whole} is broken at {width} columns"


def test_rows_become_lists_where_words_do_not_fit_beside_one_another() -> None:
    assert lines(32) == [
        "Sequential 1 MiB",
        "  Peak: 797 MB/s, 2 ranks",
        "  Smallest detectable drop:",
        "    5 %",
        "Random 4 KiB, direct",
        "  Peak: 31.8 kIOPS,",
        "    28.8 to 58.2 kIOPS (75 %)",
        "  Smallest detectable drop:",
        "    too few repetitions",
    ]


def test_a_sentence_does_not_break_between_a_number_and_its_unit() -> None:
    assert terminal_text([Paragraph("a rate of 664 MB/s")], 14) == "a rate of \n664 MB/s\n"


def test_widths_are_shared_by_what_each_column_lacks() -> None:
    assert fitting([Range(5, 5, 5, 5), Range(4, 4, 40, 40)], 30) == [5, 21]
    assert fitting([Range(5, 8, 8, 8), Range(4, 4, 4, 4)], 13) == [5, 4]
    assert fitting([Range(5, 8, 8, 8), Range(4, 4, 4, 4)], 12) is None


OPERATIONS = Table(
    [Column("Operation"), *numbers("Calls"), *numbers("Mean", leaves=2), *numbers("Median", leaves=1)],
    [["read", "2,071", "3.53 µs", "1.22 µs"]],
)


def in_width(table: Table, width: int) -> list[str]:
    return [line.rstrip() for line in terminal_text([table], width).splitlines()]


def test_columns_that_may_leave_do_so_one_after_another_and_are_named() -> None:
    assert in_width(OPERATIONS, 40)[0] == " Operation  Calls     Mean   Median"
    assert in_width(OPERATIONS, 34) == [
        " Operation  Calls   Median",
        " read       2,071  1.22 µs",
        " Left out for want of width: Mean.",
    ]
    assert in_width(OPERATIONS, 20)[:2] == [" Operation  Calls", " read       2,071"]


def test_a_long_name_has_a_line_of_its_own_above_its_cells() -> None:
    files = Table([Column("File"), *numbers("Calls", "Read")], [["/scratch/job/data/input.bin", "17", "8 MiB"]])
    assert in_width(files, 30) == [
        " File",
        "   Calls   Read",
        " /scratch/job/data/input.bin",
        "      17  8 MiB",
    ]
