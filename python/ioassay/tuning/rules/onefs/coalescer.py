"""The write cache that joins writes before they are laid out."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Judgement, Rule
from ioassay.tuning.rules.onefs.cluster import ENDURANT_CACHE, RANDOM_IO, judge_setting, target_path
from ioassay.tuning.system import System


def _judge(system: System) -> Iterator[Judgement]:
    path = target_path(system)
    return judge_setting(system, "coalescer", "coal_only", f"isi get -D {path}", f"isi set -c coal_only {path}")


RULE = Rule(
    name="onefs-coalescer",
    title="Let the coalescer of OneFS alone take random writes",
    area="OneFS",
    reason="The coalescer joins small writes in memory, so that OneFS lays out whole stripes instead of reading, "
    "changing and writing them.",
    risk="Data in the coalescer without the endurant cache is lost when the node that holds it fails. Sources "
    "disagree: the study says that the coalescer is off by default, while its developers say that it stays active as "
    "long as the endurant cache is on. New files inherit the attribute from their directory; files that exist need "
    "isi set -R.",
    sources=(RANDOM_IO, ENDURANT_CACHE),
    judge=_judge,
    parameters=("coalescer",),
)
