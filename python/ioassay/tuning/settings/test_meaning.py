"""Values in other forms."""

from __future__ import annotations

import pytest

from ioassay.tuning.settings.lustre import LctlInstance
from ioassay.tuning.settings.meaning import is_same


@pytest.mark.parametrize(
    ("requested", "shown"),
    [
        ("0x40", "64"),
        ("1M", "1048576"),
        ("1g", "1048576k"),
        ("0.5", "0.50"),
        ("4096 131072 0x600000", "4096 131072 6291456"),
        ("1", "Y"),
        ("off", "N"),
        ("on", "1"),
        ("f", "0000000f"),
        ("f", "00000000,0000000f"),
        ("0,1,2,3", "0-3"),
        ("0-1,5", "0,1,5"),
    ],
)
def test_values_in_another_form_mean_the_same(requested: str, shown: str) -> None:
    assert is_same(requested, shown)


@pytest.mark.parametrize(
    ("requested", "shown"),
    [
        ("0", "4"),
        ("1023", "1020"),
        ("010", "8"),  # sysctl reads it as octal, others do not: who wrote it meant one of the two
        ("64", "64 128"),
        ("1M", "1000000"),
        ("50%", "50"),
        ("Y", "N"),
        ("10", "16"),
        ("mq-deadline", "none"),
        ("0-3", "0-2"),
        ("0-99999999999", "0-3"),
        ("nan", "nan2"),
        ("", "0"),
    ],
)
def test_values_that_were_changed_do_not(requested: str, shown: str) -> None:
    assert not is_same(requested, shown)


@pytest.mark.parametrize(
    ("parameter", "requested", "shown", "same"),
    [
        ("llite.x.max_read_ahead_mb", "1G", "1024", True),
        ("llite.x.max_read_ahead_mb", "1G", "512", False),
        ("osc.x.max_dirty_mb", "512", "512", True),
        ("obdfilter.x.brw_size", "4M", "4", True),
        ("osc.x.max_pages_per_rpc", "1M", "256", True),
        ("osc.x.max_pages_per_rpc", "4194304", "1024", True),
        ("osc.x.max_pages_per_rpc", "4096", "1024", False),
        ("ldlm.x.lru_size", "1k", "1024", True),
    ],
)
def test_sizes_of_lustre_are_shown_in_the_parameters_unit(
    parameter: str, requested: str, shown: str, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioassay.tuning.settings.lustre._UNITS", {"max_pages_per_rpc": 4096, "brw_size": 1 << 20})
    assert LctlInstance(parameter).is_same(requested, shown) == same
