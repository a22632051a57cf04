"""Rules about DAOS on a client."""

from __future__ import annotations

from ioassay.tuning.rule import Rule
from ioassay.tuning.rules.daos import interception

RULES: tuple[Rule, ...] = (interception.RULE,)
