"""Reading YAML: places of values, and refusals."""

from pathlib import Path

import pytest

from ioassay.yaml_models.source import LARGEST_BYTES, SourceError, locate, parse_source, plain, read_source


def refusal(text: str) -> str:
    with pytest.raises(SourceError) as error:
        parse_source(text, "my.yaml", "study")
    return error.value.message


def test_every_value_stays_text_and_has_its_line() -> None:
    source = parse_source("a: no\nb:\n  c: [1, 1e6]\n", "my.yaml", "study")
    assert plain(source.tree) == {"a": "no", "b": {"c": ["1", "1e6"]}}
    assert locate(source.tree, ["b"]).place == "my.yaml:2"
    assert locate(source.tree, ["b", "c", 1]).place == "my.yaml:3"
    assert locate(source.tree, ["b", "missing"]).place == "my.yaml:2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "my.yaml:1: the file is empty"),
        ("just words", "my.yaml:1: not a study"),
        ("a: 1\nb: 2\na: 3\n", "my.yaml:3: a: given twice; keep one; the first is on line 1"),
        ("a:\n  b: 1\n  b: 2\n", "my.yaml:3: a.b: given twice"),
        ("a: [1,\n", "my.yaml:2: not YAML"),
        ("a: 1\n b: 2\n", "my.yaml:2: not YAML"),
        ("a: &x 1\nb: *x\n", "my.yaml:2: not YAML: aliases are not supported; write the value out"),
        ("a: 1\n---\nb: 2\n", "my.yaml:2: not YAML"),
        ("? [a]\n: 1\n", "my.yaml:1: a key is not a word"),
        ("a: 1\nb: \x07\n", "my.yaml:2: not YAML: the character 7 is not allowed"),
        ("é: é\nb: \x07\n", "my.yaml:2: not YAML: the character 7 is not allowed"),
        ('a: "\\ud800"', "my.yaml:1: not YAML"),
        ("a: \ud800", "my.yaml:1: not YAML"),
        ('a: "\\t\\e"', "my.yaml:1: a: has characters that cannot be printed"),
        ('a: "\\UFFFFFFFF"', "my.yaml:1: not YAML"),
        ("[" * 5000, "my.yaml:1: not YAML: nested deeper than 16 levels"),
    ],
)
def test_invalid_studies_are_refused_with_their_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_a_file_that_cannot_be_a_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff\n")
    (tmp_path / "long.yaml").write_bytes(b"#" * (LARGEST_BYTES + 1))
    for name, wrong in {
        "missing.yaml": "No such file or directory",
        ".": "Is a directory",
        "binary.yaml": "byte 3 is not UTF-8",
        "long.yaml": "is longer than",
        "nul\0.yaml": "cannot be read",
        "surrogate\udcff.yaml": "No such file or directory",
    }.items():
        with pytest.raises(SourceError) as error:
            read_source(tmp_path / name, "study")
        assert wrong in error.value.message
        assert error.value.message.encode()
