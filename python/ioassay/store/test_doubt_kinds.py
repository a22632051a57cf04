from __future__ import annotations

from typing import get_args

from ioassay.analysis import ceilings, training
from ioassay.importers.model import ImporterDoubt
from ioassay.protocol.facts import DoubtKind
from ioassay.store.doubt_kinds import DOUBT_KINDS, Effect, effect


def test_every_kind_of_doubt_that_can_be_stored_has_its_row_in_the_table_and_no_other() -> None:
    stored = {*get_args(DoubtKind), *get_args(ImporterDoubt), ceilings.ABOVE, ceilings.TOO_LOW, training.LOADER_BOUND}
    assert not stored - set(DOUBT_KINDS), "kinds without a row in store/doubt_kinds.py (effect and words)"
    assert not set(DOUBT_KINDS) - stored, "rows of kinds that nothing raises"
    for kind, row in DOUBT_KINDS.items():
        assert row.words, f"{kind} lacks words"
        assert row.effect in get_args(Effect), f"{kind} lacks an effect"


def test_a_kind_of_a_newer_version_is_taken_seriously() -> None:
    assert effect("cosmic-rays") == "conclusion"
