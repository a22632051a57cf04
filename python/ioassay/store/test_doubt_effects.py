from __future__ import annotations

from typing import get_args

from ioassay.analysis import ceilings
from ioassay.importers.model import OwnDoubt
from ioassay.protocol.facts import DoubtKind
from ioassay.store.doubt_effects import EFFECTS, effect


def test_every_kind_of_doubt_that_can_be_stored_has_an_effect_and_no_other() -> None:
    assert set(EFFECTS) == {*get_args(DoubtKind), *get_args(OwnDoubt), ceilings.ABOVE, ceilings.TOO_LOW}


def test_a_kind_of_a_newer_version_is_taken_seriously() -> None:
    assert effect("cosmic-rays") == "conclusion"
