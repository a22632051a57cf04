from __future__ import annotations

from pathlib import Path

import pytest

from ioassay.cli.output import chosen_format, file_format
from ioassay.errors import UsageError
from ioassay.reports import FORMATS


@pytest.mark.parametrize("known", FORMATS)
def test_the_suffix_of_a_file_is_its_format(known: str) -> None:
    assert file_format(None, Path(f"a.b/x.{known}")) == known
    assert file_format(None, Path(f"X.{known.upper()}")) == known
    assert chosen_format(None, Path(f"x.{known}"), as_json=False) == known


def test_a_suffix_that_contradicts_the_format_is_refused_with_the_right_name() -> None:
    with pytest.raises(UsageError, match=r"-o x\.pdf and --format md contradict") as error:
        file_format("md", Path("x.pdf"))
    assert "x.md" in error.value.remedy
    with pytest.raises(UsageError, match="contradict"):
        chosen_format(None, Path("x.html"), as_json=True)


def test_any_other_name_takes_the_format_that_is_typed() -> None:
    assert file_format("md", Path("notes.v2")) == "md"
    assert file_format("json", Path("/dev/stdout")) == "json"
    with pytest.raises(UsageError, match=r"notes\.v2 names no format") as error:
        chosen_format(None, Path("notes.v2"), as_json=False)
    assert ".pdf" in error.value.remedy
