"""What a configuration is refused for, and what it costs."""

from __future__ import annotations

import pytest

from ioassay.errors import UsageError
from ioassay.sizing.catalogue import load
from ioassay.sizing.configuration import BrickCount, Configuration
from ioassay.sizing.evaluate import evaluate
from ioassay.testing.brick_catalogue import brick, catalogue, figure

MD3460 = BrickCount.model_validate({"brick": "md3460-performance", "count": "1", "drive": "nl-sas-4tb"})


def test_a_metadata_module_of_other_software_is_refused_with_both_names() -> None:
    mixed = Configuration.model_validate({"bricks": [MD3460], "metadata": {"pixstor-metadata": "1"}})
    with pytest.raises(UsageError, match="md3460-performance is part of lustre and pixstor-metadata of gpfs"):
        evaluate(load(), "mixed", mixed)


def test_a_brick_that_is_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="md3460-performance with nl-sas-4tb is named twice"):
        evaluate(load(), "twice", Configuration(bricks=[MD3460, MD3460]))


def test_the_price_of_a_whole_brick_counts_whatever_its_parts_are_paid_in() -> None:
    euros = figure("2500") | {"currency": "EUR", "date": "2026-01"}
    dollars = figure("3000") | {"currency": "USD", "date": "2026-01"}
    of = catalogue(
        {"brick": brick(drives=["disk"], servers={"server": 1}, price=euros)},
        servers={"server": {"title": "Server", "price": dollars}},
    )
    size = evaluate(of, "one", Configuration.model_validate({"bricks": [{"brick": "brick", "count": "1"}]}))
    assert size.price is not None
    assert (size.price.nominal, size.currency) == (2500, "EUR")
