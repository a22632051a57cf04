"""The options for launchers, as they are typed after `run`, `doctor` and `clean`."""

from __future__ import annotations

import pytest

from ioassay.cli.launcher_options import host_names, option_words
from ioassay.errors import UsageError


def test_options_are_split_as_a_shell_does() -> None:
    assert option_words(None) == []
    assert option_words("--bind-to core --comment='two words'") == ["--bind-to", "core", "--comment=two words"]


def test_a_quote_that_is_not_closed_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="--launcher-options --comment='two has an unclosed quote"):
        option_words("--comment='two")


def test_hosts_are_names_between_commas() -> None:
    assert host_names(None) == []
    assert host_names("n1,n2") == ["n1", "n2"]
