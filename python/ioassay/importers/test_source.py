"""What lies among results and is none gets a sentence that says what it is."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from ioassay.importers.source import MOST_BYTES, Refused, Source, apple_doubles, below


def _refusal(path: Path) -> Refused:
    with pytest.raises(Refused) as caught:
        Source.read(path)
    return caught.value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"   \n\n", "contains only white space"),
        (bytes(70_000), "contains only NUL bytes"),
        (b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X", "is metadata that macOS stores beside a file"),
        (b"\n <!DOCTYPE html><html><body>404</body></html>", "is a web page"),
        (gzip.compress(b"IOR-4.0.0", mtime=0), "is compressed with gzip"),
        (b"PK\x03\x04....", "is a zip archive"),
        (b"\x7fELF....", "is a program"),
        ("IOR".encode("utf-16"), "is UTF-16 text"),
    ],
)
def test_a_foreign_file_is_named_by_its_type(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes(content)
    assert _refusal(file).reason.startswith(reason)


def test_zeros_in_the_middle_are_refused_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes(b"one\ntwo\nthr" + bytes(5000))
    assert _refusal(file).line == 3


def test_200_megabytes_of_zeros_are_refused_without_being_read(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    with file.open("wb") as sparse:
        sparse.truncate(200 << 20)
    assert _refusal(file).reason == "contains only NUL bytes"


def test_a_file_larger_than_any_result_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    with file.open("wb") as sparse:
        sparse.write(b"IOR")
        sparse.write(b"x" * 5000)
        sparse.truncate(MOST_BYTES + 1)
    assert "more than any tool writes" in _refusal(file).reason


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert _refusal(pipe).reason == "is not a regular file, but a FIFO"


def test_a_file_that_replaces_another_while_it_is_opened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "result.txt"
    file.write_text("IOR-4.0.0")
    real_open = os.open

    def replace_then_open(path: str | Path, flags: int, *arguments: Any, **options: Any) -> int:
        if Path(path).name == file.name:
            file.unlink()
            os.mkfifo(file)
        return real_open(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", replace_then_open)
    assert _refusal(file).reason == "is not a regular file, but a FIFO"


def test_typed_links_are_followed_and_links_in_a_tree_are_not(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("IOR-4.0.0")
    tree = tmp_path / "tree"
    tree.mkdir()
    link = tree / "result.txt"
    link.symlink_to(secret)
    assert Source.read(link).text == "IOR-4.0.0"
    with pytest.raises(Refused, match="is a symbolic link, which is not followed"):
        Source.read(link, below=tree)


def test_no_directory_beneath_a_tree_leads_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "result.txt").write_text("IOR-4.0.0")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "inner").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="inner is not a directory"):
        Source.read(tree / "inner" / "result.txt", below=tree)
    (tmp_path / "typed").symlink_to(tree)
    (tree / "own.txt").write_text("IOR-4.0.0")
    assert Source.read(tmp_path / "typed" / "own.txt", below=tmp_path / "typed").text == "IOR-4.0.0"


def test_lines_are_counted_as_editors_do_for_any_line_ending(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    assert Source.read(file).lines[:3] == ["one", "two", "three"]


def test_names_in_an_old_encoding_do_not_keep_a_file_out(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_bytes("Größe".encode("latin-1"))
    assert Source.read(file).text == "Größe"


def test_a_tree_is_walked_in_order_and_each_file_named_once(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.txt", "a.txt", "b/d.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    names = [path.relative_to(tmp_path).as_posix() for path in below([tmp_path, tmp_path / "a.txt"])]
    assert names == ["a.txt", "c.txt", "b/d.txt"]


def test_metadata_of_macos_is_left_out_of_a_tree_and_nothing_else_is(tmp_path: Path) -> None:
    fork = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"
    contents = {"._ior.out": fork, "ior.out": b"x", "._notes": b"text", "other": fork}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "._loop").symlink_to(tmp_path / "._ior.out")
    assert [path.name for path in below([tmp_path])] == ["._loop", "._notes", "ior.out", "other"]
    assert apple_doubles([tmp_path]) == [tmp_path / "._ior.out"]
    typed = tmp_path / "._ior.out"
    assert (list(below([typed])), apple_doubles([typed])) == ([typed], [])
