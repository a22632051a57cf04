from __future__ import annotations

from ioassay.text.slugs import slug, unique


def test_a_title_becomes_a_name_for_a_file() -> None:
    assert slug("Sequential write (N-N), 4 KiB", "figure") == "sequential-write-n-n-4-kib"
    assert slug("测试", "figure") == "figure"
    assert slug("a" * 9 + "-b", "figure", most=10) == "a" * 9


def test_a_name_that_is_taken_gets_a_number() -> None:
    taken: set[str] = set()
    assert [unique("write", taken) for _ in range(3)] == ["write", "write-2", "write-3"]
